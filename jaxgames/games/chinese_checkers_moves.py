"""Legal moves on the star board of Chinese Checkers, in two forms.

On a GPU or TPU each action looks at three cells: the one that it leaves, the neighbour, and the one beyond. The mask
and a random action are then one kernel.

On a CPU a set of cells is one word of bits per row, uint32[rows]: bit i is the i-th cell of the row from the left. The
neighbours of a row's cells in one direction are all in one row, so a step in a direction is a shift of a word.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import at, by_platform, take
from jaxgames.bits import union
from jaxgames.games.chinese_checkers_board import DIRECTIONS, tables

# Values of a cell other than a seat: EMPTY, or VISITED - k where hop number k of this turn began, from k = 0. After the
# hops a => b => c of one peg, a holds -2, b holds -3 and c holds 0, the mover.
EMPTY, VISITED = -1, -2
MAX_CELLS_PER_SLICE = 12  # in `_unpack`


def legal_actions(size: int, board: jax.Array, peg: jax.Array) -> jax.Array:
    """Returns bool[6 * cells + 1], the legal actions, from the board, int8[cells], and the moving peg's cell or -1.

    Action 6 * cell + direction moves the peg of a cell; the last action ends the turn.
    """

    def by_words(board: jax.Array, peg: jax.Array) -> jax.Array:
        words = _move_words(size, board, peg)
        return jnp.append(_unpack(size, words), _may_end(peg, (words != 0).any()))

    def by_cells(board: jax.Array, peg: jax.Array) -> jax.Array:
        t, actions = tables(size), np.arange(6 * board.size + 1)
        kinds = _kinds(board, jnp.arange(board.size, dtype=jnp.int16), peg)
        places = actions // 6, t.neighbour.ravel()[actions], t.beyond.ravel()[actions]
        origin, near, beyond = _take_each(kinds, places)
        return _may_move(origin, near, beyond) | (actions == actions[-1]) & _may_end_by_cells(size, kinds)

    return by_platform(board, peg, cpu=by_words, library=by_cells)


def is_legal(size: int, board: jax.Array, peg: jax.Array, action: jax.Array) -> jax.Array:
    """Returns bool[], whether an action, int32[], is legal; see `legal_actions`."""
    t = tables(size)
    end = 6 * len(t.row)

    def by_words(board: jax.Array, peg: jax.Array, action: jax.Array) -> jax.Array:
        words = _move_words(size, board, peg)
        cell, direction = jnp.clip(action, 0, end - 1) // 6, action % 6
        word, bit = words[direction, jnp.asarray(t.row)[cell]], jnp.asarray(t.bit, jnp.uint32)[cell]
        return jnp.where(action == end, _may_end(peg, (words != 0).any()), ((word >> bit) & 1) != 0)

    def by_cells(board: jax.Array, peg: jax.Array, action: jax.Array) -> jax.Array:
        origin, near, beyond = (
            jnp.where(cell < board.size, _kinds(at(board, cell), cell.astype(jnp.int16), peg), np.uint8(0))
            for cell in (action // 6, *ahead(size, action))
        )
        kinds = _kinds(board, jnp.arange(board.size, dtype=jnp.int16), peg)
        return jnp.where(action == end, _may_end_by_cells(size, kinds), _may_move(origin, near, beyond))

    legal = by_platform(board, peg, action, cpu=by_words, library=by_cells)
    return (action >= 0) & (action <= end) & legal


def ahead(size: int, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns int32[] twice, the cells one and two away in the direction of an action, int32[]; `cells` off the board.

    The end of a turn goes nowhere.
    """
    t = tables(size)
    both = at(jnp.asarray(t.neighbour.ravel() << 16 | t.beyond.ravel(), jnp.int32), action)
    return both >> 16, both & 0xFFFF


def _may_end(peg: jax.Array, can_move: jax.Array) -> jax.Array:
    """Returns bool[], whether the mover may end the turn: after a hop, or without a move."""
    return (peg >= 0) | ~can_move


# -- by cells, for GPUs and TPUs ---------------------------------------------------------------------

# Kinds of a cell, as bits; 0 off the board. In a chain of hops only one peg can move, and no cell is free for a step.
PEG, FREE_FOR_HOP, FREE_FOR_STEP, CAN_MOVE, CAN_BEGIN = (np.uint8(1 << bit) for bit in range(5))


def _kinds(content: jax.Array, cells: jax.Array, peg: jax.Array) -> jax.Array:
    """Returns uint8[...], the kinds of cells, int16[...], with this content, int8[...].

    `peg` is the cell of the moving peg, int16[], or -1 before the first hop.
    """
    chain = peg >= 0
    empty = jnp.where(chain, FREE_FOR_HOP, FREE_FOR_HOP | FREE_FOR_STEP)
    kinds = jnp.where(content >= 0, PEG, jnp.where(content == EMPTY, empty, np.uint8(0)))
    mine = jnp.where(chain, cells == peg, content == 0)
    return kinds | jnp.where(mine, jnp.where(chain, CAN_MOVE, CAN_MOVE | CAN_BEGIN), np.uint8(0))


def _may_end_by_cells(size: int, kinds: jax.Array) -> jax.Array:
    """Returns bool[], whether the mover may end the turn: no move can begin it. The order is another than the mask's.

    A GPU would otherwise write all moves, and read them again for the mask.
    """
    t = tables(size)
    places = np.arange(6 * kinds.size) % kinds.size, t.neighbour[:-1].T.ravel(), t.beyond[:-1].T.ravel()
    origin, near, beyond = _take_each(kinds, places)
    return (~_may_move(origin, near, beyond, who=CAN_BEGIN)).all()


def _take_each(kinds: jax.Array, places: Sequence[np.ndarray]) -> list[jax.Array]:
    """Returns uint8[actions] for each of three places of each action, the kinds of the cells there.

    A TPU takes all as one product with a matrix of powers of 32: kinds have five bits. All numbers are exact.
    """

    def product(kinds: jax.Array) -> list[jax.Array]:
        cells = np.arange(kinds.size)[:, None]
        powers = np.sum([(cells == place) * 32.0**number for number, place in enumerate(places)], axis=0)
        packed = jnp.dot(kinds.astype(jnp.bfloat16), powers.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
        return [((packed.astype(jnp.int32) >> (5 * number)) & 31).astype(jnp.uint8) for number in range(len(places))]

    def each(kinds: jax.Array) -> list[jax.Array]:
        return [take(kinds, place) for place in places]

    return by_platform(kinds, cpu=each, library=each, tpu=product)


def _may_move(origin: jax.Array, near: jax.Array, beyond: jax.Array, who: np.uint8 = CAN_MOVE) -> jax.Array:
    """Returns bool[...], whether there is a move, from the kinds of its origin and of the two cells ahead."""
    hop = ((near & PEG) != 0) & ((beyond & FREE_FOR_HOP) != 0)
    return ((origin & who) != 0) & (((near & FREE_FOR_STEP) != 0) | hop)


# -- as words of bits, for CPUs ----------------------------------------------------------------------


def _move_words(size: int, board: jax.Array, peg: jax.Array) -> jax.Array:
    """Returns uint32[6, rows], for each direction the cells from which a peg may move in it."""
    chain = peg >= 0
    mine = jnp.where(chain, np.arange(board.size, dtype=np.int16) == peg, board == 0)
    mine, pegs, empty = _pack_three_sets(size, (mine, board >= 0, board == EMPTY))
    free = jnp.where(chain, jnp.uint32(0), empty)  # for a step
    next_to, two_from = (functools.partial(_sources, size, distance=distance) for distance in (1, 2))
    return jnp.stack([mine & (next_to(free, d) | (next_to(pegs, d) & two_from(empty, d))) for d in range(6)])


def _pack_three_sets(size: int, cells: tuple[jax.Array, jax.Array, jax.Array]) -> list[jax.Array]:
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


def _sources(size: int, cells: jax.Array, direction: int, distance: int) -> jax.Array:
    """Returns uint32[rows], the cells from which one of `cells` is `distance` (1 or 2) away in a direction.

    Bits beyond the end of a row may be set: they belong to no cell.
    """
    down = distance * DIRECTIONS[direction][1]
    none = jnp.zeros(abs(down), jnp.uint32)
    words = jnp.concatenate([none, cells[:down]] if down < 0 else [cells[down:], none])
    ahead = tables(size).bits_ahead[distance - 1, direction]
    return (words >> np.maximum(ahead, 0).astype(np.uint32)) << np.maximum(-ahead, 0).astype(np.uint32)


def _unpack(size: int, cells: jax.Array) -> jax.Array:
    """Returns bool[cells * sets] of uint32[sets, rows]: which sets hold the first cell, then the second, and so on."""
    # XLA finds the cell of a bit by division unless it unrolls the loop, so slices are short.
    slices = [
        ((cells[None, :, row] >> bits[:, None]) & 1) != 0
        for row, length in enumerate(tables(size).lengths.tolist())
        for bits in np.array_split(np.arange(length, dtype=np.uint32), -(-length // MAX_CELLS_PER_SLICE))
    ]
    return jnp.concatenate([part.reshape(-1) for part in slices])
