"""Shifts of the star board of Chinese Checkers by a step or a hop, for networks of it.

The cells are the first axis of an array, so that a shift moves whole blocks of memory.
"""

import functools
from typing import Any, cast

import jax
import jax.numpy as jnp

from jaxgames.games.chinese_checkers_board import DIRECTIONS, tables

STEP, HOP = 1, 2  # the cells from one to the other end of a move
ALL = range(len(DIRECTIONS))


def ahead(size: int, distance: int, direction: int, x: jax.Array) -> jax.Array:
    """Returns each cell's entry of the cell at a distance in a direction: [cells, ...] -> [cells, ...].

    It is 0 outside of the star.
    """
    return cast(jax.Array, _ahead(size, distance, direction, x))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1, 2))
def _ahead(size: int, distance: int, direction: int, x: jax.Array) -> jax.Array:
    t = tables(size)
    cells = (t.neighbour if distance == STEP else t.beyond)[:-1, direction]
    return jnp.concatenate([x, jnp.zeros_like(x[:1])])[cells]


def _forward(size: int, distance: int, direction: int, x: jax.Array) -> tuple[jax.Array, None]:
    return _ahead(size, distance, direction, x), None


def _backward(size: int, distance: int, direction: int, _: None, gradient: jax.Array) -> tuple[Any]:
    return (_ahead(size, distance, (direction + 3) % 6, gradient),)


_ahead.defvjp(_forward, _backward)  # the gradient goes the way back; JAX's own would add up single entries


def can_hop(size: int, occupied: jax.Array, blocked: jax.Array) -> list[jax.Array]:
    """Returns, for each direction, whether a peg on a cell could hop: bool[cells, B].

    Args:
      occupied: bool[cells, B], the cells that can be hopped over.
      blocked: bool[cells, B], the cells on which no peg can land.
    """
    return [ahead(size, STEP, direction, occupied) & ahead(size, HOP, direction, ~blocked) for direction in ALL]
