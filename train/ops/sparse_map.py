"""A function of a few rows among many, computed for those rows only."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def map_chosen_rows(function: Callable[[Any], jax.Array], rows: Any, chosen: jax.Array, chunk: int) -> jax.Array:
    """Returns `function` of the chosen rows: [B, ...]. Other rows are not to be used.

    The chosen rows are computed in chunks, so the cost grows with their number and not with B. Other rows fill up the
    last chunk, so they are computed too. All remaining rows are zero.

    Args:
      function: pytree of [chunk, ...] -> [chunk, ...]; each row of its result depends on the same row only.
      rows: pytree of [B, ...].
      chosen: bool[B].
      chunk: rows per call, at most B.
    """
    order = jnp.argsort(~chosen, stable=True)  # the chosen rows come first

    def take(rows_of_chunk: jax.Array) -> Any:
        return jax.tree.map(lambda x: x[rows_of_chunk], rows)

    def compute_chunk(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        start, results = carry
        rows_of_chunk = jax.lax.dynamic_slice(order, (start,), (chunk,))
        return start + chunk, results.at[rows_of_chunk].set(function(take(rows_of_chunk)))

    result = jax.eval_shape(lambda: function(take(order[:chunk])))
    results = jnp.zeros((chosen.size, *result.shape[1:]), result.dtype)
    num_chosen = chosen.sum(dtype=jnp.int32)
    with jax.named_scope("chosen_rows"):
        return jax.lax.while_loop(lambda carry: carry[0] < num_chosen, compute_chunk, (jnp.int32(0), results))[1]
