"""Sets of cells as bits, row by row: cell c is bit c % 32 of word c // 32."""

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.bits import reversed_bits, union


@jax.tree_util.register_pytree_node_class
class Cells(tuple[Any, ...]):
    """One to three words of a set, uint32 arrays of one shape, or numbers of NumPy for a constant set.

    A batch of sets has this shape, so every method works on any number of sets at once.
    """

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return tuple(self), None

    @classmethod
    def tree_unflatten(cls, _: None, words: Iterable[Any]) -> "Cells":
        return cls(words)

    @classmethod
    def of(cls, cells: Iterable[int], num_cells: int) -> "Cells":
        """Returns one set, for a board of `num_cells` cells."""
        bits = sum(1 << cell for cell in set(cells))
        return cls(np.uint32(bits >> first & 0xFFFFFFFF) for first in range(0, num_cells, 32))

    def __and__(self, other: "Cells") -> "Cells":
        return Cells(x & y for x, y in zip(self, other, strict=True))

    def __or__(self, other: "Cells") -> "Cells":
        return Cells(x | y for x, y in zip(self, other, strict=True))

    def __sub__(self, other: "Cells") -> "Cells":
        return Cells(x & ~y for x, y in zip(self, other, strict=True))

    def where(self, condition: jax.Array) -> "Cells":
        """Returns the set where the condition holds, and the empty set elsewhere."""
        return Cells(jnp.where(condition, x, 0) for x in self)

    def count(self) -> jax.Array:  # pyright: ignore[reportIncompatibleMethodOverride]  # of cells, not of a word
        """Returns int32[...], the number of cells."""
        return sum((jax.lax.population_count(x).astype(jnp.int32) for x in self), jnp.int32(0))

    def is_empty(self) -> jax.Array:
        """Returns bool[...]."""
        return union(self) == 0

    def shifted(self, by: int) -> "Cells":
        """Returns the set with every cell `by` numbers higher, |by| < 32; bits beyond the words are lost."""
        num, zero = len(self), jnp.zeros_like(self[0])
        if by >= 0:
            return Cells(self[i] << by | (self[i - 1] >> (32 - by) if i > 0 and by else zero) for i in range(num))
        return Cells(self[i] >> -by | (self[i + 1] << (32 + by) if i + 1 < num else zero) for i in range(num))

    def rotated(self, num_cells: int) -> "Cells":
        """Returns the set after a rotation by 180 degrees: cell c becomes num_cells - 1 - c."""
        return Cells(reversed_bits(x) for x in reversed(self)).shifted(num_cells - 32 * len(self))

    def lowest(self) -> "Cells":
        """Returns the set of the lowest cell alone; the empty set of an empty one."""
        return self._to_first(lambda x: x & (~x + np.uint32(1)))

    def below(self) -> "Cells":
        """Returns the cells with lower numbers than the one cell of the set."""
        return self._to_first(lambda x: x - np.uint32(1))  # all ones in a word without the cell

    def above(self) -> "Cells":
        """Returns the cells with higher numbers than the one cell of the set, also those that are not on the board."""
        return Cells(~x for x in self.below() | self)

    def split(self, cells: int) -> "list[Cells]":
        """Returns `cells` sets of one cell each, the lowest cells of the set in ascending order."""
        singles, rest = list[Cells](), self
        for _ in range(cells):
            singles.append(rest.lowest())
            rest -= singles[-1]
        return singles

    def _to_first(self, function: Callable[[Any], Any]) -> "Cells":
        """Returns the words as changed by a function up to the first word with a cell, and 0 in the words after it."""
        is_behind, words = np.False_, list[Any]()
        for x in self:
            words.append(jnp.where(is_behind, 0, function(x)))
            is_behind = is_behind | (x != 0)
        return Cells(words)
