"""Full-width search of a fixed depth, for all states of a solved game at once.

One Bellman backup per sweep: value iteration of depth d. It takes d passes over the table of children, however large
the tree would be. The solver's values are not used: only the rules, and the values of the leaves.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxgames._checks import ParameterError, check_int
from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.graph import CHUNK, graph_of
from jaxgames.solvers.strength.policy_table import Act, Values, call_in_batches

MAX_DEPTH = 1000


def lookahead(
    solution: Solution[Any],
    values: Values,
    depth: int,
    *,
    discount: float = 0.99,
    seat: int = 0,
) -> Act:
    """Returns the agent that searches `depth` plies and judges the leaves with `values`; of equal moves the first.

    The result has the form that `measure` takes. It plays legal moves on live boards, and action 0 on all others.

    Args:
      solution: its states and moves are used, its values are not.
      values: a function from boards [512] to float32[512], the mover's expected return; clipped to -1 ... 1.
      depth: 1 compares the values behind each move.
      discount: per ply, so that of two wins the sooner one is better, and of two losses the later one.
      seat: to move on the boards for `values`.
    """
    check_int("depth", depth, 1, MAX_DEPTH)
    if not 0 < discount <= 1:
        raise ParameterError(f"discount must be a number above 0 and at most 1, such as 0.99, not {discount}")
    graph = graph_of(solution)
    leaves = np.full(graph.size, -1, np.float32)  # a finished game is lost for the seat to move
    leaves[graph.live] = np.clip(call_in_batches(solution, values, graph.live, seat), -1, 1)
    chunks = [graph.children[begin : begin + CHUNK] for begin in range(0, graph.size, CHUNK)]
    value = leaves
    for _ in range(depth - 1):
        value = np.concatenate([_backed_up(rows, value, discount).max(-1) for rows in chunks])
        value = np.where(graph.is_live, value, leaves)
    slots = np.concatenate([_backed_up(rows, value, discount).argmax(-1) for rows in chunks])
    actions = jnp.asarray(np.maximum(graph.actions[np.arange(graph.size), slots], 0))
    return lambda states: actions[jnp.asarray(solution.index(states))]


def _backed_up(children: NDArray[np.int32], value: NDArray[np.float32], discount: float) -> NDArray[np.float32]:
    """Returns float32[B, K], the value of each move for the mover; minus infinity behind the last legal move."""
    return -np.float32(discount) * np.append(value, np.float32(np.inf))[children]
