"""Retrograde analysis: the value of every position of a game, from the ends backwards.

One byte per position is the whole answer:

    0 .. 253    plies to the end with best play; even: lost for the mover, odd: won
    DRAW        neither side can force a win
    ILLEGAL     the rules forbid the position

A finished position has 0 plies: its mover has lost. Sweep d = 1, 2, ... reads all positions with d - 1 plies, and finds
the open positions before them, from which one move leads there. If d is odd, they are won. If d is even, that move
loses, and a position is lost once none of its moves is left. The sweep writes d. That number is exact, because earlier
sweeps have found all shorter ends. The positions that are still open when a sweep finds nothing are draws.

No list of moves is kept. A second byte per position counts the moves that are left. So the memory is two bytes per
position, and that of the chunks in work. Every move is computed at most twice: to count it, and to take it back.
"""

from collections import deque
from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Protocol

import jax
import numpy as np

from jaxgames._progress import Progress

DRAW, ILLEGAL = np.uint8(255), np.uint8(254)
OPEN = DRAW  # until the analysis ends
MAX_PLIES = 253
CLOSED, DECIDED = np.uint8(0), np.uint8(255)  # in place of the moves that are left: not open, and decided in this sweep
MAX_MOVES = 254
NONE = np.uint32(2**32 - 1)  # no position
BLOCK = 1 << 22  # entries that are searched at once
IN_FLIGHT = 4  # chunks whose results the host has not read yet: two cores compute two chunks at a time


class Order(Hashable, Protocol):
    """A game as the sweeps read it.

    Each position has a place in the table, and a slot in the array of the moves that are left. The sweeps write to the
    slots of all positions before one. So they are fast if these are close together.
    """

    def place(self, slots: jax.Array) -> jax.Array:
        """Returns uint32[B], the places of the positions with these slots, uint32[B]."""
        ...

    def before(self, places: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the positions before those with these places, uint32[B], which are finished or decided.

        An open position occurs once for each of its moves to the place, so in all as often as `moves_left` counts at
        first, with the moves to finished positions. Finished and illegal positions may occur too.

        Returns:
          slots: uint32[M, ..., B], NONE where there are no more.
          rows: int32[], the number of leading rows that were written.
        """
        ...


def analyse(
    table: np.ndarray,
    moves_left: np.ndarray,
    order: Order,
    chunk: int,
    progress: bool,
    after_sweep: Callable[[int], None],
    plies: int = 0,
) -> None:
    """Replaces every OPEN entry of the table by the number of plies to the end, except the entries of draws.

    Args:
      table: uint8[positions], 0 for finished positions, ILLEGAL for illegal ones, OPEN for all others.
      moves_left: uint8[positions] by slot, the number of moves of open positions, CLOSED for all others. Changed.
      order: the positions and their moves.
      chunk: positions that are computed at once.
      progress: whether to show a progress bar for each sweep, over the positions that it reads.
      after_sweep: called after every sweep with its number. The table then has all numbers up to this one.
      plies: the number of sweeps that the table has seen already.

    Raises RuntimeError if a position ends after MAX_PLIES plies, since one byte cannot hold longer ends.
    """
    found = sum(int(np.count_nonzero(block == plies)) for block in blocks(table))
    while found:
        plies += 1
        if plies > MAX_PLIES:
            raise RuntimeError(f"a position ends after {MAX_PLIES} plies, and one byte cannot hold longer ends")
        with Progress(found, "positions", f"sweep {plies}", progress) as bar:
            found = sweep(table, moves_left, order, chunk, plies, bar.update)
        after_sweep(plies)


def sweep(
    table: np.ndarray, moves_left: np.ndarray, order: Order, chunk: int, plies: int, update: Callable[[int], object]
) -> int:
    """Writes `plies` to the entries that this sweep decides, which are closed then. Returns their number.

    `update` is called with the number of positions that have been read since the last call.
    """
    waiting: deque[tuple[int, tuple[jax.Array, jax.Array]]] = deque()

    def finish() -> None:
        size, (found, rows) = waiting.popleft()
        slots = np.asarray(found)[: int(rows), ..., :size]
        slots = slots[slots != NONE]
        slots = slots[moves_left[slots] != CLOSED]
        if plies % 2 == 0:
            np.subtract.at(moves_left, slots, np.uint8(1))
            slots = slots[moves_left[slots] == 0]
        moves_left[slots] = DECIDED
        update(size)

    for places in parts(table, np.uint8(plies - 1), chunk):
        waiting.append((len(places), _before(order, np.resize(places, chunk))))
        if len(waiting) == IN_FLIGHT:
            finish()
    while waiting:
        finish()
    total = 0
    for slots in parts(moves_left, DECIDED, chunk):
        table[np.asarray(_place(order, np.resize(slots, chunk)))[: len(slots)]] = plies
        moves_left[slots] = CLOSED
        total += len(slots)
    return total


def parts(array: np.ndarray, entry: np.uint8, chunk: int) -> Generator[np.ndarray]:
    """Yields uint32[chunk], the places of an entry in an array in ascending order; fewer in the last part."""
    rest = np.zeros(0, np.uint32)
    for number, block in enumerate(blocks(array)):
        places = np.flatnonzero(block == entry).astype(np.uint32) + np.uint32(number * BLOCK)
        rest = np.concatenate([rest, places])
        whole = len(rest) // chunk * chunk
        yield from rest[:whole].reshape(-1, chunk)
        rest = rest[whole:]
    if len(rest):
        yield rest


def blocks(array: np.ndarray) -> Generator[np.ndarray]:
    """Yields the parts of an array that are searched at once."""
    for begin in range(0, len(array), BLOCK):
        yield array[begin : begin + BLOCK]


@partial(jax.jit, static_argnums=0)
def _before(order: Order, places: jax.Array) -> tuple[jax.Array, jax.Array]:
    return order.before(places)


@partial(jax.jit, static_argnums=0)
def _place(order: Order, slots: jax.Array) -> jax.Array:
    return order.place(slots)
