"""The measures of strength: slow references of both games, known numbers, graphs on which they follow by hand.

The graphs are of plays that have no end, are drawn, or are cut off.
"""

import functools
import itertools
import math
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
from jaxgames.solvers.strength import measure, measures, policy_table
from jaxgames.solvers.strength.graph import graph_of
from jaxgames.solvers.strength.policy_table import BATCH, PolicyTable, boards
from jaxgames.solvers.strength.reachable import reachable_states
from tests.helpers.hash_player import hash_agent
from tests.helpers.positions import board
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.solvers import slow_solutions as slow
from train.strength import lookahead

Act = Callable[[Any], Any]

# -- agents of the diamond -----------------------------------------------------------------------------------------


def solution(size: int = 3) -> solvers.Solution[Any]:
    """The solution of the game with three pieces."""
    return solved_diamond(size, 3)


@functools.cache
def agent(name: str, size: int = 3) -> Act:
    """An agent of the diamond with three pieces.

    hash0, hash7 and so on play by a hash of the board, by_seat by another one on each seat. fastest wins soonest and
    loses latest: its search is as deep as the longest game.
    """
    if name == "fastest":
        return lookahead(solution(size), lambda states: jnp.zeros(BATCH), 22)
    if name == "by_seat":
        one, two = agent("hash1", size), agent("hash2", size)
        return lambda states: jnp.where(states.current_player == 0, one(states), two(states))
    return hash_agent(ChineseCheckersDiamond(size, 3), int(name.removeprefix("hash")))


@functools.cache
def policy_of(name: str) -> slow.Policy:
    """The moves of an agent in all positions of 3 x 3, by the position's text."""
    env, graph = ChineseCheckersDiamond(3, 3), graph_of(solution())
    policy: slow.Policy = {}
    for seat in (0, 1):
        states = jax.device_get(boards(solution(), graph.live, seat))
        actions = np.asarray(agent(name)(states))
        for row in range(len(graph.live)):
            policy[env.to_string(board(states, row))] = int(actions[row])
    return policy


# -- the diamond ---------------------------------------------------------------------------------------------------

KNOWN: dict[str, float] = {  # of hash0; counted by another program, written in numpy from the rules
    **{"ultra_weak": 0, "self_play_plies": 50, "weak_solved": False},
    **{"weak_states": 0.224756, "agent_states": 149_257, "unique_states": 251_496},
    **{"won_terminals": 1_429, "lost_terminals": 4_929, "weak_uniform": 0.147771, "weak_uniform_loss": 0.147474},
    **{"sure_fraction": 0.010773, "kept_value": 0.648787, "action_weak": 0.705608},
    **{"strong_action": 0.705661, "strong_decisive": 0.448824, "strong_won": 0.546343, "strong_fastest": 0.258849},
    "strong_states": 149_311,
}


@pytest.mark.slow  # the reference below counts the same measures of 3 x 3
def test_measures_of_4_x_4_are_the_known_ones() -> None:
    found = measure(ChineseCheckersDiamond(4, 3), agent("hash0", 4), solution(4))
    assert {name: found[name] for name in KNOWN} == pytest.approx(KNOWN, rel=0, abs=1e-6)


@pytest.mark.parametrize("name", ["hash0", "fastest", "by_seat"])
@pytest.mark.parametrize(("seat", "plies"), [(0, 50), (1, 7)])
def test_every_measure_of_the_diamond_is_that_of_plain_python(name: str, seat: int, plies: int) -> None:
    """Whatever the limit of plies of the game is."""
    found = measure(ChineseCheckersDiamond(3, 3, max_plies=30), agent(name), solution(), plies, seat=seat)
    expected = slow.measures_of_diamond(slow.solved_slowly(3, 3), policy_of(name), seat, plies)
    for key, value in expected.items():
        assert found[key] == (value if value is None else pytest.approx(value, abs=1e-12)), key


@pytest.mark.parametrize("name", ["hash0", "fastest"])
def test_mistakes_are_counted_where_they_are(name: str) -> None:
    """By plies from the start, over the states that occur; by moves from the start, and by winning moves, over all."""
    policy, rules = policy_of(name), slow.solved_slowly(3, 3)
    found = measure(ChineseCheckersDiamond(3, 3), agent(name), solution())
    of_seat_0 = [each for each in rules.moves if slow.seat_of(each) == 0]
    reached = slow.reach(rules, policy, seat=0)
    plies = {each: reached[each] for each in of_seat_0 if each in reached}
    shares: dict[str, float] = {}
    for each in of_seat_0:
        if rules.value[each] == 1:
            replies = [rules.value[after] for after in rules.moves[each].values()]
            shares[each] = math.ceil(10 * replies.count(-1) / len(replies)) / 10
    for label, groups in (("ply", plies), ("share", shares)):
        columns: dict[str, list[Any]] = {label: sorted(set(groups.values())), "states": [], "decisive": []}
        columns["mistakes"] = []
        for number in columns[label]:
            positions = [each for each in groups if groups[each] == number]
            columns["states"].append(len(positions))
            columns["decisive"].append(sum(slow.is_decisive(rules, each) for each in positions))
            columns["mistakes"].append(sum(not slow.keeps(rules, policy, each) for each in positions))
        assert found[f"mistakes_by_{label}"] == columns
    assert len(plies) <= sum(found["mistakes_by_distance"]["states"]) <= found["strong_states"]
    wrong = round((1 - found["strong_action"]) * found["strong_states"])
    assert sum(found["mistakes_by_share"]["mistakes"]) == wrong


def test_agent_is_asked_about_every_state_once_whatever_the_batches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two batches are a sample for both seats, and the last one is filled up."""
    whole, live = measure(ChineseCheckersDiamond(3, 3), agent("hash0"), solution()), graph_of(solution()).live
    monkeypatch.setattr(policy_table, "BATCH", 300)
    monkeypatch.setattr(measures, "SAMPLE", 600)
    asked = list[np.ndarray]()

    def act(boards: Any) -> Any:
        asked.append(solution().index(boards))
        return agent("hash0")(boards)

    assert measure(ChineseCheckersDiamond(3, 3), act, solution()) == whole
    assert len(asked) == 2 + math.ceil(len(live) / 300)
    np.testing.assert_array_equal(np.unique(asked), live)


def test_values_are_compared_with_the_true_ones() -> None:
    """The values are 0.2 too low, and 0.9 too high in the lost states: right sign, wrong sign."""
    true = solution()

    def values(states: Any) -> np.ndarray:
        return np.where(true.value(states) == 1, 0.8, -0.1).astype(np.float32)

    found = measure(ChineseCheckersDiamond(3, 3), agent("hash0"), true, values=values)
    graph = graph_of(true)
    is_won = true.value(true.states_at(graph.live)) == 1
    assert found["value_accuracy"] == pytest.approx(is_won.mean())
    assert found["value_sign"] == 1
    errors = np.where(is_won, 0.2**2, 0.9**2)
    assert found["value_mse"] == pytest.approx(errors.mean(), rel=1e-6)
    assert found["value_mse_margin"] == pytest.approx(1.96 * errors.std() / len(errors) ** 0.5, rel=1e-4)
    reachable = reachable_states(graph, PolicyTable(true, graph, agent("hash0")))
    assert found["weak_value_accuracy"] == pytest.approx((graph.value[reachable.agent] == 1).mean())
    assert found["weak_value_accuracy"] != pytest.approx(is_won.mean())


# -- Dots and Boxes ------------------------------------------------------------------------------------------------

SLOW = slow.SlowBoxes(2, 2)


def lowest(drawn: int, seat: int) -> int:
    return SLOW.edges(drawn)[0]


def perfect(drawn: int, seat: int) -> int:
    return SLOW.best_edges(drawn)[0]


def mixed(drawn: int, seat: int) -> int:
    """Nearly always right, and not the same on both seats."""
    edges = SLOW.edges(drawn)
    return edges[(7 * drawn + seat) % len(edges)] if drawn % 5 == 3 else SLOW.best_edges(drawn)[-1]


@functools.cache
def as_act(agent: slow.BoxesAgent) -> Act:
    table = np.array([[agent(drawn, seat) for drawn in range(SLOW.full)] + [0] for seat in (0, 1)])

    def act(states: Any) -> Any:
        assert states.edges.shape == (BATCH, 12)
        return jnp.asarray(table)[states.current_player, jnp.asarray(solved_boxes(2, 2).index(states))]

    return act


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("agent", [lowest, perfect, mixed])
def test_measures_of_boxes_are_those_of_plain_python(agent: slow.BoxesAgent, seat: int) -> None:
    expected = slow.SlowPlays(SLOW, agent, seat).measures()
    found = measure(DotsAndBoxes(2, 2), as_act(agent), solved_boxes(2, 2), seat=seat)
    for key, value in expected.items():
        assert found[key] == (value if value is None else pytest.approx(value, rel=1e-12, abs=1e-15)), key
    assert found["strong_fastest"] is None  # a measure of games that are won and lost
    assert agent is mixed or (found["sure_fraction"] == 1) == (agent is perfect)

    table = found["mistakes_by_ply"]
    assert sum(table["states"]) == found["agent_states"]
    assert 1 - sum(table["mistakes"]) / found["agent_states"] == pytest.approx(found["action_weak"])
    rows = zip(table["mistakes"], table["decisive"], table["states"], strict=True)
    assert all(mistakes <= decisive <= states for mistakes, decisive, states in rows)


# Compiling the values takes most of the time of this test, so only one reward is fast.
SLOW_REWARDS = [pytest.param(reward, marks=pytest.mark.slow) for reward in ("win_loss", "boxes")]


@pytest.mark.parametrize("reward", ["margin", *SLOW_REWARDS])
def test_values_are_compared_in_the_unit_of_the_reward(reward: str) -> None:
    """The agent's values are the true ones, but 0.5 too high."""

    def true(states: Any) -> Any:
        to_go = solved_boxes(2, 2).value(states).astype(int)
        score = np.where(states.owner == 0, 1, np.where(states.owner == 1, -1, 0)).sum(1)
        final = to_go - score  # of seat 1, which is to move
        return jnp.asarray({"win_loss": np.sign(final), "margin": final, "boxes": to_go}[reward] + 0.5)

    found = measure(DotsAndBoxes(2, 2, reward), as_act(perfect), solved_boxes(2, 2), seat=1, values=true)
    np.testing.assert_allclose(found["value_mse"], 0.25)
    assert found["value_sign"] == 1


@pytest.mark.parametrize(
    ("env", "act", "solved", "number", "error"),
    [  # errors of three standard deviations
        (ChineseCheckersDiamond(3, 3), agent("hash0"), solution, 600, 0.06),
        (DotsAndBoxes(2, 2), as_act(mixed), lambda: solved_boxes(2, 2), 1000, 0.04),
    ],
    ids=["diamond", "boxes"],
)
def test_strong_measures_of_a_random_sample_are_estimates_and_weak_ones_can_be_left_out(
    env: Any, act: Act, solved: Callable[[], Any], number: int, error: float
) -> None:
    every, some = measure(env, act, solved()), measure(env, act, solved(), strong_states=number)
    assert some["strong_states"] == number
    assert some["strong_action"] == pytest.approx(every["strong_action"], abs=error)
    assert some["strong_action"] != every["strong_action"]
    assert some["sure_fraction"] == every["sure_fraction"]
    strong = measure(env, act, solved(), strong_states=number, weak=False)
    assert strong == {name: some[name] for name in strong}
    assert "strong_action" in strong
    assert {"ultra_weak", "weak_solved", "agent_states", "sure_fraction"} <= some.keys() - strong.keys()


# -- graphs --------------------------------------------------------------------------------------------------------


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


def of_graph(act: Act) -> Any:
    return measure(WANDERING.env, act, WANDERING)


def of_boxes(act: Act, plies: int = 50) -> Any:
    return measure(DotsAndBoxes(2, 2), act, solved_boxes(2, 2), plies)


def of_diamond(size: int = 3, **settings: Any) -> Any:
    return measure(ChineseCheckersDiamond(size, 3), agent("hash0"), solution(), **settings)


@pytest.mark.parametrize(
    ("call", "needles"),
    [
        (lambda: of_graph(constant(3)), ["illegal action 3 for 'state", "are 0"]),
        (lambda: of_graph(lambda states: np.zeros(3, np.int32)), [f"({BATCH},)", "(3,)"]),
        (lambda: of_graph(lambda states: np.zeros(BATCH, np.float32)), ["act", "int32", "float32"]),
        (lambda: of_graph(functools.partial(changing, itertools.count())), ["deterministic", "'state 2'", "0, and 1"]),
        (lambda: of_boxes(constant(0)), ["illegal action 0 for '1", "are 1, 2"]),
        (lambda: of_boxes(constant(12)), ["illegal action 12 for '0"]),
        (lambda: of_boxes(functools.partial(changing, itertools.count())), ["deterministic"]),
        (lambda: of_boxes(constant(0), plies=11), ["plies", "12", "11"]),
        (lambda: of_diamond(plies=0), ["plies", "1"]),
        (lambda: of_diamond(seat=2), ["seat", "0, 1", "2"]),
        (lambda: of_diamond(strong_states=0), ["strong_states", "1"]),
        (lambda: of_diamond(size=4), ["size=3", "not of", "size=4"]),
    ],
)
def test_agent_that_breaks_the_rules_and_wrong_setting_are_refused(call: Callable[[], Any], needles: list[str]) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        call()
    assert all(needle in str(error.value) for needle in needles)
