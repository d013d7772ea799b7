"""Whole games between policies and random players, all boards at once: what evaluation and matches share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxgames
from train.models.policy import Params, Policy
from train.ops.masked_categorical import sample_and_log_prob

RANDOM = -1  # the pilot that plays uniformly random legal actions


class Games(NamedTuple):
    """Games in progress or over; leaves have a leading axis of games."""

    boards: jaxgames.State
    returns: jax.Array  # float32[games, num_players], rewards so far
    turns: jax.Array  # int32[games, num_players], turns begun; a turn is a run of steps by one seat
    length: jax.Array  # int32[games], steps
    last_mover: jax.Array  # int32[games], -1 at the start

    @property
    def over(self) -> jax.Array:  # bool[games]
        return self.boards.terminated | self.boards.truncated

    @property
    def won(self) -> jax.Array:
        """bool[games, num_players]: the rules ended the game and the seat collected more than every other seat."""
        best = self.returns.max(-1, keepdims=True)
        alone = (self.returns == best).sum(-1, keepdims=True) == 1
        return self.boards.terminated[:, None] & (self.returns == best) & alone

    @property
    def drawn(self) -> jax.Array:
        """bool[games]: the rules ended the game and nobody won it."""
        return self.boards.terminated & ~self.won.any(-1)


def start(env: jaxgames.Env[Any], key: jax.Array, num_games: int) -> Games:
    seats = (num_games, env.num_players)
    return Games(
        boards=jax.vmap(env.init)(jax.random.split(key, num_games)),
        returns=jnp.zeros(seats, jnp.float32),
        turns=jnp.zeros(seats, jnp.int32),
        length=jnp.zeros(num_games, jnp.int32),
        last_mover=jnp.full(num_games, -1, jnp.int32),
    )


def advance(
    env: jaxgames.Env[Any],
    policies: Sequence[Policy],
    params: Sequence[Params],
    pilots: jax.Array,
    games: Games,
    key: jax.Array,
    *,
    temperature: float = 1.0,
) -> tuple[Games, jax.Array]:
    """One step of every game that is not over, and the actions played (int32[games]).

    Args:
      policies: of the pilots that think.
      params: of the same pilots.
      pilots: int32[games, num_players], which of them plays a seat, or RANDOM.
      temperature: 1 draws from their distributions, less sharpens them, 0 plays the likeliest action.
    """
    num_games = pilots.shape[0]
    boards = games.boards
    mover = boards.current_player
    mask = jax.vmap(env.legal_action_mask)(boards)
    random_key, step_key, *policy_keys = jax.random.split(key, 2 + len(policies))
    action = jax.vmap(jaxgames.random_action)(jax.random.split(random_key, num_games), mask)
    if policies:
        observation = jax.vmap(env.observe)(boards)
        pilot = jnp.take_along_axis(pilots, mover[:, None], axis=1)[:, 0]
        for number, policy in enumerate(policies):
            logits, _ = policy.apply(params[number], observation, mover)
            chosen = choose(policy_keys[number], logits, mask, temperature)
            action = jnp.where(pilot == number, chosen, action)
    boards = jax.vmap(env.step)(boards, action, jax.random.split(step_key, num_games))
    live = ~games.over
    begins = live & (mover != games.last_mover)
    is_mover = jnp.arange(env.num_players) == mover[:, None]
    after = Games(
        boards=boards,
        returns=games.returns + boards.rewards,  # a finished board pays zero
        turns=games.turns + (is_mover & begins[:, None]),
        length=games.length + live,
        last_mover=jnp.where(live, mover, games.last_mover),
    )
    return after, action


def choose(key: jax.Array, logits: jax.Array, mask: jax.Array, temperature: float) -> jax.Array:
    """int32[B], legal actions."""
    if temperature == 0:
        return jnp.where(mask, logits, -jnp.inf).argmax(-1)
    return sample_and_log_prob(key, logits / temperature, mask)[0]


def play(
    env: jaxgames.Env[Any],
    policies: Sequence[Policy],
    params: Sequence[Params],
    pilots: jax.Array,
    games: Games,
    key: jax.Array,
    *,
    temperature: float = 1.0,
    max_steps: int | None = None,
) -> Games:
    """`advance` until every game is over, or for `max_steps` more steps. One program: put it under jit."""

    def go_on(carry: tuple[Games, jax.Array, jax.Array]) -> jax.Array:
        games, _, step = carry
        return ~games.over.all() & (max_steps is None or step < max_steps)

    def body(carry: tuple[Games, jax.Array, jax.Array]) -> tuple[Games, jax.Array, jax.Array]:
        games, key, step = carry
        key, subkey = jax.random.split(key)
        games, _ = advance(env, policies, params, pilots, games, subkey, temperature=temperature)
        return games, key, step + 1

    return jax.lax.while_loop(go_on, body, (games, key, jnp.int32(0)))[0]


def record(
    env: jaxgames.Env[Any],
    policies: Sequence[Policy],
    params: Sequence[Params],
    pilots: jax.Array,
    games: Games,
    key: jax.Array,
    num_steps: int,
    *,
    temperature: float = 1.0,
) -> tuple[Games, jaxgames.State, jax.Array]:
    """`num_steps` steps, kept: the games after them, the boards before each step, the actions (leading axis: steps)."""

    def body(games: Games, key: jax.Array) -> tuple[Games, tuple[jaxgames.State, jax.Array]]:
        after, action = advance(env, policies, params, pilots, games, key, temperature=temperature)
        return after, (games.boards, action)

    games, (boards, actions) = jax.lax.scan(body, games, jax.random.split(key, num_steps))
    return games, boards, actions


def against_random(
    env: jaxgames.Env[Any],
    policy: Policy,
    params: Params,
    key: jax.Array,
    num_games: int,
    *,
    seat: int | None = None,
    temperature: float = 1.0,
) -> dict[str, jax.Array]:
    """`summary` of whole games of one policy, on one seat of each, against uniformly random players."""
    seat_key, start_key, play_key = jax.random.split(key, 3)
    pilots = one_seat(seat_key, num_games, env.num_players, seat)
    games = play(env, [policy], [params], pilots, start(env, start_key, num_games), play_key, temperature=temperature)
    return summary(games, pilots)


def one_seat(key: jax.Array, num_games: int, num_players: int, seat: int | None) -> jax.Array:
    """int32[games, num_players]: pilot 0 on `seat`, or on a seat drawn for each game if None; the others random."""
    trained = jax.random.randint(key, (num_games,), 0, num_players) if seat is None else jnp.full(num_games, seat)
    return jnp.where(jnp.arange(num_players) == trained[:, None], 0, RANDOM)


def summary(games: Games, pilots: jax.Array, pilot: int = 0) -> dict[str, jax.Array]:
    """What the seats of one pilot achieved: float32[] each, NaN where there is nothing to average.

    `mean_turns` counts the turns of the seat that won, the last one included, over the games that the pilot won.
    """
    theirs = pilots == pilot
    won = games.won & theirs
    return {
        "win_rate": won.any(-1).mean(dtype=jnp.float32),
        "draw_rate": games.drawn.mean(dtype=jnp.float32),
        "truncated_rate": games.boards.truncated.mean(dtype=jnp.float32),
        "mean_turns": (games.turns * won).sum() / won.sum(dtype=jnp.float32),
        "mean_reward": (games.returns * theirs).sum() / theirs.sum(dtype=jnp.float32),
    }
