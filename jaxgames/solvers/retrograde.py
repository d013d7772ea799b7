"""Retrograde analysis: the value of every position of a game, from the ends backwards.

One byte per position is the whole answer:

    0 .. 253    plies to the end with best play; even: lost for the mover, odd: won
    DRAW        neither side can force a win
    ILLEGAL     the rules forbid the position

A finished position has 0 plies: its mover has lost. Sweep d = 1, 2, ... reads all positions that are still open. If d
is odd, a position is won if one of its moves leads to an even number. If d is even, a position is lost if all its moves
lead to odd numbers. The sweep writes d. That number is exact, because earlier sweeps have found all shorter ends. The
positions that are still open when two sweeps in a row find nothing are draws.

No list of moves is kept. Every sweep computes the moves of the open positions anew, one chunk of positions at a time.
So the memory is two tables of one byte per position: one on the host and a copy on the device.
"""

import importlib.util
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DRAW, ILLEGAL = np.uint8(255), np.uint8(254)
OPEN = DRAW  # until the analysis ends
MAX_PLIES = 253
BLOCK = 1 << 22  # entries of the table that are searched at once for open ones
IN_FLIGHT = 4  # chunks whose results the host has not read yet: two cores compute two chunks at a time

Visit = Callable[[Any, jax.Array, jax.Array, jax.Array], Any]
Fold = Callable[[jax.Array, Visit, Any], Any]  # see `fold_children` of a game


def analyse(
    table: np.ndarray, fold: Fold, chunk: int, progress: bool, after_sweep: Callable[[int], None], plies: int = 0
) -> None:
    """Replaces every OPEN entry of the table by the number of plies to the end, except those of draws.

    Args:
      table: uint8[positions], 0 for finished positions, ILLEGAL for illegal ones, OPEN for all others.
      fold: `fold(indices, visit, carry)` calls `carry = visit(carry, children, _, live)` until every position that
        follows has been seen. It must be hashable. All positions that follow are legal.
      chunk: positions that are computed at once.
      progress: whether to show a progress bar.
      after_sweep: called after every sweep with its number. The table then has all numbers up to this one.
      plies: the number of sweeps that the table has seen already.

    Raises RuntimeError if a position ends after more plies than one byte can hold.
    """
    num_open, idle = int(np.count_nonzero(table == OPEN)), 0
    with progress_bar(num_open, "positions", progress) as update:
        while idle < 2 and num_open > 0:
            plies += 1
            if plies > MAX_PLIES:
                raise RuntimeError(f"a position ends after more than {MAX_PLIES} plies, which one byte cannot hold")
            found = sweep(table, fold, chunk, plies, update)
            num_open, idle = num_open - found, 0 if found else idle + 1
            after_sweep(plies)


def sweep(table: np.ndarray, fold: Fold, chunk: int, plies: int, update: Callable[[int], object]) -> int:
    """Writes `plies` to the entries that this sweep decides; returns their number."""
    on_device = jnp.array(table, copy=True)
    waiting: deque[tuple[np.ndarray, jax.Array]] = deque()
    total = 0

    def finish() -> int:
        positions, is_decided = waiting.popleft()
        decided = positions[np.asarray(is_decided)[: len(positions)]]
        table[decided] = plies
        update(len(decided))
        return len(decided)

    for positions in _open_positions(table, chunk):
        rows = np.resize(positions, chunk)  # repeats them up to the length of a chunk
        waiting.append((positions, _decided(fold, on_device, rows, np.uint8(plies))))
        if len(waiting) == IN_FLIGHT:
            total += finish()
    while waiting:
        total += finish()
    return total


def _open_positions(table: np.ndarray, chunk: int) -> Generator[np.ndarray]:
    """Yields uint32[chunk], the indices of the open positions in ascending order; fewer in the last part."""
    rest = np.zeros(0, np.uint32)
    for begin in range(0, len(table), BLOCK):
        found = np.flatnonzero(table[begin : begin + BLOCK] == OPEN).astype(np.uint32) + np.uint32(begin)
        rest = np.concatenate([rest, found])
        whole = len(rest) // chunk * chunk
        yield from rest[:whole].reshape(-1, chunk)
        rest = rest[whole:]
    if len(rest):
        yield rest


@partial(jax.jit, static_argnums=0)
def _decided(fold: Fold, table: jax.Array, indices: jax.Array, plies: jax.Array) -> jax.Array:
    """Returns bool[B], which of these open positions sweep `plies` decides."""

    def visit(carry: tuple[jax.Array, jax.Array], children: jax.Array, _: jax.Array, live: jax.Array) -> Any:
        is_won, is_lost = carry
        value = table.at[children].get(mode="promise_in_bounds")
        even, odd = value & 1 == 0, (value & 1 == 1) & (value != OPEN)
        return is_won | (live & even).any(0), is_lost & (odd | ~live).all(0)

    no, yes = jnp.zeros(indices.shape, jnp.bool_), jnp.ones(indices.shape, jnp.bool_)
    is_won, is_lost = fold(indices, visit, (no, yes))
    return jnp.where(plies & 1 == 1, is_won, is_lost)


@contextmanager
def progress_bar(total: int, unit: str, shown: bool) -> Generator[Callable[[int], object]]:
    """Yields a function that advances a bar with the time left; nothing is shown if tqdm is not installed."""
    if not shown or importlib.util.find_spec("tqdm") is None:
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", unit_scale=True, smoothing=0, disable=None) as bar:
        yield bar.update
