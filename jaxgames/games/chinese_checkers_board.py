r"""Geometry of the star board of Chinese Checkers, and sets of its cells as bits.

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

A set of cells is one word of bits per row, uint32[rows]: bit i is the i-th cell of the row from the left. The
neighbours of a row's cells in one direction are all in one row, so a step in a direction is a shift of a word.
"""

import functools
import itertools
import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import by_platform
from jaxgames.bits import union

MAX_CELLS_PER_SLICE = 12  # in `unpack` on CPUs
DIRECTIONS = ((1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1))


class Tables(NamedTuple):
    """Geometry of the board of one size. Index `cells` stands for every place outside of the star."""

    axial: np.ndarray  # int[cells, 2], the coordinates (q, r) of a cell
    neighbour: np.ndarray  # int[cells + 1, 6], the cell next to a cell in each direction
    beyond: np.ndarray  # int[cells + 1, 6], where a hop lands; outside if the cell hopped over is
    rotated: np.ndarray  # int[6, cells]; rotated[k, c] is where cell c lands after k rotations by 60 degrees
    triangle: np.ndarray  # int[cells], the triangle of a cell, -1 in the hexagon
    grid: np.ndarray  # int[4N+1, 4N+1], the cell at [q + 2N, r + 2N]
    row: np.ndarray  # int[cells], the row of a cell, from the top
    bit: np.ndarray  # int[cells], the place of a cell in its row, from the left, which is its bit
    lengths: np.ndarray  # int[rows], cells per row
    bits_ahead: np.ndarray  # int[2, 6, rows], [distance - 1, direction, row of a cell]: bit(target) - bit(cell)


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
    bits_ahead = _bits_ahead(np.array([axial[cell][0] for cell in first]))
    return Tables(np.array(axial), neighbour, beyond, np.array(rotated), triangle, grid, row, bit, lengths, bits_ahead)


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


# -- sets on the device ------------------------------------------------------------------------------


def pack_three_sets(size: int, cells: tuple[jax.Array, jax.Array, jax.Array]) -> list[jax.Array]:
    """Returns three sets, uint32[rows] each, from three masks, bool[cells] each.

    One matrix product with powers of two packs all three. A float32 holds 24 bits exactly, so one part of a row is 8 of
    its cells from each set. A longer row has several parts.

        bit     23 . . . . . . 16   15 . . . . . . 8   7 . . . . . . 0
              | cells of set 2   | cells of set 1    | cells of set 0 |
    """
    t = tables(size)
    parts = -(-int(t.lengths.max()) // 8)
    powers = np.zeros((len(t.row), parts, len(t.lengths)), np.float32)
    powers[np.arange(len(t.row)), t.bit // 8, t.row] = 2.0 ** (t.bit % 8)
    of_cells = sum(jnp.where(held, np.float32(256**number), 0) for number, held in enumerate(cells))
    packed = jnp.dot(of_cells, powers.reshape(len(t.row), -1), precision=jax.lax.Precision.HIGHEST)
    words = packed.astype(jnp.uint32).reshape(parts, -1)
    return [
        union([((words[part] >> np.uint32(8 * number)) & 255) << np.uint32(8 * part) for part in range(parts)])
        for number in range(len(cells))
    ]


def sources(size: int, cells: jax.Array, direction: int, distance: int) -> jax.Array:
    """Returns uint32[rows], the cells from which one of `cells` is `distance` (1 or 2) away in a direction.

    Bits beyond the end of a row may be set: they belong to no cell.
    """
    down = distance * DIRECTIONS[direction][1]
    none = jnp.zeros(abs(down), jnp.uint32)
    words = jnp.concatenate([none, cells[:down]] if down < 0 else [cells[down:], none])
    ahead = tables(size).bits_ahead[distance - 1, direction]
    return (words >> np.maximum(ahead, 0).astype(np.uint32)) << np.maximum(-ahead, 0).astype(np.uint32)


def unpack(size: int, cells: jax.Array) -> jax.Array:
    """Returns bool[cells * sets] of uint32[sets, rows]: which sets hold the first cell, then the second, and so on."""
    t = tables(size)

    def by_slices(cells: jax.Array) -> jax.Array:
        # On a CPU, XLA finds the cell of a bit by division unless it unrolls the loop, so slices are short.
        slices = [
            ((cells[None, :, row] >> bits[:, None]) & 1) != 0
            for row, length in enumerate(t.lengths.tolist())
            for bits in np.array_split(np.arange(length, dtype=np.uint32), -(-length // MAX_CELLS_PER_SLICE))
        ]
        return jnp.concatenate([part.reshape(-1) for part in slices])

    def by_cells(cells: jax.Array) -> jax.Array:
        words = cells.T.at[t.row].get(mode="promise_in_bounds")
        return (((words >> t.bit.astype(np.uint32)[:, None]) & 1) != 0).reshape(-1)

    return by_platform(cells, cpu=by_slices, library=by_cells)


def take(board: jax.Array, cells: np.ndarray) -> jax.Array:
    """Returns the board at known cells. A flat gather without bounds checks compiles to a tight loop."""
    return board.at[cells].get(mode="promise_in_bounds")


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
