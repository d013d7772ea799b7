"""Functions of batches that are too long to be computed at once."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

CHUNK = 1 << 12  # rows that are computed at once


def in_chunks(
    function: Callable[..., Any],
    batch: Any,
    chunk: int = CHUNK,
    *,
    fill: bool = True,
    on_done: Callable[[int], object] = lambda rows: None,
) -> Any:
    """Returns `function(batch)` on the host, computed for `chunk` rows at a time.

    Args:
      function: from rows to arrays with a row for each of them.
      batch: all leaves have the same first axis.
      chunk: rows in each call.
      fill: fills up the last part with its last row, so that a longer batch needs no further compilation.
      on_done: is called with the number of rows after every part.
    """
    batch = jax.tree.map(np.asarray, batch)
    length = len(jax.tree.leaves(batch)[0])
    if length == 0:
        shapes = jax.eval_shape(function, jax.tree.map(lambda x: np.zeros((chunk, *x.shape[1:]), x.dtype), batch))
        return jax.tree.map(lambda x: np.zeros((0, *x.shape[1:]), x.dtype), shapes)
    parts: list[Any] = []
    for begin in range(0, length, chunk):
        end = min(begin + chunk, length)
        rows = np.minimum(np.arange(begin, begin + chunk if fill else end), length - 1)
        parts.append(jax.device_get(function(jax.tree.map(lambda x, rows=rows: x[rows], batch))))
        on_done(end - begin)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:length], *parts)
