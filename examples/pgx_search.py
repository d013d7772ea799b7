"""A search of mctx plays against random moves, on a game of jaxgames with the interface of Pgx.

    python -m examples.pgx_search
    python -m examples.pgx_search "chinese_checkers_diamond(size=3, pieces=1)"

The loop uses what Pgx's AlphaZero example uses: `init`, `step`, `auto_reset`, a Gumbel search, the mask, and rewards by
player id. A network would take the place of `evaluate`. Games of two players whose rewards sum to zero only.
"""

import functools
import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
import mctx
import numpy as np
from pgx.experimental import auto_reset

from jaxgames.interop.pgx import PgxEnv
from jaxgames.wrappers import seat_discount

output_of: Any = mctx.RecurrentFnOutput  # type checkers do not see the arguments of chex's dataclasses
root_of: Any = mctx.RootFnOutput


SIMULATIONS, NUM_ENVS, NUM_STEPS = 32, 64, 60  # of each search; boards played at once; steps of each of them


def main() -> None:
    game, *others = (*sys.argv[1:], "dots_and_boxes(rows=2, cols=2)")
    if others[1:] or game.startswith("-"):
        print(__doc__)
        sys.exit(game not in ("-h", "--help"))
    rewards, ended = play(PgxEnv(game), jax.random.key(0))
    counts = results(np.asarray(rewards), np.asarray(ended))
    games = sum(counts.values())
    words = ", ".join(f"{name} {count}" for name, count in counts.items())
    print(f"{words} of {games} games of the search against random moves", file=sys.stderr)
    print(json.dumps({"env": game, "games": games, **counts}))


def results(rewards: np.ndarray, ended: np.ndarray) -> dict[str, int]:
    """Returns how many of the finished games player 0 has won, drawn and lost, from what `play` returns."""
    sums, finished = rewards.cumsum(0), [np.flatnonzero(column) for column in ended.T]
    returns = [np.diff(sums[steps, board], prepend=0.0).round(3) for board, steps in enumerate(finished)]
    signs = np.sign(np.concatenate(returns))
    return {name: int((signs == sign).sum()) for name, sign in (("won", 1), ("drawn", 0), ("lost", -1))}


def evaluate(states: Any) -> tuple[jax.Array, jax.Array]:
    """Returns logits float32[B, num_actions] and values float32[B] of the movers: no knowledge, legal actions only."""
    mask = states.legal_action_mask
    return jnp.where(mask, 0.0, jnp.finfo(jnp.float32).min), jnp.zeros(len(mask))


def search(env: PgxEnv, key: jax.Array, states: Any, simulations: int = SIMULATIONS) -> Any:
    """Returns mctx's output for a batch of states: `action` int32[B], `action_weights` and the tree."""

    def recurrent(params: None, key: jax.Array, action: jax.Array, before: Any) -> tuple[Any, Any]:
        after = jax.vmap(env.step)(before, action)
        reward = after.rewards[jnp.arange(len(action)), before.current_player]
        logits, value = evaluate(after)
        # The discount is 0 at the end, where a network's value would mean nothing, and 1 where a seat moves again.
        discount = seat_discount(before, after)
        return output_of(reward=reward, discount=discount, prior_logits=logits, value=value), after

    logits, value = evaluate(states)
    root = root_of(prior_logits=logits, value=value, embedding=states)
    illegal = ~states.legal_action_mask
    return mctx.gumbel_muzero_policy(None, key, root, recurrent, simulations, invalid_actions=illegal)  # pyright: ignore[reportArgumentType]  # params may be any pytree


@functools.partial(jax.jit, static_argnums=0)
def play(env: PgxEnv, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Player 0 searches and player 1 plays at random; a finished board restarts in the same step.

    Returns:
      rewards: float32[NUM_STEPS, NUM_ENVS], of player 0.
      ended: bool[NUM_STEPS, NUM_ENVS], whether the step ended a game.
    """

    def step(states: Any, key: jax.Array) -> tuple[Any, tuple[jax.Array, jax.Array]]:
        search_key, random_key, step_key = jax.random.split(key, 3)
        searched = search(env, search_key, states).action
        at_random = jax.random.categorical(random_key, evaluate(states)[0])
        action = jnp.where(states.current_player == 0, searched, at_random)
        states = jax.vmap(auto_reset(env.step, env.init))(states, action, jax.random.split(step_key, NUM_ENVS))
        return states, (states.rewards[:, 0], states.terminated)

    init_key, key = jax.random.split(key)
    states = jax.vmap(env.init)(jax.random.split(init_key, NUM_ENVS))
    return jax.lax.scan(step, states, jax.random.split(key, NUM_STEPS))[1]


if __name__ == "__main__":
    main()
