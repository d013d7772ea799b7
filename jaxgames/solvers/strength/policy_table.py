"""An agent's moves and values in the states of a solved game, computed once per state.

An agent is called with batches of exactly BATCH boards, so that a program on the device always has the same shape. The
last batch is filled up with repeated boards. All boards are at ply 0, so the results depend only on the position.
BATCH is small, because some plies of a game have few positions, and a search takes as long for repeated boards.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxgames._batches import CHUNK, in_chunks
from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.graph import Mask, Slots, States, graph_of

S = TypeVar("S", bound=Solution[Any])

BATCH = 512  # boards in each call of an agent
SAMPLE = 4096  # states in which an agent is asked on the other seat too

Act = Callable[[Any], Any]  # states [BATCH] -> int32[BATCH], a legal action of every board
Values = Callable[[Any], Any]  # states [BATCH] -> float32[BATCH], the mover's expected return


@dataclasses.dataclass(frozen=True)
class Measured(Generic[S]):
    """The arguments of `jaxgames.solvers.strength.measure`: an agent, the solution, and what is measured."""

    env: Env[Any]
    act: Act
    solution: S
    plies: int
    seat: int
    values: Values | None
    strong_states: int | None
    weak: bool

    def policy(self, game: "SolvedGame") -> "PolicyTable":
        """Returns the moves of the agent on its seat."""
        return PolicyTable(self.solution, game, self.act, self.seat)


class SolvedGame(Protocol):
    """The moves of a solved game in states that are numbered as in its solution, for either seat to move."""

    @property
    def slot_type(self) -> type[np.signedinteger[Any]]: ...

    @property
    def gain_ends_game(self) -> bool:
        """True if the game ends with the first gain; False if the seat that gains something moves again."""
        ...

    def slots(self, states: States, actions: NDArray[Any]) -> Slots:
        """Returns the slots of actions; -1 where an action is illegal."""
        ...

    def after(self, states: States, slots: Slots) -> States:
        """Returns the states after moves."""
        ...

    def gains(self, states: States, slots: Slots) -> NDArray[np.integer[Any]]:
        """Returns what moves pay their movers: boxes, or 1 for a move that wins the game."""
        ...

    def losses(self, states: States, slots: Slots) -> tuple[NDArray[np.integer[Any]], Mask]:
        """Returns how much less moves are worth than the best ones, and whether some move of a state is worth less."""
        ...


class PolicyTable:
    """The moves of an agent on one seat. A state is given to the agent when its move is first needed."""

    def __init__(self, solution: Solution[Any], game: SolvedGame, act: Act, seat: int = 0) -> None:
        self.game, self._solution, self._act, self._seat = game, solution, act, seat
        self._slots = np.zeros(solution.num_states, game.slot_type)  # a slot + 1; 0 where the agent was not asked

    def slots(self, states: States) -> Slots:
        """Returns the slots of the agent's moves in live states. Raises ValueError for an illegal move."""
        unknown = np.unique(states[self._slots[states] == 0])
        if unknown.size:
            self._fill(unknown)
        return self._slots[states] - 1

    def children(self, states: States) -> States:
        """Returns the states that follow the agent's moves in live states. Raises ValueError for an illegal move."""
        return self.game.after(states, self.slots(states))

    def losses(self, states: States) -> tuple[NDArray[np.integer[Any]], Mask]:
        """Returns what the agent's moves lose, and whether some move does; see `SolvedGame.losses`."""
        return self.game.losses(states, self.slots(states))

    def is_symmetric(self, sample: States) -> bool:
        """Returns whether the agent plays the same moves on the other seat, in a sample of live states.

        Raises ValueError if it plays another move in a second call with the same states.
        """
        first = self._fill(sample)
        if np.array_equal(self._ask(sample, 1 - self._seat), first):
            return True
        again = self._ask(sample, self._seat)
        differs = np.flatnonzero(again != first)
        if differs.size:
            state, old, new = (int(array[differs[0]]) for array in (sample, first, again))
            raise ParameterError(
                f"act must be deterministic: for {self._text_of(state)} it played action {old}, and {new} when it was "
                "asked again. Expected a function of the board alone, with the same key in every call"
            )
        return False

    def _fill(self, states: States) -> NDArray[Any]:
        """Asks the agent for its moves in states, and returns its actions. Raises ValueError for an illegal one."""
        actions = self._ask(states, self._seat)
        slots = self.game.slots(states, actions)
        illegal = np.flatnonzero(slots < 0)
        if illegal.size:
            state = states[illegal[0]]
            moves = self._solution.children(np.array([state], np.uint32))
            raise ParameterError(
                f"act played the illegal action {int(actions[illegal[0]])} for {self._text_of(int(state))} and for "
                f"{illegal.size - 1} other states; the legal actions there are "
                f"{', '.join(map(str, moves.actions[moves.live]))}"
            )
        self._slots[states] = slots + 1
        return actions

    def _ask(self, states: States, seat: int) -> NDArray[Any]:
        """Returns int[B], the agent's actions, legal or not. Raises ValueError unless they are integers."""
        actions = call_in_batches(self._solution, self._act, states, seat)
        if actions.dtype.kind not in "iu":
            raise ParameterError(f"act must return actions, an array of int32[{BATCH}], not of {actions.dtype}")
        return actions

    def _text_of(self, state: int) -> str:
        board = jax.tree.map(lambda leaf: leaf[0], boards(self._solution, np.array([state]), self._seat))
        return repr(self._solution.env.to_string(board))


def play_by_values(solution: Solution[Any], values: Values, seat: int = 0) -> Act:
    """Returns the agent that plays the move after which `values` are best for it, the first of equal moves.

    It looks one ply ahead. `values` gets boards with `seat` to move; what it returns is clipped to -1 ... 1. Raises
    ValueError for a game that is not won or lost by its last move.
    """
    graph = graph_of(solution)
    worth = np.where(graph.is_over, -1, np.inf)  # for the mover, who has lost a finished game; inf is for no move
    worth[graph.live] = np.clip(call_in_batches(solution, values, graph.live, seat), -1, 1)

    def act(states: Any) -> NDArray[np.integer[Any]]:
        rows = solution.index(states)
        return graph.actions[rows, worth[graph.children[rows]].argmin(-1)]

    return act


def call_in_batches(
    solution: Solution[Any], function: Callable[[Any], Any], states: States, seat: int = 0
) -> NDArray[Any]:
    """Returns `function` of each state (int[B], with `seat` to move), [B], computed for BATCH boards at a time.

    Raises ValueError if `function` does not return one number per board.
    """

    def checked(batch: Any) -> NDArray[Any]:
        answer = np.asarray(jax.device_get(function(jax.tree.map(jnp.asarray, batch))))
        if answer.shape != (BATCH,):
            raise ParameterError(
                f"expected one number for each of {BATCH} boards, an array of shape ({BATCH},), not of {answer.shape}"
            )
        return answer

    answers = [
        in_chunks(checked, boards(solution, states[begin : begin + CHUNK], seat), BATCH)
        for begin in range(0, len(states), CHUNK)
    ]
    return np.concatenate(answers) if answers else np.zeros(0, np.int32)


def boards(solution: Solution[Any], states: States, seat: int) -> Any:
    """Returns the boards of states (int[B]) on the host, with `seat` to move."""
    made = solution.states_at(states.astype(np.uint32))
    return dataclasses.replace(made, current_player=np.full(len(states), seat, np.int32))
