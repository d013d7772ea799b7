"""Sets as bits of unsigned words: what the games on bitboards and the drawing of actions share."""

from collections.abc import Sequence
from typing import TypeVar

import jax
import numpy as np

W = TypeVar("W", jax.Array, np.uint32)  # words on the device, or one on the host

_HALVES = ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF))


def union(words: Sequence[W]) -> W:
    """All bits that are set in any of one or more words."""
    first, *others = words
    for word in others:
        first = first | word
    return first


def reversed_bits(words: jax.Array) -> jax.Array:
    """uint32[...], bit i of every word in place 31 - i."""
    for places, low in _HALVES:
        mask, by = np.uint32(low), np.uint32(places)
        words = ((words >> by) & mask) | ((words & mask) << by)
    return words
