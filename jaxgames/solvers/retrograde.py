"""Retrograde analysis: the value of every position of a game, from the ends backwards.

One byte per position is the whole answer:

    0 .. 253    plies to the end with best play; even: lost for the mover, odd: won
    DRAW        neither side can force a win
    ILLEGAL     the rules forbid the position

A finished position has 0 plies: its mover has lost. Sweep d = 1, 2, ... reads all positions that are still open. If d
is odd, a position is won if one of its moves leads to an even number. If d is even, a position is lost if all its moves
lead to odd numbers. Each number found is d. It is exact, because every shorter end was found by an earlier sweep. A
sweep with odd d reads even numbers and writes odd ones, and the reverse. So it can write where it reads. The positions
that are still open when two sweeps in a row find nothing are draws.
"""

import importlib.util
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

Visit = Callable[[Any, jax.Array, jax.Array, jax.Array], Any]
Fold = Callable[[jax.Array, Visit, Any], Any]  # see `fold_children` of a game


def analyse(ends: np.ndarray, fold: Fold, chunk: int, progress: bool) -> np.ndarray:
    """Returns uint8[positions], the byte of every position.

    Args:
      ends: uint8[positions], 0 for lost finished positions, ILLEGAL for illegal ones, OPEN for all others.
      fold: `fold(indices, visit, carry)` calls `carry = visit(carry, children, _, live)` until every position that
        follows has been seen. All positions that follow are legal.
      chunk: positions that are computed at once.
      progress: whether to show a progress bar.
    """
    still_open = np.flatnonzero(ends == OPEN).astype(np.uint32)
    table = jnp.asarray(ends)
    idle = 0
    with progress_bar(len(still_open), "positions", progress) as update:
        for plies in range(1, MAX_PLIES + 1):
            before = len(still_open)
            decided = np.zeros(before, np.bool_)
            for begin in range(0, before, chunk):
                part = still_open[begin : begin + chunk]
                rows = np.resize(part, chunk)  # repeats the part up to the length of a chunk
                table, found = _sweep(fold, table, rows, np.uint8(plies))
                decided[begin : begin + chunk] = np.asarray(found)[: len(part)]
                update(int(np.count_nonzero(decided[begin : begin + chunk])))
            still_open = still_open[~decided]
            idle = idle + 1 if len(still_open) == before else 0
            if idle == 2 or len(still_open) == 0:
                return np.asarray(table)
    raise RuntimeError(f"some positions end after more than {MAX_PLIES} plies, which one byte cannot hold")


@partial(jax.jit, static_argnames="fold", donate_argnames="table")
def _sweep(fold: Fold, table: jax.Array, indices: jax.Array, plies: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns the table after sweep `plies` for these open positions, and bool[B], which of them were decided."""

    def visit(carry: tuple[jax.Array, jax.Array], children: jax.Array, _: jax.Array, live: jax.Array) -> Any:
        is_won, is_lost = carry
        value = table.at[children].get(mode="promise_in_bounds")
        odd = (value & 1 == 1) & (value != DRAW)
        return is_won | (live & (value & 1 == 0)).any(0), is_lost & (odd | ~live).all(0)

    no, yes = jnp.zeros(indices.shape, jnp.bool_), jnp.ones(indices.shape, jnp.bool_)
    is_won, is_lost = fold(indices, visit, (no, yes))
    found = jnp.where(plies & 1 == 1, is_won, is_lost)
    return table.at[indices].set(jnp.where(found, plies, OPEN), mode="promise_in_bounds"), found


@contextmanager
def progress_bar(total: int, unit: str, shown: bool) -> Generator[Callable[[int], object]]:
    """Yields a function that advances a bar with the time left; nothing is shown if tqdm is not installed."""
    if not shown or importlib.util.find_spec("tqdm") is None:
        yield lambda _: None
        return
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", unit_scale=True, disable=None) as bar:
        yield bar.update
