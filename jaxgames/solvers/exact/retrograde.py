"""Retrograde analysis: the value of every position of a game, from the ends backwards.

One byte per position is the whole answer:

    0 .. 253    plies to the end with best play; even: lost for the mover, odd: won
    DRAW        neither side can force a win
    ILLEGAL     the rules forbid the position

A finished position has 0 plies: its mover has lost. Sweep d = 1, 2, ... reads all positions that are still open. If d
is odd, a position is won if one of its moves leads to an even number. If d is even, a position is lost if all its moves
lead to odd numbers. The sweep writes d. That number is exact, because earlier sweeps have found all shorter ends. The
positions that are still open when two sweeps in a row find nothing are draws.

No list of moves is kept. Every sweep computes the moves of the open positions again, one chunk of positions at a time.
So the memory is three bytes per position: the table, its copy on the device, and the list of open positions.

A game may have a mirror that keeps its rules. Of a position and its mirror image only one is swept: the one with the
lower place in the table. Both get its number.
"""

from collections import deque
from collections.abc import Callable, Generator, Hashable
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._progress import progress_bar

DRAW, ILLEGAL = np.uint8(255), np.uint8(254)
OPEN = DRAW  # until the analysis ends
MAX_PLIES = 253
BLOCK = 1 << 22  # entries of the table that are searched at once for open ones
IN_FLIGHT = 4  # chunks whose results the host has not read yet: two cores compute two chunks at a time

Visit = Callable[[Any, jax.Array, jax.Array, jax.Array], Any]


class Order(Hashable, Protocol):
    """A game as the sweeps read it. They visit its positions in the order of visit numbers, uint32[B]."""

    def index(self, visits: jax.Array) -> jax.Array:
        """Returns uint32[B], the places of positions in the table. Each position has one visit number and one place."""
        ...

    def mirrored(self, visits: jax.Array) -> jax.Array:
        """Returns uint32[B], the places of the mirror images; those of the positions themselves without a mirror."""
        ...

    def fold(self, visits: jax.Array, visit: Visit, carry: Any) -> Any:
        """Returns `carry` after calls `carry = visit(carry, places, _, live)` with all positions that follow.

        `places` and `live` have the shape [k, B]. All positions that follow are legal.
        """
        ...


def analyse(
    table: np.ndarray, order: Order, chunk: int, progress: bool, after_sweep: Callable[[int], None], plies: int = 0
) -> None:
    """Replaces every OPEN entry of the table by the number of plies to the end, except the entries of draws.

    Args:
      table: uint8[positions], 0 for finished positions, ILLEGAL for illegal ones, OPEN for all others.
      order: the positions and their moves.
      chunk: positions that are computed at once.
      progress: whether to show a progress bar for each sweep, over the open positions that it reads.
      after_sweep: called after every sweep with its number. The table then has all numbers up to this one.
      plies: the number of sweeps that the table has seen already.

    Raises RuntimeError if a position ends after more plies than one byte can hold.
    """
    is_open = np.zeros(len(table), np.bool_)  # by visit number
    for visits in parts(np.ones(len(table), np.bool_), chunk):
        places, mirrored = _places(order, visits, chunk)
        is_open[visits] = (table[places] == OPEN) & (places <= mirrored)
    num_open, idle = int(np.count_nonzero(is_open)), 0
    while idle < 2 and num_open > 0:
        plies += 1
        if plies > MAX_PLIES:
            raise RuntimeError(f"a position ends after more than {MAX_PLIES} plies, which one byte cannot hold")
        with progress_bar(num_open, "positions", f"sweep {plies}", progress) as bar:
            num_decided = sweep(table, is_open, order, chunk, plies, bar.update)
        num_open, idle = num_open - num_decided, 0 if num_decided else idle + 1
        after_sweep(plies)


def sweep(
    table: np.ndarray, is_open: np.ndarray, order: Order, chunk: int, plies: int, update: Callable[[int], object]
) -> int:
    """Writes `plies` to the entries that this sweep decides, which are not open then.

    `update` is called with the number of positions that have been read since the last call. Returns how many open
    positions the sweep has decided; their mirror images get the same entry and do not count.
    """
    on_device = jnp.array(table, copy=True)
    waiting: deque[tuple[np.ndarray, tuple[jax.Array, jax.Array, jax.Array]]] = deque()
    total = 0

    def finish() -> int:
        visits, (decided, *images) = waiting.popleft()
        decided = np.asarray(decided)[: len(visits)]
        is_open[visits[decided]] = False
        for places in images:
            table[np.asarray(places)[: len(visits)][decided]] = plies
        update(len(visits))
        return int(np.count_nonzero(decided))

    for visits in parts(is_open, chunk):
        waiting.append((visits, _decided(order, on_device, np.resize(visits, chunk), np.uint8(plies))))
        if len(waiting) == IN_FLIGHT:
            total += finish()
    while waiting:
        total += finish()
    return total


def parts(is_open: np.ndarray, chunk: int) -> Generator[np.ndarray]:
    """Yields uint32[chunk], the places of True in ascending order; fewer in the last part."""
    rest = np.zeros(0, np.uint32)
    for begin in range(0, len(is_open), BLOCK):
        places = np.flatnonzero(is_open[begin : begin + BLOCK]).astype(np.uint32) + np.uint32(begin)
        rest = np.concatenate([rest, places])
        whole = len(rest) // chunk * chunk
        yield from rest[:whole].reshape(-1, chunk)
        rest = rest[whole:]
    if len(rest):
        yield rest


def _places(order: Order, visits: np.ndarray, chunk: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns uint32[B] twice, the places of at most `chunk` positions and of their mirror images in the table."""
    places, mirrored = _index(order, np.resize(visits, chunk))
    return np.asarray(places)[: len(visits)], np.asarray(mirrored)[: len(visits)]


@partial(jax.jit, static_argnums=0)
def _index(order: Order, visits: jax.Array) -> tuple[jax.Array, jax.Array]:
    return order.index(visits), order.mirrored(visits)


@partial(jax.jit, static_argnums=0)
def _decided(
    order: Order, table: jax.Array, visits: jax.Array, plies: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns bool[B], which of these open positions sweep `plies` decides, and the places of both images."""

    def visit(carry: tuple[jax.Array, jax.Array], children: jax.Array, _: jax.Array, live: jax.Array) -> Any:
        is_won, is_lost = carry
        value = table.at[children].get(mode="promise_in_bounds")
        even, odd = value & 1 == 0, (value & 1 == 1) & (value != OPEN)
        return is_won | (live & even).any(0), is_lost & (odd | ~live).all(0)

    no, yes = jnp.zeros(visits.shape, jnp.bool_), jnp.ones(visits.shape, jnp.bool_)
    is_won, is_lost = order.fold(visits, visit, (no, yes))
    return jnp.where(plies & 1 == 1, is_won, is_lost), order.index(visits), order.mirrored(visits)
