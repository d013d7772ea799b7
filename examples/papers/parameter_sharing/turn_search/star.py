"""The star as flat arrays for compiled functions, and the cells that one peg reaches in a turn.

A board is int64[cells] or, with the place outside of the star, int64[cells + 1]. A peg is 0 or more, and an empty cell
is -1. No peg can land on a lower number, and no hop can pass over it.
"""

import functools
from collections.abc import Collection

import numpy as np

from jaxgames.games.chinese_checkers.board import tables
from jaxgames.solvers.alphabeta.compiled import Ints, compiled

EMPTY = -1


@functools.lru_cache
def hop_tables(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the neighbours of the cells and where hops land, int64[6 * cells] each, at 6 * cell + direction.

    The number of cells is every place outside of the star.
    """
    t = tables(size)
    return t.neighbour[:-1].astype(np.int64).ravel(), t.beyond[:-1].astype(np.int64).ravel()


@functools.lru_cache
def mirrored_cells(size: int) -> np.ndarray:
    """Returns int64[cells], the cell on the other side of the vertical axis."""
    t = tables(size)
    return (np.cumsum(t.lengths)[t.row] - 1 - t.bit).astype(np.int64)


@compiled
def fill_reached(
    neighbour: Ints, landing: Ints, board: Ints, origin: int, can_step: bool, seen: Ints, reached: Ints
) -> int:
    """Writes a peg's cell, then those that it reaches by hops, then those by a step; returns their end in `reached`.

    Args:
      neighbour: of `hop_tables`.
      landing: the same.
      board: without this peg.
      origin: the peg's cell.
      can_step: whether the turn begins; after a hop there are no steps.
      seen: int64[cells], zeros, which are restored.
      reached: int64[cells].
    """
    reached[0] = origin
    seen[origin] = 1
    head, end = 0, 1
    while head < end:
        place = 6 * reached[head]
        head += 1
        for direction in range(6):
            to = landing[place + direction]
            if to < len(board) and board[neighbour[place + direction]] >= 0 and board[to] == EMPTY and seen[to] == 0:
                seen[to] = 1
                reached[end] = to
                end += 1
    hops = end
    for direction in range(6):
        to = neighbour[6 * origin + direction]
        if can_step and to < len(board) and board[to] == EMPTY and seen[to] == 0:
            reached[end] = to
            end += 1
    for index in range(hops):
        seen[reached[index]] = 0
    return end


def hop_paths(size: int, pegs: Collection[int], origin: int, closed: Collection[int] = ()) -> dict[int, list[int]]:
    """Returns the cells that a peg visits, by the cell where its hops end; its origin, where none is made, included.

    `pegs` are the cells of all other pegs. On `closed` cells it cannot land either.
    """
    t, paths = tables(size), {origin: [origin]}
    for cell in (queue := [origin]):
        for over, to in zip(t.neighbour[cell].tolist(), t.beyond[cell].tolist(), strict=True):
            if over in pegs and to < len(t.row) and to not in pegs and to not in closed and to not in paths:
                paths[to] = [*paths[cell], to]
                queue.append(to)
    return paths
