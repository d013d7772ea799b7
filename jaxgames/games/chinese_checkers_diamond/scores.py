"""Greedy scores of the diamond: the cells by which a piece comes closer to the far corner of its goal."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games._hexagons import distance_left, hexagonal_distance
from jaxgames.games.chinese_checkers_diamond.board import unpack
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState


@functools.lru_cache
def _distances(env: ChineseCheckersDiamond) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the goal cells in the mover's frame, and the distances to the tip and to them for `distance_left`."""
    places = np.stack(np.divmod(np.arange(env.num_cells, dtype=np.int32), env.size), axis=-1)
    goal = np.array(env.home_of(1), np.int32)
    return goal, hexagonal_distance(places - places[-1]), hexagonal_distance(places[:, None] - places[goal])


def scores(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState) -> jax.Array:
    """Returns float32[num_actions], cells gained towards the far corner of the goal."""
    goal, to_tip, to_goal = _distances(env)
    occupied = unpack(env.size, state.pieces).any(0)
    remaining = distance_left(to_tip, to_goal, ~occupied[goal])
    return jnp.maximum(remaining[:, None] - remaining, 0).ravel()
