"""Boards of the star of size 2 with pegs anywhere, and the chains of hops on them."""

from typing import NamedTuple

import numpy as np

from jaxgames.games.chinese_checkers.board import tables

TABLES = tables(2)
CELLS = len(TABLES.axial)


class HopBoards(NamedTuple):
    """Three boards."""

    worth: np.ndarray  # float32[cells, 3]
    occupied: np.ndarray  # bool[cells, 3]
    blocked: np.ndarray  # bool[cells, 3], occupied or closed for other reasons


def random_boards() -> HopBoards:
    random = np.random.default_rng(0)
    occupied = random.random((CELLS, 3)) < 0.4
    worth = random.normal(size=(CELLS, 3)).astype(np.float32)
    return HopBoards(worth, occupied, occupied | (random.random((CELLS, 3)) < 0.1))


def largest_worth(boards: HopBoards, board: int, cell: int, hops: int) -> float:
    """Returns the largest worth within some hops from a cell, by trying all chains."""
    best = float(boards.worth[cell, board])
    for direction in range(6 if hops else 0):
        over, to = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if to < CELLS and boards.occupied[over, board] and not boards.blocked[to, board]:
            best = max(best, largest_worth(boards, board, int(to), hops - 1))
    return best
