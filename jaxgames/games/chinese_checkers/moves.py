"""Legal moves on the star board of Chinese Checkers, in words of bits.

A set of cells is one word per row, uint32[rows]: bit i is the i-th cell of the row from the left. The neighbours of a
row's cells in one direction are all in one row, so a step in a direction is a shift of a word. A CPU packs and unpacks
words in another way than a GPU or TPU.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import at, by_platform, take
from jaxgames.bits import union
from jaxgames.games.chinese_checkers.board import DIRECTIONS, tables

# Values of a cell other than a seat: EMPTY, or VISITED - k where hop number k of this turn began, from k = 0. After the
# hops a => b => c of one peg, a holds -2, b holds -3 and c holds 0, the mover.
EMPTY, VISITED = -1, -2
MAX_CELLS_PER_SLICE = 12  # in `_unpack_by_slices`


def legal_actions(size: int, board: jax.Array, peg: jax.Array) -> jax.Array:
    """Returns bool[6 * cells + 1], the legal actions, from the board, int8[cells], and the moving peg's cell or -1.

    Action 6 * cell + direction moves the peg of a cell; the last action ends the turn.
    """
    words, may_end = _moves(size, board, peg)
    by_slices, by_action = (functools.partial(unpack, size) for unpack in (_unpack_by_slices, _unpack_by_action))
    return by_platform(words, may_end, cpu=by_slices, library=by_action)


def is_legal(size: int, board: jax.Array, peg: jax.Array, action: jax.Array) -> jax.Array:
    """Returns bool[], whether an action, int32[], is legal; see `legal_actions`."""
    t, end = tables(size), 6 * board.size
    words, may_end = _moves(size, board, peg)
    cell, direction = jnp.clip(action, 0, end - 1) // 6, action % 6
    word = at(words.ravel(), direction * len(t.lengths) + at(jnp.asarray(t.row), cell))
    can_move = ((word >> at(jnp.asarray(t.bit, jnp.uint32), cell)) & 1) != 0
    return (action >= 0) & (action <= end) & jnp.where(action == end, may_end, can_move)


def ahead(size: int, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns int32[] twice, the cells one and two away in the direction of an action, int32[]; `cells` off the board.

    The end of a turn goes nowhere.
    """
    t = tables(size)
    both = at(jnp.asarray(t.neighbour.ravel() << 16 | t.beyond.ravel(), jnp.int32), action)
    return both >> 16, both & 0xFFFF


def _moves(size: int, board: jax.Array, peg: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns uint32[6, rows], for each direction the cells from which a peg may move in it, and bool[]: may it end.

    The mover may end the turn after a hop. A mover without a move passes: it ends the turn.
    """
    chain = peg >= 0
    mine = jnp.where(chain, np.arange(board.size, dtype=np.int16) == peg, board == 0)
    by_product, by_bit = (functools.partial(pack, size) for pack in (_pack_by_product, _pack_by_bit))
    mine, pegs, empty = by_platform(mine, board >= 0, board == EMPTY, cpu=by_product, library=by_bit)
    free = jnp.where(chain, jnp.uint32(0), empty)  # for a step
    next_to, two_from = (functools.partial(_sources, size, distance=distance) for distance in (1, 2))
    words = jnp.stack([mine & (next_to(free, d) | (next_to(pegs, d) & two_from(empty, d))) for d in range(6)])
    return words, chain | ~(words != 0).any()


def _pack_by_bit(size: int, *sets: jax.Array) -> list[jax.Array]:
    """Returns sets, uint32[rows] each, from masks, bool[cells] each; one thread of a GPU packs a row."""
    t = tables(size)
    held = union([cells.astype(jnp.uint8) << np.uint8(number) for number, cells in enumerate(sets)])
    of_bits = [take(held, place).astype(jnp.uint32) for place in t.places.T]
    words = [
        union([((of_bit >> np.uint32(number)) & 1) << np.uint32(bit) for bit, of_bit in enumerate(of_bits)])
        for number in range(len(sets))
    ]
    return list(jax.lax.optimization_barrier(words))


def _pack_by_product(size: int, *sets: jax.Array) -> list[jax.Array]:
    """Returns the same as `_pack_by_bit` for three sets, faster on a CPU.

    One matrix product with powers of two packs all three. A float32 holds 24 bits exactly, so one part of a row is 8 of
    its cells from each set. A longer row has several parts.

        bit     23 . . . . . . 16   15 . . . . . . 8   7 . . . . . . 0
              | cells of set 2   | cells of set 1    | cells of set 0 |
    """
    t = tables(size)
    parts = -(-int(t.lengths.max()) // 8)
    powers = np.zeros((len(t.row), parts, len(t.lengths)), np.float32)
    powers[np.arange(len(t.row)), t.bit // 8, t.row] = 2.0 ** (t.bit % 8)
    of_cells = sum(jnp.where(held, np.float32(256**number), 0) for number, held in enumerate(sets))
    packed = jnp.dot(of_cells, powers.reshape(len(t.row), -1), precision=jax.lax.Precision.HIGHEST)
    words = packed.astype(jnp.uint32).reshape(parts, -1)
    return [
        union([((words[part] >> np.uint32(8 * number)) & 255) << np.uint32(8 * part) for part in range(parts)])
        for number in range(len(sets))
    ]


def _sources(size: int, cells: jax.Array, direction: int, distance: int) -> jax.Array:
    """Returns uint32[rows], the cells from which one of `cells` is `distance` (1 or 2) away in a direction.

    Bits beyond the end of a row may be set: they belong to no cell.
    """
    down = distance * DIRECTIONS[direction][1]
    none = jnp.zeros(abs(down), jnp.uint32)
    words = jnp.concatenate([none, cells[:down]] if down < 0 else [cells[down:], none])
    ahead = tables(size).bits_ahead[distance - 1, direction]
    return (words >> np.maximum(ahead, 0).astype(np.uint32)) << np.maximum(-ahead, 0).astype(np.uint32)


def _unpack_by_action(size: int, words: jax.Array, may_end: jax.Array) -> jax.Array:
    """Returns bool[6 * cells + 1], the moves of each cell, and the end of the turn."""
    t, end = tables(size), 6 * len(tables(size).row)
    cell, direction = np.divmod(np.arange(end + 1) % end, 6)
    of_board = jax.lax.optimization_barrier(words.ravel())  # a thread for each action reads its board's words together
    moves = of_board.at[direction * len(t.lengths) + t.row[cell]].get(mode="promise_in_bounds")
    can_move = (moves & (1 << t.bit[cell]).astype(np.uint32)) != 0
    return jnp.where(jnp.arange(end + 1) == end, may_end, can_move)


def _unpack_by_slices(size: int, words: jax.Array, may_end: jax.Array) -> jax.Array:
    """Returns the same as `_unpack_by_action`, faster on a CPU."""
    # XLA finds the cell of a bit by division unless it unrolls the loop, so slices are short.
    slices = [
        ((words[None, :, row] >> bits[:, None]) & 1) != 0
        for row, length in enumerate(tables(size).lengths.tolist())
        for bits in np.array_split(np.arange(length, dtype=np.uint32), -(-length // MAX_CELLS_PER_SLICE))
    ]
    return jnp.append(jnp.concatenate([part.reshape(-1) for part in slices]), may_end)
