"""What both boards of Chinese Checkers share: how far pieces still have to go, for the greedy scores; words of rules.

In the greedy scores, actions that gain nothing or lose ground all have the score 0. Two rules let the greedy agent fill
its goal:

    A piece outside of the goal should also come closer to the nearest free cell of the goal. This decides only between
    moves that gain the same otherwise. It leads the last pieces around a goal that is open on its other side.

    On the star, all goal cells must hold the mover's own pegs. A peg of another seat in the goal needs a way out. While
    it is there, the cells in front of it count as no closer to the far corner than the goal's edge.
"""

import jax
import jax.numpy as jnp
import numpy as np

FREE_CELL_WEIGHT = 1 / 64  # so small that the way to a free cell never outweighs a cell towards the far corner

STEP_OR_HOP = (
    "In your turn you move one of your {pieces}. It either steps to an empty cell next to it, or it hops over a "
    "neighbouring {piece} of any player, straight to the empty cell behind it. After a hop it may hop again, as often "
    "as you like. Nothing is captured."
)
DASHED_GOAL = "Your goal has a dashed border."


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
