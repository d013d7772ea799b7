"""The edges and boxes of Dots and Boxes as arrays: sums of what is beside each of them."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

Combine = Callable[[jax.Array, jax.Array], jax.Array]


def flat_edges(across: jax.Array, down: jax.Array) -> jax.Array:
    """Returns [B, edges, ...] of the horizontal edges [B, m + 1, n, ...] and the vertical ones [B, m, n + 1, ...]."""
    batch, after = across.shape[0], across.shape[3:]
    return jnp.concatenate([across.reshape(batch, -1, *after), down.reshape(batch, -1, *after)], axis=1)


def sum_of_edges(edges: jax.Array, rows: int, cols: int) -> jax.Array:
    """Returns [B, boxes, ...], the sum of the four edges of each box, of [B, edges, ...]."""
    batch, _, width = edges.shape
    across = edges[:, : (rows + 1) * cols].reshape(batch, rows + 1, cols, width)
    down = edges[:, (rows + 1) * cols :].reshape(batch, rows, cols + 1, width)
    return (across[:, :-1] + across[:, 1:] + down[:, :, :-1] + down[:, :, 1:]).reshape(batch, -1, width)


def sum_of_boxes(boxes: jax.Array, rows: int, cols: int) -> jax.Array:
    """Returns [B, edges, ...], the sum of the one or two boxes of each edge, of [B, boxes, ...]."""
    grid = boxes.reshape(boxes.shape[0], rows, cols, -1)
    return flat_edges(beside(grid, 1, jnp.add), beside(grid, 2, jnp.add))


def beside(values: jax.Array, axis: int, combine: Combine) -> jax.Array:
    """Returns the combination of each two neighbours along an axis, at the ends of one value and 0: one more value."""
    before, after = ([(0, 0)] * axis + [side] + [(0, 0)] * (values.ndim - 1 - axis) for side in ((1, 0), (0, 1)))
    return combine(jnp.pad(values, before), jnp.pad(values, after))
