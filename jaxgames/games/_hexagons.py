"""Axial coordinates of the cells of a hexagonal board.

A cell (q, r) has the neighbours (q + 1, r), (q + 1, r - 1), (q, r - 1), (q - 1, r), (q - 1, r + 1), (q, r + 1), in the
order of the directions 0 to 5; r grows downwards.
"""

import abc

import numpy as np

from jaxgames._checks import ParameterError, check_int


class HexagonalBoard(abc.ABC):
    """The methods `axial` and `cell` of a game, which has a table of its cells."""

    @property
    @abc.abstractmethod
    def _axial(self) -> np.ndarray:
        """int[cells, 2], the coordinates (q, r) of every cell."""

    def axial(self, cell: int) -> tuple[int, int]:
        """Returns the axial coordinates (q, r) of a cell, by its number as in the texts of moves."""
        check_int("cell", _plain(cell), 0, len(self._axial) - 1)
        q, r = self._axial[cell].tolist()
        return q, r

    def cell(self, q: int, r: int) -> int:
        """Returns the number of the cell with the axial coordinates (q, r)."""
        lowest, highest = self._axial.min(0).tolist(), self._axial.max(0).tolist()
        for name, value, low, high in zip(("q", "r"), (q, r), lowest, highest, strict=True):
            check_int(name, _plain(value), low, high)
        found = np.flatnonzero((self._axial == (q, r)).all(1)).tolist()
        if not found:
            raise ParameterError(
                f"no cell of {self} is at (q, r) = ({q}, {r}): env.axial(cell) returns the place of a cell"
            )
        return found[0]


def _plain(value: object) -> object:
    """Returns an integer of numpy as one of Python; everything else as it is."""
    return int(value) if isinstance(value, np.integer) else value
