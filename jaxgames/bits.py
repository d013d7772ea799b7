"""Sets as bits of unsigned words, shared by the games on bitboards and by the sampling of actions."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import by_platform

W = TypeVar("W", jax.Array, np.uint32)  # words on the device, or one on the host


def union(words: Sequence[W]) -> W:
    """Returns the bitwise OR of one or more words."""
    first, *others = words
    for word in others:
        first = first | word
    return first


def expanded(holds: Callable[[jax.Array, np.ndarray], jax.Array], words: jax.Array, table: np.ndarray) -> jax.Array:
    """Returns bool[rows * columns], `holds(word, entry)` for each entry of a table, uint32[rows, columns].

    Each row has a word, uint32[rows]. A CPU takes a few rows at a time, because XLA divides to find the row of an entry
    in the loop of a whole mask.
    """

    def by_slices(words: jax.Array) -> jax.Array:
        step = max(1, 256 // table.shape[1])  # rows of a slice, which has about 256 entries
        slices = [slice(first, first + step) for first in range(0, len(table), step)]
        return jnp.concatenate([holds(words[rows, None], table[rows]) for rows in slices]).ravel()

    return by_platform(words, cpu=by_slices, library=lambda words: holds(words[:, None], table).ravel())


def reversed_bits(words: jax.Array) -> jax.Array:
    """Returns uint32[...], the words with bit i moved to place 31 - i."""
    for width in (1, 2, 4, 8, 16):  # swaps each two neighbouring groups of `width` bits
        lower, by = np.uint32(0xFFFFFFFF // ((1 << width) + 1)), np.uint32(width)  # the mask of the lower groups
        words = ((words >> by) & lower) | ((words & lower) << by)
    return words
