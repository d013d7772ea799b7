"""Chains of Dots and Boxes as inputs of a network: their lengths, and what their number decides.

A box with two or three drawn edges is part of a chain, together with all such boxes that open edges join to it. The
first edge in a chain gives all of its boxes to the opponent, so near the end the number of chains decides who must draw
one. A round of messages sees one box further, and AlphaZero hardly learns parities (Zhou and Riis, arXiv:2205.12787, on
Nim). So lengths, numbers and parities are computed.

Source of the terms: Berlekamp, The Dots and Boxes Game, 2000.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

LONGEST = 7  # chains from this length on are one class
LONG = 3  # boxes of a chain of which the last ones can be left to the opponent
KEPT_OF_CHAIN, KEPT_OF_LOOP = 4, 8  # what leaving them costs: twice the two or four boxes


class Chains(NamedTuple):
    """Features of the boxes, the edges and the whole board."""

    boxes: jax.Array
    """float32[B, boxes, LONGEST + 3]: the class of the chain's length, the length / 8, whether it is a loop, and
    whether one of its boxes can be taken; zeros for a box in no chain."""
    edges: jax.Array
    """float32[B, edges, 3]: whether the edge is safe (no box gets its third or fourth edge), whether it takes a box,
    and the length of the longer chain beside it / 8; zeros for drawn edges."""
    board: jax.Array
    """float32[B, 12]: the numbers of safe edges, long chains, long loops, and chains of one and of two boxes, each
    divided by a usual number; the parities of these five; what the seat in control wins in the long ones / 8; the
    number of chains of which a box can be taken."""


def chains(across: jax.Array, down: jax.Array) -> Chains:
    """Returns the features of boards, from their drawn edges: bool[B, rows + 1, cols] and bool[B, rows, cols + 1]."""
    batch, rows, cols = across.shape[0], down.shape[1], across.shape[2]
    drawn = flat_edges(across, down)
    counts = sum_of_edges(drawn[..., None].astype(jnp.int32), rows, cols).reshape(batch, rows, cols)
    in_chain = (counts == 2) | (counts == 3)
    below = ~across[:, 1:-1] & in_chain[:, :-1] & in_chain[:, 1:]  # whether a box is joined to the one below it
    right = ~down[:, :, 1:-1] & in_chain[:, :, :-1] & in_chain[:, :, 1:]

    chain = chain_numbers(in_chain, below, right).reshape(batch, -1)
    same = (chain[:, :, None] == chain[:, None]) & (chain > 0)[:, None]  # bool[B, boxes, boxes]
    size = same.sum(-1, dtype=jnp.int32)
    joined = sum(beside(each.astype(jnp.int32), axis, jnp.add) for each, axis in ((below, 1), (right, 2)))
    is_end = jnp.less(joined, 2).reshape(size.shape)
    is_loop = (size > 0) & ~(same & is_end[:, None]).any(-1)
    is_started = (same & (counts.reshape(size.shape) == 3)[:, None]).any(-1)  # a box of it can be taken
    classes = jax.nn.one_hot(jnp.minimum(size, LONGEST) - 1, LONGEST, dtype=jnp.float32)  # zeros for a box in no chain
    of_boxes = jnp.concatenate([classes, stacked(size / 8, is_loop, is_started)], -1)

    def of_edges(values: jax.Array) -> jax.Array:
        """Returns int32[B, edges], the larger value of the one or two boxes of each open edge; 0 for drawn ones."""
        return jnp.where(drawn, 0, flat_edges(beside(values, 1, jnp.maximum), beside(values, 2, jnp.maximum)))

    fuller = of_edges(1 + counts)
    is_safe = (fuller > 0) & (fuller <= 2)  # no box gets its third or fourth edge
    given = of_edges(jnp.where(in_chain, size.reshape(counts.shape), 0))
    features_of_edges = stacked(is_safe, fuller == 4, given / 8)

    at_least_1 = jnp.maximum(size, 1).astype(jnp.float32)

    def number(which: jax.Array) -> jax.Array:
        """Returns float32[B], the number of chains, from bool[B, boxes] of their boxes."""
        return jnp.round((which.astype(jnp.float32) / at_least_1).sum(-1))

    is_long = (size >= LONG) & ~is_started
    numbers = [
        is_safe.sum(-1, dtype=jnp.float32),
        *map(number, (is_long & ~is_loop, is_long & is_loop, size == 1, size == 2)),
    ]
    kept = size - jnp.where(is_loop, KEPT_OF_LOOP, KEPT_OF_CHAIN)  # by the seat that does not open the chain
    control = (jnp.where(is_long, kept, 0).astype(jnp.float32) / at_least_1).sum(-1) / 8
    scaled = [value / scale for value, scale in zip(numbers, (20, 4, 2, 4, 4), strict=True)]
    of_board = stacked(*scaled, *(value % 2 for value in numbers), control, number(is_started))
    return Chains(of_boxes, features_of_edges, of_board)


def stacked(*values: jax.Array) -> jax.Array:
    """Returns float32[..., number of values]."""
    return jnp.stack([value.astype(jnp.float32) for value in values], axis=-1)


def chain_numbers(in_chain: jax.Array, below: jax.Array, right: jax.Array) -> jax.Array:
    """Returns int32[B, rows, cols]: the same number above 0 for all boxes of a chain, 0 for a box in no chain.

    `below` and `right` tell whether a box is joined to the next one: bool[B, rows - 1, cols], bool[B, rows, cols - 1].
    """
    rows, cols = in_chain.shape[1:]

    def spread(carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        old, _ = carry
        new = old
        for axis, joined in ((1, below), (2, right)):
            size = new.shape[axis]
            first, second = (jax.lax.slice_in_dim(new, start, start + size - 1, axis=axis) for start in (0, 1))
            new = jnp.maximum(new, beside(jnp.where(joined, jnp.maximum(first, second), 0), axis, jnp.maximum))
        return new, (new != old).any()

    start = jnp.where(in_chain, jnp.arange(1, rows * cols + 1).reshape(rows, cols), 0)
    return jax.lax.while_loop(lambda carry: carry[1], spread, (start, jnp.bool_(True)))[0]


# -- sums of what is beside each edge and each box -------------------------------------------------------------------


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


def beside(values: jax.Array, axis: int, combine: Callable[[jax.Array, jax.Array], jax.Array]) -> jax.Array:
    """Returns the combination of each two neighbours along an axis, at the ends of one value and 0: one more value."""
    before, after = ([(0, 0)] * axis + [side] + [(0, 0)] * (values.ndim - 1 - axis) for side in ((1, 0), (0, 1)))
    return combine(jnp.pad(values, before), jnp.pad(values, after))
