"""The measures of strength: a slow reference of all games, known numbers, graphs on which they follow by hand.

The graphs are of plays that have no end, are drawn, or are cut off.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
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
from jaxgames.solvers.strength.policy_table import BATCH, PolicyTable, boards, play_by_values
from jaxgames.solvers.strength.reachable import reachable_states
from tests.helpers.hash_player import hash_agent
from tests.helpers.positions import board
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.solvers import slow_solutions as slow

Act = Callable[[Any], Any]

DIAMOND, BOXES = ChineseCheckersDiamond(3, 3), DotsAndBoxes(2, 2)
HASH = hash_agent(DIAMOND)


def solution() -> solvers.Solution[Any]:
    return solved_diamond(3, 3)


# -- known numbers -------------------------------------------------------------------------------------------------

KNOWN: dict[str, float] = {  # of an agent of the diamond; counted by another program, written in numpy from the rules
    **{"ultra_weak": 0, "self_play_plies": 50, "weak_solved": False},
    **{"weak_states": 0.224756, "agent_states": 149_257, "unique_states": 251_496},
    **{"won_terminals": 1_429, "lost_terminals": 4_929, "weak_uniform": 0.147771, "weak_uniform_loss": 0.147474},
    **{"sure_fraction": 0.010773, "kept_value": 0.648787, "action_weak": 0.705608},
    **{"strong_action": 0.705661, "strong_decisive": 0.448824, "strong_won": 0.546343, "strong_fastest": 0.258849},
    "strong_states": 149_311,
}


@pytest.mark.slow  # the reference below counts the same measures of 3 x 3
def test_measures_of_4_x_4_are_the_known_ones() -> None:
    found = measure(ChineseCheckersDiamond(4, 3), hash_agent(ChineseCheckersDiamond(4, 3)), solved_diamond(4, 3))
    assert {name: found[name] for name in KNOWN} == pytest.approx(KNOWN, rel=0, abs=1e-6)


# -- the slow reference --------------------------------------------------------------------------------------------

SOLVED: dict[str, tuple[Any, Callable[[], solvers.Solution[Any]], Callable[[], slow.Game]]] = {
    "diamond": (ChineseCheckersDiamond(3, 3, max_plies=30), solution, lambda: slow.solved_diamond(3, 3)),
    "boxes": (BOXES, lambda: solved_boxes(2, 2), lambda: slow.solved_boxes(2, 2)),
}


NOT_MEASURED = {  # margins where every win counts 1; what is the same for all agents or was not asked of boxes
    "diamond": {"self_play_margin", "target_margin", "worst_margin", "weak_uniform_margin", "strong_margin_lost"},
    "boxes": {
        *("weak_optimal", "weak_optimal_states", "weak_uniform_plies", "weak_uniform_longest", "won_terminals"),
        *("lost_terminals", "sure_won", "mistakes_by_distance", "mistakes_by_share"),
    },
}


@functools.cache
def table_of(game: str, kind: str) -> np.ndarray:
    """int32[2, states], the actions of an agent in the states of a game, by the seat to move.

    The perfect one wins soonest and loses latest, a random one plays any legal action: the same on both seats, or
    another one on each.
    """
    _, solved, rules = SOLVED[game]
    table, random = np.zeros((2, solved().num_states), np.int32), np.random.default_rng(0)
    for state, nodes in enumerate(zip(*nodes_of(game), strict=True)):
        if nodes[0] in rules().moves:
            actions = [*(rules().fastest(nodes[0]) if kind == "perfect" else rules().moves[nodes[0]])]
            table[:, state] = random.choice(actions, 2 if kind == "by seat" else 1)
    return table


@functools.cache
def nodes_of(game: str) -> list[list[slow.Node]]:
    """The nodes of all states, by the seat to move."""
    solved, every = SOLVED[game][1](), np.arange(SOLVED[game][1]().num_states)
    return [
        [(solved.env.to_string(board(states, row)).split()[0], seat) for row in every]
        for seat, states in ((seat, jax.device_get(boards(solved, every, seat))) for seat in (0, 1))
    ]


def act_of(game: str, kind: str) -> Act:
    _, solved, _ = SOLVED[game]
    table = table_of(game, kind)

    def act(states: Any) -> Any:
        assert states.current_player.shape == (BATCH,)
        return table[states.current_player, solved().index(states)]

    return act


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    for name, value in found.items():
        assert value == (
            expected[name] if isinstance(value, dict) else pytest.approx(expected[name], abs=1e-12, nan_ok=True)
        ), name


@pytest.mark.parametrize(("seat", "plies"), [(0, 50), (1, 12)])
@pytest.mark.parametrize("kind", ["perfect", "random", "by seat"])
@pytest.mark.parametrize("game", SOLVED)
def test_every_measure_is_that_of_plain_python(game: str, kind: str, seat: int, plies: int) -> None:
    """Whatever the limit of plies of the game is."""
    env, solved, rules = SOLVED[game]
    found = measure(env, act_of(game, kind), solved(), plies, seat=seat)
    policy = {node: int(table_of(game, kind)[of, i]) for of in (0, 1) for i, node in enumerate(nodes_of(game)[of])}
    expected = slow.measures(rules(), policy, seat, plies)
    if game == "boxes":  # all games end on the same board, after as many plies
        expected |= dict.fromkeys(("weak_states", "strong_fastest"), None)
    check(found, expected)
    assert found.keys() == expected.keys() - NOT_MEASURED[game]
    assert kind != "perfect" or found["sure_fraction"] == found["strong_action"] == 1


def test_agent_is_asked_about_every_state_once_whatever_the_batches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two batches are a sample for both seats, and the last one is filled up."""
    whole, live = measure(DIAMOND, HASH, solution()), graph_of(solution()).live
    monkeypatch.setattr(policy_table, "BATCH", 300)
    monkeypatch.setattr(measures, "SAMPLE", 600)
    asked = list[np.ndarray]()

    def act(boards: Any) -> Any:
        asked.append(solution().index(boards))
        return HASH(boards)

    assert measure(DIAMOND, act, solution()) == whole
    assert len(asked) == 2 + math.ceil(len(live) / 300)
    np.testing.assert_array_equal(np.unique(asked), live)


def test_values_are_compared_with_the_true_ones() -> None:
    """The values are 0.2 too low, and 0.9 too high in the lost states: right sign, wrong sign."""
    true = solution()

    def values(states: Any) -> np.ndarray:
        return np.where(true.value(states) == 1, 0.8, -0.1).astype(np.float32)

    found = measure(DIAMOND, HASH, true, values=values)
    graph = graph_of(true)
    is_won = true.value(true.states_at(graph.live)) == 1
    assert found["value_accuracy"] == pytest.approx(is_won.mean())
    assert found["value_sign"] == 1
    errors = np.where(is_won, 0.2**2, 0.9**2)
    assert found["value_mse"] == pytest.approx(errors.mean(), rel=1e-6)
    assert found["value_mse_margin"] == pytest.approx(1.96 * errors.std() / len(errors) ** 0.5, rel=1e-4)
    reachable = reachable_states(graph, PolicyTable(true, graph, HASH))
    assert found["weak_value_accuracy"] == pytest.approx((graph.value[reachable.agent] == 1).mean())
    assert found["weak_value_accuracy"] != pytest.approx(is_won.mean())


def test_agent_of_values_plays_the_first_move_after_which_it_is_best_off() -> None:
    """The values are random; some are outside of the range of results and count as its ends."""
    noise = np.random.default_rng(0).uniform(-2, 2, solution().num_states).astype(np.float32)

    def values(states: Any) -> np.ndarray:
        assert (states.current_player == 1).all()
        return noise[solution().index(states)]

    states = boards(solution(), graph_of(solution()).live, 1)
    legal = np.asarray(jax.jit(jax.vmap(DIAMOND.legal_action_mask))(states))
    rows, actions = np.nonzero(legal)
    after = jax.jit(jax.vmap(DIAMOND.step))(jax.tree.map(lambda leaf: leaf[rows], states), jnp.asarray(actions))
    worth = np.where(after.terminated, 1, -noise[solution().index(after)].clip(-1, 1))
    best: dict[int, tuple[float, int]] = {}
    for row, action, value in zip(rows.tolist(), actions.tolist(), worth.tolist(), strict=True):
        if row not in best or value > best[row][0]:
            best[row] = value, action
    np.testing.assert_array_equal(play_by_values(solution(), values, 1)(states), [best[row][1] for row in sorted(best)])
    assert (np.asarray(after.rewards)[np.asarray(after.terminated), 1] == 1).sum() > 100


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

    found = measure(DotsAndBoxes(2, 2, reward), act_of("boxes", "perfect"), solved_boxes(2, 2), seat=1, values=true)
    np.testing.assert_allclose(found["value_mse"], 0.25)
    assert found["value_sign"] == 1


@pytest.mark.parametrize(("game", "number", "error"), [("diamond", 600, 0.06), ("boxes", 1000, 0.05)])
def test_strong_measures_of_a_random_sample_are_estimates_and_weak_ones_can_be_left_out(
    game: str, number: int, error: float
) -> None:
    """Errors of three standard deviations."""
    (env, solved, _), act = SOLVED[game], act_of(game, "by seat")
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

    def __init__(self, *moves: Sequence[int]) -> None:
        """The arguments are the states that follow each state; action 0 leads to the first of them."""
        self.moves, self.num_states, self.max_moves = moves, len(moves), max(map(len, moves))
        rules = dict[slow.Node, dict[int, tuple[int, slow.Node]]]()
        for (state, after), seat in itertools.product(enumerate(moves), (0, 1)):
            following = [(1 - bool(moves[child]), (str(child), 1 - seat if moves[child] else None)) for child in after]
            rules |= {(str(state), seat): dict(enumerate(following))} if after else {}
        self.rules = slow.solved("0", rules)
        self.values = np.array([self.rules.value.get((str(state), 0), -1) for state in range(len(moves))], np.int8)
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
        return np.array([self.rules.plies.get((str(state), 0), 0) for state in states.number])

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


# The agent begins in state 0. A state without moves is lost for its mover; the states that follow each:
WANDERING: Any = GraphSolution([1], [2], [1, 3], [])  # the agent can go back from 2, or win
RETURNING = GraphSolution([1, 4], [0, 2], [3], [], [2])  # one reply to the first action leads back
CHANCES = GraphSolution([1], [0, 2], [3, 4], [2], [])  # drawn; the other seat errs by 2
DRAWN = GraphSolution([1], [0, 2], [1, 3], [4], [])  # drawn; 4 is lost for the agent


@pytest.mark.parametrize(
    ("solved", "actions", "plies", "expected"),
    [
        # keeping the win for ever solves nothing; finishing is sure; a win after the limit of plies is drawn in games
        (WANDERING, [0, 0, 0, 0], 50, {"weak_solved": 0, "sure_fraction": 0, "weak_states": 0, "kept_value": 1}),
        (WANDERING, [0, 0, 1, 0], 50, {"weak_solved": 1, "sure_fraction": 1, "ultra_weak": 1, "weak_uniform": 1}),
        (WANDERING, [0, 0, 1, 0], 2, {"weak_solved": 1, "ultra_weak": 0, "weak_uniform": 0, "weak_states": 1}),
        # a reply that leads back is not sure although all final states are won; half of the games last longer each time
        (RETURNING, [0, 0, 0, 0, 0], 7, {"weak_states": 1, "weak_solved": 0, "weak_uniform": 1 / 2 + 1 / 4 + 1 / 8}),
        # never finishing wins no won state, and a draw is enough
        (CHANCES, [0, 0, 0, 0, 0], 50, {"weak_solved": 1, "sure_won": 0, "kept_value": 1}),
        (CHANCES, [0, 0, 1, 0, 0], 50, {"weak_solved": 1, "sure_won": 1, "weak_states": 1}),
        # a cycle is enough where the start is a draw, until all that ends is lost, after 4, 6, ... 50 plies
        (DRAWN, [0, 0, 0, 0, 0], 50, {"weak_solved": 1, "sure_fraction": 1, "weak_states": 1, "weak_uniform_loss": 0}),
        (DRAWN, [0, 1, 1, 0, 0], 50, {"weak_solved": 0, "sure_fraction": 0, "weak_states": 0, "weak_uniform": 2**-24}),
    ],
)
@pytest.mark.parametrize("seat", [0, 1])
def test_measures_of_a_drawn_graph_are_those_that_follow_from_it(
    solved: Any, actions: Sequence[int], plies: int, expected: dict[str, Any], seat: int
) -> None:
    """The known ones are those of seat 0."""
    table = np.array(actions, np.int32)
    found = measure(solved.env, lambda states: table[states.number], solved, plies, seat=seat)
    assert seat == 1 or {name: found[name] for name in expected} == expected
    check(found, slow.measures(solved.rules, {node: actions[int(node[0])] for node in solved.rules.moves}, seat, plies))


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
    return measure(ChineseCheckersDiamond(size, 3), HASH, solution(), **settings)


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
