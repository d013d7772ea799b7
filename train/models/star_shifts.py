"""The star board of Chinese Checkers in arrays of its cells, for the networks `hops` and `star_graph`.

`ahead` moves the entries of an array from cell to cell, by a step or a hop. The cells are the first axis there, so that
whole blocks of memory move.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.games.chinese_checkers.board import DIRECTIONS, tables
from train.models.layers import take_cells

STEP, HOP = 1, 2  # the cells from one to the other end of a move
ALL_DIRECTIONS = range(len(DIRECTIONS))


def opposite(direction: int) -> int:
    """Returns the direction that leads back."""
    return (direction + 3) % len(DIRECTIONS)


class Cells(NamedTuple):
    """Observations of a batch of boards, cell by cell."""

    planes: jax.Array  # bool[B, cells, planes]: the pegs of each seat, the visited cells, the peg that hops
    occupied: jax.Array  # bool[B, cells], a peg is there
    blocked: jax.Array  # bool[B, cells], no peg can land there

    @classmethod
    def of(cls, env: ChineseCheckers, observation: jax.Array) -> "Cells":
        """Returns the cells of observations, bool[B, side, side, planes]."""
        q, r = tables(env.size).axial.T + 2 * env.size
        places = q * (4 * env.size + 1) + r
        planes = observation.reshape(observation.shape[0], -1, observation.shape[-1])[:, places]
        occupied = planes[..., : env.num_players].any(-1)
        return cls(planes, occupied, occupied | planes[..., env.num_players])


def ahead(size: int, distance: int, direction: int, x: jax.Array) -> jax.Array:
    """Returns each cell's entry of the cell at a distance in a direction: [cells, ...] -> [cells, ...].

    It is 0 outside of the star. The distance is STEP or HOP.
    """
    return take_cells(x, _cells_ahead(size, distance, direction), _cells_ahead(size, distance, opposite(direction)))


@functools.lru_cache
def _cells_ahead(size: int, distance: int, direction: int) -> tuple[int, ...]:
    t = tables(size)
    return tuple((t.neighbour if distance == STEP else t.beyond)[:-1, direction].tolist())


def can_hop(size: int, occupied: jax.Array, blocked: jax.Array) -> list[jax.Array]:
    """Returns, for each direction, whether a peg on a cell could hop: bool[cells, B].

    Args:
      occupied: bool[cells, B], the cells that can be hopped over.
      blocked: bool[cells, B], the cells on which no peg can land.
    """
    return [
        ahead(size, STEP, direction, occupied) & ahead(size, HOP, direction, ~blocked) for direction in ALL_DIRECTIONS
    ]


def targets(size: int, hops: Sequence[jax.Array], step: jax.Array, hop: jax.Array) -> list[jax.Array]:
    """Returns, for each direction, the entry of the cell to which a peg would go: [cells, B, ...].

    Args:
      hops: of `can_hop`.
      step: [cells, B, ...], the entries of cells to which a peg steps.
      hop: of the same shape, of cells to which it hops.
    """
    return [
        jnp.where(
            can.reshape(can.shape + (1,) * (step.ndim - 2)),
            ahead(size, HOP, direction, hop),
            ahead(size, STEP, direction, step),
        )
        for direction, can in enumerate(hops)
    ]
