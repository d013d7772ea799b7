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
from typing import NamedTuple

import numpy as np

DIRECTIONS = ((1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1))


class Tables(NamedTuple):
    """Geometry of the board of one size. Index `cells` stands for every place outside of the star."""

    axial: np.ndarray  # int[cells, 2], (q, r) of a cell
    neighbour: np.ndarray  # int[cells + 1, 6], the cell next to a cell
    beyond: np.ndarray  # int[cells + 1, 6], where a hop lands; outside if the cell hopped over is
    rotated: np.ndarray  # int[6, cells], the cell where a cell comes to when the board turns k times
    triangle: np.ndarray  # int[cells], the triangle that a cell belongs to, -1 in the hexagon
    grid: np.ndarray  # int[4N+1, 4N+1], the cell at [q + 2N, r + 2N]


@functools.lru_cache
def tables(size: int) -> Tables:
    n = size
    span = range(-2 * n, 2 * n + 1)

    def on_star(q: int, r: int) -> bool:
        s = -q - r
        return max(q, r, s) <= n or min(q, r, s) >= -n  # two large triangles make the star

    axial = [(q, r) for r in span for q in span if on_star(q, r)]
    index = {place: cell for cell, place in enumerate(axial)}
    outside = len(axial)

    def go(cell: int, direction: int, distance: int) -> int:
        (q, r), (dq, dr) = axial[cell], DIRECTIONS[direction]
        return index.get((q + distance * dq, r + distance * dr), outside)

    neighbour = np.full((outside + 1, 6), outside)
    beyond = np.full((outside + 1, 6), outside)
    for cell in range(outside):
        for direction in range(6):
            neighbour[cell, direction] = go(cell, direction, 1)
            if neighbour[cell, direction] != outside:
                beyond[cell, direction] = go(cell, direction, 2)

    turned = np.array([index[-r, q + r] for q, r in axial])
    rotated = [np.arange(outside)]
    for _ in range(5):
        rotated.append(turned[rotated[-1]])

    triangle = np.full(outside, -1)
    for turns in range(6):
        triangle[[rotated[turns][cell] for cell, (_, r) in enumerate(axial) if r < -n]] = turns

    grid = np.full((4 * n + 1, 4 * n + 1), outside)
    for cell, (q, r) in enumerate(axial):
        grid[q + 2 * n, r + 2 * n] = cell
    return Tables(np.array(axial), neighbour, beyond, np.array(rotated), triangle, grid)
