"""Greedy scores of the star: the cells by which a peg comes closer to the far corner of its goal."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games._hexagons import FREE_CELL_WEIGHT, distance_left, hexagonal_distance
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState


@functools.lru_cache
def _star_distances(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distances to the tip and to the goal cells for `distance_left`, in the mover's frame."""
    t = tables(size)
    return hexagonal_distance(t.axial - t.axial[-1]), hexagonal_distance(t.axial[:, None] - t.axial[t.triangle == 3])


def remaining_on_star(size: int, in_goal: jax.Array) -> jax.Array:
    """Returns float32[cells], how far a peg of the mover on each cell of the star of size N still has to go.

    Args:
      size: N.
      in_goal: int[N(N+1)/2], the goal cells in the mover's frame: 0 is the mover's peg, more a peg of another seat,
        less no peg.
    """
    to_tip, to_goal = _star_distances(size)
    tip_in_goal = to_tip[-in_goal.size :]
    deepest = jnp.where(in_goal > 0, tip_in_goal, size).min()  # peg of another seat
    closed = tip_in_goal > deepest
    remaining = distance_left(to_tip, to_goal, (in_goal < 0) & ~closed.any())
    elsewhere, goal = remaining[: -in_goal.size], remaining[-in_goal.size :]
    return jnp.concatenate([elsewhere, jnp.where(closed, size, goal)])


def scores(env: ChineseCheckers, state: ChineseCheckersState) -> jax.Array:
    """Returns float32[num_actions], cells gained towards the far corner of the goal."""
    t = tables(env.size)
    remaining = jnp.append(remaining_on_star(env.size, state.board[-env.num_pegs :]), 0)  # the goal is the last rows

    near, beyond = t.neighbour[:-1], t.beyond[:-1]
    is_hop = jnp.append(state.board >= 0, False)[near]
    gain = remaining[:-1, None] - jnp.where(is_hop, remaining[beyond], remaining[near])
    end_turn = FREE_CELL_WEIGHT / 2  # better than a hop that gains nothing
    return jnp.append(jnp.maximum(gain, 0).ravel(), end_turn)
