"""An agent's moves and values in the states of a solved game, computed once per state.

An agent is called with batches of exactly BATCH boards, so that a program on the device always has the same shape. The
last batch is filled up with repeated boards. All boards are at ply 0, so the results depend only on the position.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.graph import Graph, Indices, chosen_slots

BATCH = 4096  # boards in each call of an agent

Act = Callable[[Any], Any]  # states [BATCH] -> int32[BATCH], a legal action of every board
Values = Callable[[Any], Any]  # states [BATCH] -> float32[BATCH], the mover's expected return
OnStates = Callable[[int], object]  # is called with the number of states that were done


def no_progress(count: int) -> None:
    """Does nothing with the number of states that were done."""


def call_in_batches(
    solution: Solution[Any],
    function: Callable[[Any], Any],
    states: NDArray[np.integer[Any]],
    seat: int = 0,
    on_states: OnStates = no_progress,
) -> NDArray[Any]:
    """Returns `function` of each state, [B], computed for BATCH boards at a time.

    Args:
      solution: the solution that numbers the states.
      function: from a batch of BATCH boards to one number per board.
      states: int[B], with `seat` to move.
      on_states: is called after every batch.

    Raises ValueError if `function` does not return one number per board.
    """
    answers: list[NDArray[Any]] = []
    for begin in range(0, len(states), BATCH):
        chunk = states[begin : begin + BATCH]
        answer = np.asarray(jax.device_get(function(boards(solution, chunk, seat))))
        if answer.shape != (BATCH,):
            raise ValueError(
                f"expected one number for each of {BATCH} boards, an array of shape ({BATCH},), not of {answer.shape}"
            )
        answers.append(answer[: len(chunk)])
        on_states(len(chunk))
    return np.concatenate(answers) if answers else np.zeros(0, np.int32)


def boards(solution: Solution[Any], states: NDArray[np.integer[Any]], seat: int) -> Any:
    """Returns BATCH boards with `seat` to move; behind the given states the last one is repeated."""
    padded = states[np.minimum(np.arange(BATCH), len(states) - 1)]
    batch = jax.tree.map(jnp.asarray, solution.states_at(padded.astype(np.uint32)))
    return dataclasses.replace(batch, current_player=jnp.full(BATCH, seat, jnp.int32))


def actions_in_batches(
    solution: Solution[Any], act: Act, states: NDArray[np.integer[Any]], seat: int, on_states: OnStates
) -> NDArray[Any]:
    """Returns int[B], the agent's actions in the states, legal or not. Raises ValueError unless they are integers."""
    actions = call_in_batches(solution, act, states, seat, on_states)
    if actions.dtype.kind not in "iu":
        raise ValueError(f"act must return actions, an array of int32[{BATCH}], not of {actions.dtype}")
    return actions


class PolicyTable:
    """The moves of an agent on one seat. A state is given to the agent when its move is first needed."""

    def __init__(
        self, solution: Solution[Any], graph: Graph, act: Act, seat: int = 0, on_states: OnStates = no_progress
    ) -> None:
        self._solution, self._graph, self._act, self._seat = solution, graph, act, seat
        self._on_states = on_states
        self._slots = np.full(graph.size, -1, np.int16)

    def children(self, states: Indices) -> Indices:
        """Returns int32[B], the states that follow the agent's moves.

        Args:
          states: int32[B], live ones.

        Raises ValueError for an illegal move.
        """
        self.fill(states)
        return self._graph.children[states, self._slots[states]]

    def actions(self, states: Indices) -> NDArray[np.integer]:
        """Returns int[B], the agent's moves as actions of the env. Raises ValueError for an illegal one."""
        self.fill(states)
        return self._graph.actions[states, self._slots[states]]

    def fill(self, states: Indices) -> None:
        """Computes the agent's moves in those of the live states that have none yet."""
        unknown = np.unique(states[self._slots[states] < 0])
        if unknown.size:
            self._slots[unknown] = self._slots_of(unknown, self._ask(unknown, self._seat))

    def is_symmetric(self) -> bool:
        """Returns whether the agent plays the same moves on the other seat, on a sample of up to BATCH states.

        Raises ValueError if the agent plays another move in a second call with the same states.
        """
        live = self._graph.live
        sample = live[np.unique(np.linspace(0, len(live) - 1, BATCH).astype(np.int64))]
        expected = self.actions(sample)
        if np.array_equal(self._ask(sample, 1 - self._seat, no_progress), expected):
            return True
        again = self._ask(sample, self._seat, no_progress)
        differs = np.flatnonzero(again != expected)
        if differs.size:
            state, old, new = (int(each[differs[0]]) for each in (sample, expected, again))
            raise ValueError(
                f"act must be deterministic: for {self._written(state)} it played action {old}, and {new} when it was "
                "asked again. Expected a function of the board alone, with the same key in every call"
            )
        return False

    def _ask(self, states: Indices, seat: int, on_states: OnStates | None = None) -> NDArray[Any]:
        on_states = self._on_states if on_states is None else on_states
        return actions_in_batches(self._solution, self._act, states, seat, on_states)

    def _slots_of(self, states: Indices, actions: NDArray[Any]) -> NDArray[np.int16]:
        slots = chosen_slots(self._graph, states, actions)
        illegal = np.flatnonzero(slots < 0)
        if illegal.size:
            state, action = int(states[illegal[0]]), int(actions[illegal[0]])
            legal = self._graph.actions[state, : self._graph.num_moves[state]].tolist()
            raise ValueError(
                f"act played the illegal action {action} for {self._written(state)} and for {illegal.size - 1} other "
                f"states; the legal actions there are {', '.join(map(str, legal))}"
            )
        return slots

    def _written(self, state: int) -> str:
        board = jax.tree.map(lambda leaf: leaf[0], boards(self._solution, np.array([state], np.int32), self._seat))
        return repr(self._solution.env.to_string(board))
