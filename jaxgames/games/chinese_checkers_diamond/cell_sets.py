"""Sets of cells as bits, row by row: cell c is bit c % 32 of word c // 32.

A set is a tuple of one to three words, uint32 arrays of one shape. A batch has this shape, so every function here
works on any number of sets at once.
"""

from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.bits import reversed_bits, union

Words = tuple[Any, ...]  # uint32 arrays on the device; numbers of NumPy for a constant set


def words_of(cells: Iterable[int], num_cells: int) -> Words:
    """Returns one set, for a board of `num_cells` cells."""
    bits = sum(1 << cell for cell in set(cells))
    return tuple(np.uint32(bits >> first & 0xFFFFFFFF) for first in range(0, num_cells, 32))


def both(a: Words, b: Words) -> Words:
    """Returns the intersection of two sets."""
    return tuple(x & y for x, y in zip(a, b, strict=True))


def either(a: Words, b: Words) -> Words:
    """Returns the union of two sets."""
    return tuple(x | y for x, y in zip(a, b, strict=True))


def without(a: Words, b: Words) -> Words:
    """Returns the cells of the first set that are not in the second."""
    return tuple(x & ~y for x, y in zip(a, b, strict=True))


def keep(condition: jax.Array, a: Words) -> Words:
    """Returns the set where the condition holds, and the empty set elsewhere."""
    return tuple(jnp.where(condition, x, 0) for x in a)


def count(a: Words) -> jax.Array:
    """Returns int32[...], the number of cells in a set."""
    return sum((jax.lax.population_count(x).astype(jnp.int32) for x in a), jnp.int32(0))


def is_empty(a: Words) -> jax.Array:
    """Returns bool[...], whether a set has no cell."""
    return union(a) == 0


def shifted(a: Words, by: int) -> Words:
    """Returns the set with every cell `by` numbers higher, |by| < 32; bits beyond the words are lost."""
    if by == 0:
        return a
    num, zero = len(a), jnp.zeros_like(a[0])
    if by > 0:
        return tuple(a[i] << by | (a[i - 1] >> (32 - by) if i > 0 else zero) for i in range(num))
    return tuple(a[i] >> -by | (a[i + 1] << (32 + by) if i + 1 < num else zero) for i in range(num))


def rotated(a: Words, num_cells: int) -> Words:
    """Returns the set after a rotation by 180 degrees: cell c becomes num_cells - 1 - c."""
    words = tuple(reversed_bits(x) for x in reversed(a))
    unused = 32 * len(a) - num_cells
    return shifted(words, -unused) if unused else words


def lowest(a: Words) -> Words:
    """Returns the set of the lowest cell alone; the empty set of an empty one."""
    in_lower, result = None, list[Any]()
    for x in a:
        bit = x & (~x + np.uint32(1))
        result.append(bit if in_lower is None else jnp.where(in_lower, 0, bit))
        in_lower = (x != 0) if in_lower is None else in_lower | (x != 0)
    return tuple(result)


def below(bit: Words) -> Words:
    """Returns the cells with lower numbers than the one cell of `bit`."""
    in_lower, result = None, list[Any]()  # in_lower: the cell is in a lower word
    for x in bit:
        lower = x - np.uint32(1)  # all ones in a word without the cell
        result.append(lower if in_lower is None else jnp.where(in_lower, 0, lower))
        in_lower = (x != 0) if in_lower is None else in_lower | (x != 0)
    return tuple(result)


def above(bit: Words) -> Words:
    """Returns the cells with higher numbers than the one cell of `bit`, also those that are not on the board."""
    return tuple(~(x | y) for x, y in zip(below(bit), bit, strict=True))


def split(a: Words, cells: int) -> list[Words]:
    """Returns `cells` sets of one cell each, the lowest cells of the set in ascending order."""
    singles: list[Words] = []
    for _ in range(cells):
        singles.append(lowest(a))
        a = without(a, singles[-1])
    return singles
