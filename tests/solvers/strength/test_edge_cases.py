"""The measures of strength where plays have no end, are drawn or cut off, and where an agent breaks the rules."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import solvers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import BATCH
from tests.helpers.solved import solved_boxes
from tests.solvers.strength.measured import Act, agent, solution


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Node:
    """One board, or a batch."""

    current_player: Any
    terminated: Any
    number: Any  # uint32[], the state


class GraphSolution:
    """A solved game that begins in state 0. The mover of a state without moves has lost."""

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


# The agent begins in state 0. A state without moves is lost for its mover; the states that follow each, and values:
WANDERING: Any = GraphSolution([[1], [2], [1, 3], []], {0: 1, 1: -1, 2: 1})  # the agent can go back from 2, or win
RETURNING = GraphSolution([[1], [0, 2], [3], []], {0: 1, 1: -1, 2: 1})  # one reply leads back
CHANCES = GraphSolution([[1], [0, 2], [3, 4], [2], []], {0: 0, 1: 0, 2: 1, 3: -1})  # drawn; the other seat errs by 2
DRAWN = GraphSolution([[1], [0, 2], [1, 3], [4], []], {0: 0, 1: 0, 2: 0, 3: 1})  # drawn; 4 is lost for the agent
ALL_BUT_SURE_WON = ("ultra_weak", "weak_solved", "weak_states", "sure_fraction", "kept_value", "action_weak")


@pytest.mark.parametrize(
    ("solved", "actions", "plies", "expected"),
    [
        pytest.param(
            *(WANDERING, [0, 0, 0, 0], 50),
            {
                **{"weak_solved": False, "ultra_weak": 0, "weak_states": 0, "self_play_winner": None},
                **{"kept_value": 1, "action_weak": 1, "strong_action": 1, "weak_uniform_longest": 50},
                **{"sure_fraction": 0, "weak_uniform": 0, "weak_uniform_loss": 0},
            },
            id="keeping the win for ever solves nothing",
        ),
        pytest.param(
            *(WANDERING, [0, 0, 1, 0], 50),
            dict.fromkeys(("weak_solved", "ultra_weak", "weak_states", "sure_fraction", "weak_uniform"), 1)
            | {"weak_uniform_plies": 3},
            id="finishing is sure in every state",
        ),
        pytest.param(
            *(WANDERING, [0, 0, 1, 0], 2),
            {"ultra_weak": 0, "weak_uniform": 0, "weak_solved": True, "weak_states": 1},
            id="a win after the limit of plies is a draw only in games",
        ),
        pytest.param(
            *(RETURNING, [0, 0, 0, 0], 7),
            {  # half of the games against random replies last longer each time
                **{"weak_states": 1, "weak_solved": False, "sure_fraction": 0.5},
                **{"weak_uniform": 1 / 2 + 1 / 4 + 1 / 8, "weak_uniform_plies": 3 / 2 + 5 / 4 + 7 / 8 + 7 / 8},
            },
            id="a reply that leads back is not sure although all final states are won",
        ),
        pytest.param(
            *(CHANCES, [0, 0, 0, 0, 0], 50),
            dict.fromkeys(ALL_BUT_SURE_WON, 1) | {"sure_won": 0},
            id="never finishing wins no won state, and a draw is enough",
        ),
        pytest.param(
            *(CHANCES, [0, 0, 1, 0, 0], 50), dict.fromkeys((*ALL_BUT_SURE_WON, "sure_won"), 1), id="finishing wins it"
        ),
        pytest.param(
            *(DRAWN, [0, 0, 0, 0, 0], 50),
            dict.fromkeys(("weak_solved", "sure_fraction", "weak_states", "ultra_weak", "weak_uniform"), 1)
            | {"weak_uniform_loss": 0},
            id="a cycle is enough where the start is a draw",
        ),
        pytest.param(
            *(DRAWN, [0, 1, 1, 0, 0], 50),
            dict.fromkeys(("weak_solved", "sure_fraction", "weak_states", "ultra_weak"), 0)
            | {"weak_uniform": 2**-24, "weak_uniform_loss": 1 - 2**-24},  # a play ends after 4, 6, ... 50 plies
            id="all that ends is lost",
        ),
    ],
)
def test_measures_of_a_drawn_graph_are_those_that_follow_from_it(
    solved: Any, actions: Sequence[int], plies: int, expected: dict[str, Any]
) -> None:
    measures = measure(solved.env, lambda states: np.array(actions, np.int32)[states.number], solved, plies)
    assert {name: measures[name] for name in expected} == expected


def changing(calls: Iterator[int], states: Any) -> np.ndarray:
    """Another move in every call but the first: in state 2 of the graph, and on the start of Dots and Boxes."""
    if hasattr(states, "edges"):
        return np.where(states.edges.any(1), states.edges.argmin(1), min(next(calls), 1))
    return np.where(states.number == 2, next(calls) > 0, 0).astype(np.int32)


def constant(action: int) -> Act:
    return lambda states: np.full(BATCH, action, np.int32)


@pytest.mark.parametrize(
    ("of", "make_act", "needles"),
    [
        ("graph", lambda: constant(3), ["illegal action 3 for 'state", "are 0"]),
        ("graph", lambda: lambda states: np.zeros(3, np.int32), [f"({BATCH},)", "(3,)"]),
        ("graph", lambda: lambda states: np.zeros(BATCH, np.float32), ["act", "int32", "float32"]),
        ("graph", lambda: functools.partial(changing, itertools.count()), ["deterministic", "'state 2'", "0, and 1"]),
        ("boxes", lambda: constant(0), ["illegal action 0 for '1", "are 1, 2"]),
        ("boxes", lambda: constant(12), ["illegal action 12 for '0"]),
        ("boxes", lambda: functools.partial(changing, itertools.count()), ["deterministic"]),
    ],
)
def test_agent_that_breaks_the_rules_is_refused(of: str, make_act: Callable[[], Act], needles: list[str]) -> None:
    solved: Any = WANDERING if of == "graph" else solved_boxes(2, 2)
    with pytest.raises(ValueError, match=r"act|number") as error:
        measure(solved.env, make_act(), solved)
    assert all(needle in str(error.value) for needle in needles)


@pytest.mark.parametrize(
    ("env", "changes", "needles"),
    [
        (ChineseCheckersDiamond(3, 3), {"plies": 0}, ["plies", "1"]),
        (ChineseCheckersDiamond(3, 3), {"seat": 2}, ["seat", "0, 1", "2"]),
        (ChineseCheckersDiamond(3, 3), {"strong_states": 0}, ["strong_states", "1"]),
        (ChineseCheckersDiamond(4, 3), {}, ["size=3", "not of", "size=4"]),
        (DotsAndBoxes(2, 2), {"plies": 11}, ["plies", "12", "11"]),
    ],
)
def test_wrong_settings_are_refused(env: Any, changes: dict[str, Any], needles: list[str]) -> None:
    of_game = solved_boxes(2, 2) if env == DotsAndBoxes(2, 2) else solution(3)
    with pytest.raises(ValueError, match=r".") as error:
        measure(env, agent("hash0", 3), of_game, **changes)
    assert all(needle in str(error.value) for needle in needles)
