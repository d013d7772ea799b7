r"""Geometry of the diamond board, and sets of its cells as bits.

n x n cells are numbered row by row, cell = row * n + col. The six neighbours of a cell are (0, +-1), (+-1, 0), (+1, -1)
and (-1, +1) rows and columns away. With the home of seat 0 on top, the board is a diamond; here n = 4:

             0
           4 - 1                  3   2          numbers of the directions
         8 - 5 - 2                 \ /
      12 - 9 - 6 - 3            4 - * - 1        0 (0, +1)   1 (-1, +1)   2 (-1, 0)
        13 -10 - 7                 / \           3 (0, -1)   4 (+1, -1)   5 (+1, 0)
          14 -11                  5   0
            15

A set of cells is four words of bits, uint32[2, 2]. The word [row % 2, col % 2] holds the cells of these parities.
Cell (row, col) is bit (row // 2) * width + col // 2, where width = (n + 1) // 2: at most 25 bits. A hop goes two
cells far, so it stays within one word. The cell that it goes over is in another word.
"""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.bits import reversed_bits

DIRECTIONS = ((0, 1), (-1, 1), (-1, 0), (0, -1), (1, -1), (1, 0))

# The moves from one cell are one word of bits: bit b < 25 is a chain of hops to the cell of bit b in the word of the
# origin, bit FIRST_STEP_BIT + d is a step in direction d, and PASS_BIT of cell 0 is the pass.
FIRST_STEP_BIT = 25
PASS_BIT = 31


class Tables(NamedTuple):
    """Geometry of the board of one size; sets of cells are uint32[2, 2]."""

    bits: int  # used bits per word; where n is odd, some of them belong to no cell
    word: np.ndarray  # int32[cells], the word of a cell, row % 2 * 2 + col % 2
    bit: np.ndarray  # int32[cells], the bit of a cell in its word
    single: np.ndarray  # uint32[cells, 2, 2], the set of one cell
    all: np.ndarray  # uint32[2, 2], the set of all cells
    near: np.ndarray  # uint32[6, 2, 2], the cells with a neighbour in each direction
    far: np.ndarray  # uint32[6, 2, 2], the cells with a cell two away in each direction
    step_ahead: np.ndarray  # int32[6, 2, 2], bit(neighbour) - bit(cell), by direction and by the parities of the cell
    hop_ahead: np.ndarray  # int32[6], bit(cell two away) - bit(cell), by direction
    move: np.ndarray  # uint32[cells, cells], the bit of the move [from, to], 0 where no move leads there
    target: np.ndarray  # int32[cells, 32], the cell to which the move [from, bit] leads, 0 where there is none


@functools.lru_cache
def tables(size: int) -> Tables:
    """Returns the geometry of the board of size n = `size`."""
    n, width = size, (size + 1) // 2
    places = [(row, col) for row in range(n) for col in range(n)]
    word = np.array([row % 2 * 2 + col % 2 for row, col in places])
    bit = np.array([row // 2 * width + col // 2 for row, col in places])
    single = np.zeros((n * n, 4), np.uint32)
    single[np.arange(n * n), word] = 1 << bit

    def cells_with(distance: int, direction: tuple[int, int]) -> np.ndarray:
        on_board = [all(0 <= x + distance * dx < n for x, dx in zip(place, direction, strict=True)) for place in places]
        return single[on_board].sum(0, dtype=np.uint32).reshape(2, 2)

    parity = np.arange(2)
    step_ahead = [width * ((parity[:, None] + row) // 2) + (parity + col) // 2 for row, col in DIRECTIONS]
    move = np.where(word[:, None] == word, 1 << bit, 0)
    np.fill_diagonal(move, 0)
    for cell, (row, col) in enumerate(places):
        for number, (down, right) in enumerate(DIRECTIONS):
            if (row + down, col + right) in places:
                move[cell, (row + down) * n + col + right] = 1 << (FIRST_STEP_BIT + number)
    move[0, 0] = 1 << PASS_BIT
    target = np.zeros((n * n, 32), np.int32)
    for cell, to in zip(*np.nonzero(move), strict=True):
        target[cell, int(move[cell, to]).bit_length() - 1] = to
    return Tables(
        bits=width * width,
        word=word.astype(np.int32),
        bit=bit.astype(np.int32),
        single=single.reshape(-1, 2, 2),
        all=single.sum(0, dtype=np.uint32).reshape(2, 2),
        near=np.array([cells_with(1, direction) for direction in DIRECTIONS]),
        far=np.array([cells_with(2, direction) for direction in DIRECTIONS]),
        step_ahead=np.array(step_ahead, np.int32),
        hop_ahead=np.array([width * row + col for row, col in DIRECTIONS], np.int32),
        move=move.astype(np.uint32),
        target=target,
    )


def cell_set(size: int, cells: Iterable[int]) -> np.ndarray:
    """Returns uint32[2, 2], the set of these cells."""
    return tables(size).single[list(cells)].sum(0, dtype=np.uint32)


@functools.lru_cache
def corner(size: int, pieces: int) -> tuple[int, ...]:
    """Returns the home of seat 0: the cells with the smallest row + col, a whole triangle for 1, 3, 6 or 10 pieces."""
    return tuple(sorted(range(size * size), key=lambda cell: cell // size + cell % size)[:pieces])


# -- sets on the device ------------------------------------------------------------------------------


def shift_bits(words: jax.Array, distance: int | np.ndarray) -> jax.Array:
    """Returns the words with every bit shifted up by `distance`, or down where that is negative."""
    up = np.maximum(distance, 0).astype(np.uint32)
    down = np.maximum(-np.asarray(distance), 0).astype(np.uint32)
    return (words << up) >> down


def sources(size: int, cells: jax.Array, direction: int) -> jax.Array:
    """Returns uint32[2, 2], the cells whose neighbour in a direction is one of `cells`."""
    t = tables(size)
    odd = [axis for axis, step in enumerate(DIRECTIONS[direction]) if step % 2]
    return shift_bits(jnp.flip(cells, odd), -t.step_ahead[direction]) & t.near[direction]


def rotate(size: int, cells: jax.Array) -> jax.Array:
    """Returns uint32[..., 2, 2], the set after a rotation by 180 degrees: cell c becomes size * size - 1 - c."""
    cells = reversed_bits(cells)
    unused = 32 - tables(size).bits
    if size % 2 == 0:  # the parities change, and all bits of a word belong to cells
        return jnp.flip(cells, (-2, -1)) >> np.uint32(unused)
    parity = np.arange(2)
    unused_bits = (unused + (size + 1) // 2 * parity[:, None] + parity).astype(np.uint32)
    return cells >> np.broadcast_to(unused_bits, cells.shape)


def unpack(size: int, cells: jax.Array) -> jax.Array:
    """Returns bool[..., cells] of uint[..., 2, 2]: which cells are in the set."""
    t = tables(size)
    words = cells.reshape(*cells.shape[:-2], 4).at[..., t.word].get(mode="promise_in_bounds")
    return ((words >> np.broadcast_to(t.bit.astype(words.dtype), words.shape)) & 1) != 0


def unpack_words(size: int, cells: jax.Array) -> jax.Array:
    """Returns uint32[2, 2, bits], 1 where the cell of each bit is in the set."""
    return (cells[..., None] >> np.arange(tables(size).bits, dtype=np.uint32)[None, None]) & np.uint32(1)


def count_cells(cells: jax.Array) -> jax.Array:
    """Returns int32[], the number of cells in a set, uint32[2, 2]."""
    return jax.lax.population_count(cells).sum(dtype=jnp.int32)


def is_filled(cells: np.ndarray, by: jax.Array, other: jax.Array) -> jax.Array:
    """Returns bool[], whether pieces of two sides fill some cells, and one of them is of the side `by`."""
    return ((~(by | other) & cells) == 0).all() & ((by & cells) != 0).any()


def split_number(number: jax.Array, divisor: int) -> tuple[jax.Array, jax.Array]:
    """Returns the quotient and the remainder, int32[], of a number that is not negative: cheaper than `divmod`."""
    by = np.int32(divisor)
    return jax.lax.div(number, by), jax.lax.rem(number, by)
