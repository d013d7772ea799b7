"""Sets as bits of unsigned words, shared by the games on bitboards and by the sampling of actions."""

from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np

W = TypeVar("W", jax.Array, np.uint32)  # words on the device, or one on the host

# To reverse 32 bits, swap neighbouring groups of 1, 2, 4, 8 and 16 bits. Each entry is (width of a group, mask of the
# lower group of each pair).
GROUP_SWAPS = (
    (1, 0x55555555),
    (2, 0x33333333),
    (4, 0x0F0F0F0F),
    (8, 0x00FF00FF),
    (16, 0x0000FFFF),
)


def union(words: Sequence[W]) -> W:
    """Returns the bitwise OR of one or more words."""
    first, *others = words
    for word in others:
        first = first | word
    return first


def reversed_bits(words: jax.Array) -> jax.Array:
    """Returns uint32[...], the words with bit i moved to place 31 - i."""
    for width, lower in GROUP_SWAPS:
        mask, by = np.uint32(lower), np.uint32(width)
        words = ((words >> by) & mask) | ((words & mask) << by)
    return words
