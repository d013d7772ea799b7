"""Random positions for games of self-play to start from, one per board of a batch.

For `chinese_checkers_diamond`, a position is a uniformly random placement of the pieces, among those that are legal and
not finished. For any other game, it is the board of a game of random moves, which plays one move per call and
restarts after a random number of moves.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond.board import cell_set, is_filled, tables
from jaxgames.mcts.expansion import choose_boards

CANDIDATES = 8  # placements of which the first legal one is taken; all 8 are illegal about once in a billion


class Starts(NamedTuple):
    """A position per board, from which its next game can start, and its game of random moves."""

    boards: Any  # live states [num_envs]
    plies: jax.Array  # int32[num_envs], random moves played
    limit: jax.Array  # int32[num_envs], random moves after which the game of random moves restarts


def init_starts(env: jaxgames.Env[Any], key: jax.Array, num_envs: int, max_plies: int) -> Starts:
    """Returns the first positions: see `next_starts`."""
    keys = jax.random.split(key, 3)
    boards = jax.vmap(env.init)(jax.random.split(keys[0], num_envs))
    limit = jax.random.randint(keys[1], (num_envs,), 1, max_plies + 1, jnp.int32)
    return next_starts(env, keys[2], Starts(boards, jnp.zeros(num_envs, jnp.int32), limit), max_plies)


def next_starts(env: jaxgames.Env[Any], key: jax.Array, starts: Starts, max_plies: int) -> Starts:
    """Returns other positions than `starts`: new placements, or those after one more random move on each board."""
    num_envs = starts.plies.size
    place = placement(env)
    if place is not None:
        return starts._replace(boards=jax.vmap(place)(jax.random.split(key, num_envs)))
    action_key, step_key, init_key, limit_key = jax.random.split(key, 4)
    actions = jax.vmap(env.random_legal_action)(starts.boards, jax.random.split(action_key, num_envs))
    boards = jax.vmap(env.step)(starts.boards, actions, jax.random.split(step_key, num_envs))
    ends = boards.terminated | boards.truncated | (starts.plies >= starts.limit)
    first = jax.vmap(env.init)(jax.random.split(init_key, num_envs))
    return Starts(
        choose_boards(ends, first, boards),
        jnp.where(ends, 0, starts.plies + 1),
        jnp.where(ends, jax.random.randint(limit_key, (num_envs,), 1, max_plies + 1, jnp.int32), starts.limit),
    )


@functools.singledispatch
def placement(env: jaxgames.Env[Any]) -> Callable[[jax.Array], Any] | None:
    """Returns a function from a PRNG key to a random live position; None for a game without one.

    It is a `functools.singledispatch` on the class of the env. `placement.register` adds a game.
    """
    return None


@placement.register
def _(env: ChineseCheckersDiamond) -> Callable[[jax.Array], Any]:
    assert env.pieces is not None  # settled when the env is made
    pieces, single = env.pieces, tables(env.size).single
    home, goal = (cell_set(env.size, env.home_of(seat)) for seat in range(2))

    def candidate(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns uint32[2, 2, 2], the mover's and the opponent's cells, and whether the position is live and legal."""
        number = jax.random.permutation(key, env.num_cells)[:, None, None] // pieces
        own, other = (jnp.where(number == side, single, np.uint32(0)).sum(0, dtype=jnp.uint32) for side in range(2))
        done = is_filled(home, other, own) | is_filled(goal, own, other)
        for side, corner in ((own, 0), (other, env.num_cells - 1)) if env.tip_lock else ():
            tip, fence = (cell_set(env.size, [abs(corner - cell) for cell in cells]) for cells in ((0,), env.fence))
            done |= ~(fence & ~side | tip & (own | other)).any()
        return jnp.stack([own, other]), ~done

    def place(key: jax.Array) -> Any:
        *keys, seat_key = jax.random.split(key, CANDIDATES + 1)
        sides, allowed = jax.vmap(candidate)(jnp.stack(keys))
        first = env.init()
        pieces = jnp.where(allowed.any(), sides[allowed.argmax()].astype(first.pieces.dtype), first.pieces)
        seat = jnp.where(allowed.any(), jax.random.randint(seat_key, (), 0, 2), 0)
        return dataclasses.replace(first, current_player=seat.astype(jnp.int32), pieces=pieces)

    return place
