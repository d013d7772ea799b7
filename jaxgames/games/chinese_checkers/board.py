r"""Geometry of the star board of Chinese Checkers.

The board of size N is a hexagon of side N + 1 with a triangle of N(N+1)/2 cells on each of its edges.
Cells are numbered row by row from the top; N = 1 and, with its triangles, N = 2:

          0                     0             triangle 0
         / \                   1 2
    1 - 2 - 3 - 4         3 4 5 6 7 8 9       triangles 5 and 1 left and right
     \ / \ / \ /           10 . . . . 15
      5 - 6 - 7             16 . 18 . 20      the centre is (0, 0)
     / \ / \ / \           21 . . . . 26
    8 - 9 -10 -11         27 28 . . . 32 33   triangles 4 and 2
         \ /                   34 35
          12                    36            triangle 3

(drawn schematically: every row of the true board is shifted by half a cell against the next).
Axial coordinates (q, r), r growing downwards; directions

        2   1
         \ /
      3 - * - 0       0 (+1, 0)  1 (+1, -1)  2 (0, -1)  3 (-1, 0)  4 (-1, +1)  5 (0, +1)
         / \
        4   5
"""

import functools
import itertools
import re
from typing import NamedTuple

import numpy as np

DIRECTIONS = ((1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1))


class Tables(NamedTuple):
    """Geometry of the board of one size, int32 arrays. Index `cells` stands for every place outside of the star."""

    axial: np.ndarray  # int32[cells, 2], the coordinates (q, r) of a cell
    neighbour: np.ndarray  # int32[cells + 1, 6], the cell next to a cell in each direction
    beyond: np.ndarray  # int32[cells + 1, 6], where a hop lands; outside if the cell hopped over is
    rotated: np.ndarray  # int32[6, cells]; rotated[k, c] is where cell c lands after k rotations by 60 degrees
    triangle: np.ndarray  # int32[cells], the triangle of a cell, -1 in the hexagon
    grid: np.ndarray  # int32[4N+1, 4N+1], the cell at [q + 2N, r + 2N]
    row: np.ndarray  # int32[cells], the row of a cell, from the top
    bit: np.ndarray  # int32[cells], the place of a cell in its row, from the left, which is its bit
    lengths: np.ndarray  # int32[rows], cells per row
    places: np.ndarray  # int32[rows, longest], the cell of each bit of a row; outside beyond its end
    bits_ahead: np.ndarray  # int32[2, 6, rows], [distance - 1, direction, row of a cell]: bit(target) - bit(cell)


@functools.lru_cache
def tables(size: int) -> Tables:
    """Returns the geometry of the board of size N = `size`."""
    n = size
    span = range(-2 * n, 2 * n + 1)

    def on_star(q: int, r: int) -> bool:
        s = -q - r
        return max(q, r, s) <= n or min(q, r, s) >= -n  # two large triangles make the star

    axial = [(q, r) for r in span for q in span if on_star(q, r)]
    index = {place: cell for cell, place in enumerate(axial)}
    outside = len(axial)

    def cell_ahead(cell: int, direction: int, distance: int) -> int:
        (q, r), (dq, dr) = axial[cell], DIRECTIONS[direction]
        return index.get((q + distance * dq, r + distance * dr), outside)

    neighbour = np.full((outside + 1, 6), outside)
    beyond = np.full((outside + 1, 6), outside)
    for cell in range(outside):
        for direction in range(6):
            neighbour[cell, direction] = cell_ahead(cell, direction, 1)
            if neighbour[cell, direction] != outside:
                beyond[cell, direction] = cell_ahead(cell, direction, 2)

    rotated_once = np.array([index[-r, q + r] for q, r in axial])
    rotated = [np.arange(outside)]
    for _ in range(5):
        rotated.append(rotated_once[rotated[-1]])

    triangle = np.full(outside, -1)
    for rotations in range(6):
        triangle[[rotated[rotations][cell] for cell, (_, r) in enumerate(axial) if r < -n]] = rotations

    grid = np.full((4 * n + 1, 4 * n + 1), outside)
    for cell, (q, r) in enumerate(axial):
        grid[q + 2 * n, r + 2 * n] = cell

    row = np.array([r + 2 * n for _, r in axial])
    lengths = np.bincount(row)
    first = np.cumsum(lengths) - lengths  # the first cell of every row
    bit = np.arange(outside) - first[row]
    place = np.arange(lengths.max())
    places = np.where(place < lengths[:, None], first[:, None] + place, outside)
    bits_ahead = _bits_ahead(np.array([axial[cell][0] for cell in first]))
    found = (axial, neighbour, beyond, rotated, triangle, grid, row, bit, lengths, places, bits_ahead)
    return Tables(*(np.array(table, np.int32) for table in found))


def longest_chain(size: int) -> int:
    """Returns an upper bound on the hops of one turn."""
    parity = tables(size).axial % 2  # a hop moves by two cells: a chain visits cells of one parity, each at most once
    return int(np.bincount(2 * parity[:, 0] + parity[:, 1]).max()) - 1


def _bits_ahead(first_q: np.ndarray) -> np.ndarray:
    """Returns `Tables.bits_ahead` from int[rows], the coordinate q of the first cell of every row."""
    rows = np.arange(len(first_q))
    bits_ahead = np.zeros((2, 6, len(rows)), np.int64)
    for distance, direction in np.ndindex(2, 6):
        dq, dr = (distance + 1) * np.array(DIRECTIONS[direction])
        target_row = np.clip(rows + dr, 0, len(rows) - 1)
        bits_ahead[distance, direction] = dq + first_q - first_q[target_row]
    return bits_ahead


def parse_chain(size: int, text: str, content: np.ndarray, mover: int) -> list[int]:
    """Returns the absolute cells of a chain from its origin to the cell of its peg; none for `-`."""
    if text == "-":
        return []
    if not re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9})+", text):
        raise ValueError(f"expected a chain '-' or two or more cells joined by ',', not {text!r}")
    path = [int(number) for number in text.split(",")]
    for cell in path:
        if cell >= len(content) or path.count(cell) > 1:
            raise ValueError(f"expected different cells from 0 to {len(content) - 1}, not {cell} in the chain {text!r}")
    for cell, to in itertools.pairwise(path):
        if to not in tables(size).beyond[cell]:
            raise ValueError(f"expected a cell two cells along a line from {cell}, not {to} in the chain {text!r}")
        if content[cell] >= 0:
            raise ValueError(f"expected an empty cell at {cell}, which the chain {text!r} has left")
    if content[path[-1]] != mover:
        raise ValueError(f"expected a peg of seat {mover} at {path[-1]}, where the chain {text!r} ends")
    return path
