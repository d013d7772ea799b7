"""Shared by both boards of Chinese Checkers: coordinates, distances to a goal, texts of rules.

A cell (q, r) has the neighbours (q + 1, r), (q + 1, r - 1), (q, r - 1), (q - 1, r), (q - 1, r + 1), (q, r + 1), in the
order of the directions 0 to 5; r grows downwards.

In the greedy scores, actions that gain nothing or lose ground all have the score 0. Two rules let the greedy agent fill
its goal:

    A piece outside of the goal should also come closer to the nearest free cell of the goal. This decides only between
    moves that gain the same otherwise. It leads the last pieces around a goal that is open on its other side.

    On the star, all goal cells must hold the mover's own pegs. A peg of another seat in the goal needs a way out. While
    it is there, the cells in front of it count as no closer to the far corner than the goal's edge.
"""

import abc

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError, check_int

FREE_CELL_WEIGHT = 1 / 64  # so small that the way to a free cell never outweighs a cell towards the far corner

STEP_OR_HOP = (
    "In your turn you move one of your {pieces}. It either steps to an empty cell next to it, or it hops over a "
    "neighbouring {piece} of any player, straight to the empty cell behind it. After a hop it may hop again, as often "
    "as you like. Nothing is captured."
)
DASHED_GOAL = "Your goal has a dashed border."


class HexagonalBoard(abc.ABC):
    """The methods `axial` and `cell` of a game, which has a table of its cells."""

    @property
    @abc.abstractmethod
    def _axial(self) -> np.ndarray:
        """int[cells, 2], the coordinates (q, r) of every cell."""

    def axial(self, cell: int) -> tuple[int, int]:
        """Returns the axial coordinates (q, r) of a cell, by its number as in the texts of moves."""
        check_int("cell", int(cell) if isinstance(cell, np.integer) else cell, 0, len(self._axial) - 1)
        q, r = self._axial[cell].tolist()
        return q, r

    def cell(self, q: int, r: int) -> int:
        """Returns the number of the cell with the axial coordinates (q, r)."""
        found = np.flatnonzero((self._axial == (q, r)).all(1)).tolist()
        if not found:
            raise ParameterError(f"no cell of {self} is at (q, r) = ({q}, {r}): env.axial(cell) has the places")
        return found[0]


def hexagonal_distance(difference: np.ndarray) -> np.ndarray:
    """Returns int[...], the steps that lead int[..., 2] cells away along the two axes of a hexagonal board."""
    q, r = difference[..., 0], difference[..., 1]
    return np.maximum(np.maximum(abs(q), abs(r)), abs(q + r))


def distance_left(to_tip: np.ndarray, to_goal: np.ndarray, is_free: jax.Array) -> jax.Array:
    """Returns float32[cells], how far a piece on each cell still has to go.

    It is the distance to the tip, the far corner of the goal. Outside of the goal, a small share of the distance to the
    nearest free cell of the goal is added, if there is one.

    Args:
      to_tip: int[cells], the distance from each cell to the tip.
      to_goal: int[cells, goal cells], the distance from each cell to each cell of the goal.
      is_free: bool[goal cells].
    """
    to_free = jnp.where(is_free, to_goal, to_goal.max()).min(-1)
    counts = (to_goal > 0).all(-1) & is_free.any()
    return jnp.asarray(to_tip, jnp.float32) + jnp.where(counts, FREE_CELL_WEIGHT * to_free.astype(jnp.float32), 0)
