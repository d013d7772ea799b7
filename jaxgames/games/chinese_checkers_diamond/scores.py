"""Greedy scores of the diamond: the cells by which a piece comes closer to the far corner of its goal."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.games._hexagons import distance_left, hexagonal_distance
from jaxgames.games.chinese_checkers_diamond.board import corner, unpack
from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState


@functools.lru_cache
def _diamond_distances(size: int, pieces: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns the goal cells in the mover's frame, and the distances to the tip and to them for `distance_left`."""
    places = np.stack(np.divmod(np.arange(size * size, dtype=np.int32), size), axis=-1)
    goal = np.int32(size * size - 1) - np.array(corner(size, pieces), np.int32)
    return goal, hexagonal_distance(places - places[-1]), hexagonal_distance(places[:, None] - places[goal])


def scores(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState) -> jax.Array:
    """Returns float32[num_actions], cells gained towards the far corner of the goal."""
    assert env.pieces is not None  # settled when the env is made
    goal, to_tip, to_goal = _diamond_distances(env.size, env.pieces)
    occupied = unpack(env.size, state.pieces).any(0)
    remaining = distance_left(to_tip, to_goal, ~occupied[goal])
    return jnp.maximum(remaining[:, None] - remaining, 0).ravel()
