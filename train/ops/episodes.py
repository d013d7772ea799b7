"""The games of a rollout: their lengths and returns, and means over those that ended."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jaxgames
from train.ops.sharding import SHARDED_BY_BOARD, on_each_device

Metrics = dict[str, jax.Array]  # float32[] each


class EpisodeStats(NamedTuple):
    """Length and returns of the current game."""

    length: jax.Array  # int32[], steps
    returns: jax.Array  # float32[num_players]


def episode_metrics(env: jaxgames.Env[Any], steps: Any) -> Metrics:
    """Returns means over the games that ended in the rollout; NaN if no game ended.

    `steps` are those of a learner, leaves [rollout_length, num_envs, ...], with the fields of `train.ppo.Transition`.
    """
    ended = steps.terminated | steps.truncated
    num_episodes = ended.sum(dtype=jnp.float32)
    ends = on_each_device(functools.partial(ends_of, env), SHARDED_BY_BOARD, out=SHARDED_BY_BOARD)(steps)
    winners, drawn = ends[..., :-1], ends[..., -1]
    returns = jnp.where(ended[..., None], steps.episode_stats.returns, 0)
    sums = {
        "episode_length": jnp.where(ended, steps.episode_stats.length, 0),
        "episode_truncated_rate": steps.truncated,
        "episode_draw_rate": drawn,
        **{f"episode_win_rate/seat_{seat}": winners[..., seat] for seat in range(env.num_players)},
        **{f"episode_return/seat_{seat}": returns[..., seat] for seat in range(env.num_players)},
    }
    if steps.learner_seats is not None:
        learner, num_seats = steps.learner_seats, steps.learner_seats.sum(-1, dtype=jnp.float32)
        sums["episode_win_rate/learner"] = (winners & learner).any(-1)
        sums["episode_return/learner"] = jnp.where(learner, returns, 0).sum(-1) / num_seats
    return {"num_episodes": num_episodes} | {name: x.sum(dtype=jnp.float32) / num_episodes for name, x in sums.items()}


def ends_of(env: jaxgames.Env[Any], steps: Any) -> jax.Array:
    """Returns bool[rollout_length, num_envs, num_players + 1]: who won, and whether the game was drawn.

    A game that an illegal action ended has neither winners nor a draw. All are False where a board has not terminated:
    only few boards have, and only these are evaluated.
    """

    def of_rows(states: Any, actions: jax.Array, step_keys: jax.Array | None) -> jax.Array:
        winners = jax.vmap(env.winners)(jax.vmap(env.step)(states, actions, step_keys))
        is_action = jnp.arange(env.num_actions) == actions[:, None]
        legal = (jax.vmap(env.legal_action_mask)(states) & is_action).any(-1)
        return jnp.column_stack([winners, legal & ~winners.any(-1)])

    return map_steps(of_rows, steps, steps.terminated) & steps.terminated[..., None]


def map_next_boards(
    env: jaxgames.Env[Any], function: Callable[[Any], jax.Array], steps: Any, chosen: jax.Array
) -> jax.Array:
    """Returns `function` of the boards that the chosen steps led to, before any restart; 0 or unused elsewhere.

    The result is [rollout_length, num_envs, ...], as `chosen`. A rollout does not store these boards: few of them are
    needed, so the chosen steps are played again. `function` computes [num_envs, ...] of boards row by row.
    """
    return map_steps(lambda *played: function(jax.vmap(env.step)(*played)), steps, chosen)


def map_steps(function: Callable[..., jax.Array], steps: Any, chosen: jax.Array) -> jax.Array:
    """Returns `function` of the chosen steps, bool[rollout_length, num_envs]; see `map_next_boards`.

    The chosen steps are computed in chunks of num_envs, so the cost grows with their number. `function` computes
    [num_envs, ...] of states, actions and step keys; each row of its result depends on the same row only.
    """
    shape, chunk, chosen = chosen.shape, chosen.shape[1], chosen.reshape(-1)
    flat = jax.tree.map(lambda x: x.reshape(chosen.size, *x.shape[2:]), (steps.state, steps.action, steps.step_key))
    order = jnp.argsort(~chosen, stable=True)  # the chosen rows come first

    def of_rows(rows: jax.Array) -> jax.Array:
        return function(*jax.tree.map(lambda x: x[rows], flat))

    def compute_chunk(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        start, results = carry
        rows = jax.lax.dynamic_slice(order, (start,), (chunk,))
        return start + chunk, results.at[rows].set(of_rows(rows))

    result = jax.eval_shape(lambda: of_rows(order[:chunk]))
    results = jnp.zeros((chosen.size, *result.shape[1:]), result.dtype)
    num_chosen = chosen.sum(dtype=jnp.int32)
    with jax.named_scope("chosen_rows"):
        results = jax.lax.while_loop(lambda carry: carry[0] < num_chosen, compute_chunk, (jnp.int32(0), results))[1]
    return results.reshape(*shape, -1)
