"""Games that a test writes down as a graph: `solvers.Solution` of a few states with cycles, for the edge cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import solvers


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Node:
    """One board, or a batch."""

    current_player: Any
    terminated: Any
    number: Any  # uint32[], the state


NO_TABLE = "a drawn graph has no table of values: the measures of a policy on it do not read one"


class GraphSolution(solvers.Solution[Any]):
    """A game that begins in state 0. The mover of a state without moves has lost."""

    def __init__(self, moves: Sequence[Sequence[int]], values: Mapping[int, int]) -> None:
        """
        Args:
          moves: the states that follow each state; action 0 leads to the first of them.
          values: for the mover, of the states that are not lost by having no move.
        """
        self.moves = moves
        self.values = np.array([values.get(number, -1) for number in range(len(moves))], np.int8)
        self.num_states, self.max_moves = len(moves), max(map(len, moves))
        self.env = SimpleNamespace(
            id="graph",
            num_actions=self.max_moves,
            init=lambda key: Node(jnp.int32(0), jnp.bool_(False), jnp.uint32(0)),
            to_string=lambda state: f"state {int(state.number)}",
        )

    def fits(self, env: Any) -> bool:
        return env is self.env

    def value(self, states: Any) -> np.ndarray:
        return self.values[states.number]

    def plies(self, states: Any) -> np.ndarray:
        return np.where(self.value(states) == 0, -1, 0)  # the tests do not ask for the fastest moves

    def is_legal(self, states: Any) -> np.ndarray:
        return np.ones(len(states.number), bool)

    def index(self, states: Any) -> np.ndarray:
        return np.asarray(states.number)

    def states_at(self, indices: Any) -> Node:
        over = np.array([not moves for moves in self.moves])
        return Node(np.zeros(len(indices), np.int32), over[indices], indices)

    def children(self, indices: Any) -> solvers.Children:
        actions = np.full((len(indices), self.max_moves), -1, np.int32)
        children = np.zeros(actions.shape, np.uint32)
        for row, number in enumerate(indices):
            count = len(self.moves[number])
            actions[row, :count], children[row, :count] = range(count), self.moves[number]
        return solvers.Children(actions, children, actions >= 0)

    def counts(self) -> dict[str, Any]:
        raise NotImplementedError(NO_TABLE)

    def best_actions(self, states: Any) -> np.ndarray:
        raise NotImplementedError(NO_TABLE)

    @staticmethod
    def scores(env: Any, table: Any, states: Any) -> Any:
        raise NotImplementedError(NO_TABLE)

    payoffs = scores

    def arrays(self) -> dict[str, np.ndarray]:
        raise NotImplementedError(NO_TABLE)

    @classmethod
    def solve(cls, env: Any, progress: bool = True, unfinished: Any = None) -> Any:
        raise NotImplementedError(NO_TABLE)

    @classmethod
    def from_arrays(cls, env: Any, arrays: dict[str, np.ndarray]) -> Any:
        raise NotImplementedError(NO_TABLE)
