"""The agent `alphabeta` in Dots and Boxes: moves, labels, time, texts. In plain Python unless slow."""

import math
import time
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
import train.agents
from jaxgames import agents, arena
from jaxgames._checks import ParameterError
from jaxgames.games.dots_and_boxes import player as playing
from jaxgames.games.dots_and_boxes.player import (
    STRATEGIES,
    DotsAndBoxesPlayer,
    best_to_a_depth,
    first_safe_edge,
    make_player,
    only_move,
    order_by_long_chain_rule,
)
from jaxgames.games.dots_and_boxes.rules import REWARDS, DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from jaxgames.games.dots_and_boxes.solution import table_shape, worth_of_edges
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.wrappers import auto_reset
from tests.games.dots_and_boxes.pictures import written
from tests.helpers.analysis import analysis_of
from tests.helpers.positions import stacked
from tests.helpers.solved import solved_boxes
from tests.solvers.alphabeta.stepping_clock import SteppingClock
from tests.solvers.dots_and_boxes.random_boxes import game, random_states

INEXACT = (only_move, order_by_long_chain_rule, first_safe_edge, best_to_a_depth)
LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise

# Two chains of three boxes. The mover takes one box of the first, and leaves two to take the second chain.
OPENED = """
    *---*---*---*
    |
    *---*---*---*

    *---*---*---*
"""
ONE_TAKEN = """
    *---*---*---*
    | 0 |
    *---*---*---*

    *---*---*---*
"""
LAST_CHAIN = """
    *---*---*---*
    | 0 |
    *---*---*---*
    | 1 | 1 | 1 |
    *---*---*---*
"""
# An opened loop of four boxes, and a chain of five. The mover leaves the four boxes to take the chain.
LOOP = """
    *---*---*   *
    |       |   |
    *   *---*   *
    |       |   |
    *---*---*   *
                |
    *---*---*---*
"""


def state_of(picture: str, rows: int, cols: int) -> Any:
    return jax.device_get(game(rows, cols).from_string(written(picture)))


def played(picture: str, rows: int, cols: int) -> str:
    env, state = game(rows, cols), state_of(picture, rows, cols)
    player = make_player(env, milliseconds=LONG)
    return env.action_to_string(state, player.choose(state, 0))


# -- moves -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols", "number"), [(1, 1, 20), (1, 4, 20), (2, 3, 20), (4, 1, 5), (5, 5, 4)])
def test_moves_are_open_edges(rows: int, cols: int, number: int) -> None:
    player = make_player(game(rows, cols), milliseconds=2)
    for seed, state in enumerate(random_states(rows, cols, number)):
        assert not state.edges[player.choose(state, seed)]


@pytest.mark.slow
@pytest.mark.parametrize("strategies", [STRATEGIES, INEXACT])
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (1, 8), (5, 5), (6, 7), (8, 8)])
def test_moves_are_open_edges_on_all_boards(rows: int, cols: int, strategies: Any) -> None:
    player = DotsAndBoxesPlayer(game(rows, cols), 9, 20, strategies)
    for seed, state in enumerate(random_states(rows, cols, 30)):
        assert not state.edges[player.choose(state, seed)]


def test_moves_keep_the_value_of_the_solved_game() -> None:
    solution = solved_boxes(2, 2)
    player, states = make_player(game(2, 2), milliseconds=LONG), random_states(2, 2, 60)
    best = solution.best_actions(stacked(states))
    assert 1 < best.sum(1).mean() < 0.8 * (~stacked(states).edges).sum(1).mean()  # not every move is a best one
    for state, of_state in zip(states, best, strict=True):
        assert of_state[player.choose(state, 0)], game(2, 2).to_string(state)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "cols", "number"), [(2, 2, 1000), (2, 3, 500), (3, 3, 300)])
def test_compiled_moves_keep_the_value_of_the_solved_game(rows: int, cols: int, number: int) -> None:
    solution, states = solved_boxes(rows, cols), random_states(rows, cols, number)
    player = make_player(game(rows, cols), milliseconds=LONG)
    best = solution.best_actions(stacked(states))
    assert all(of_state[player.choose(state, 0)] for state, of_state in zip(states, best, strict=True))


def test_chain_is_taken_down_to_the_boxes_that_keep_control() -> None:
    assert played(OPENED, 2, 3) == "v(0,1)"
    assert played(ONE_TAKEN, 2, 3) == "v(0,3)"
    assert played(LAST_CHAIN, 2, 3) == "v(0,2)"


def test_loop_of_four_boxes_is_left_for_a_longer_chain() -> None:
    assert ExactSearch(game(3, 3), compiled=False).search(state_of(LOOP, 3, 3)).value == 5 - 4
    assert played(LOOP, 3, 3) == "h(1,0)"


def test_long_chain_rule_prefers_safe_edges_that_keep_the_parity() -> None:
    """Without a search to the end, the edges that it chooses are worth half a box more than safe edges at random."""
    solution, env = solved_boxes(2, 3), game(2, 3)
    player = DotsAndBoxesPlayer(env, 9, LONG // 1000, INEXACT)
    gained: list[tuple[int, float]] = []
    for state in random_states(2, 3, 400):
        turn = player._turn(state, 0)  # pyright: ignore[reportPrivateUsage]
        moves, num_safe = turn.moves, turn.num_safe
        if num_safe < 2:
            continue
        worth = solution.worth(solution.index(stacked([state])))[0]
        if len({*worth[moves[:num_safe]].tolist()}) > 1:
            chosen = player.choose(state, 0)
            assert chosen in moves[:num_safe]
            gained.append((worth[chosen], worth[moves[:num_safe]].mean()))
    assert len(gained) > 5
    assert np.mean([value for value, _ in gained]) > np.mean([mean for _, mean in gained]) + 0.5


# -- labels ------------------------------------------------------------------------------------------------------------


def test_analysis_has_the_labels_of_perfect_play() -> None:
    table = jax.numpy.asarray(solved_boxes(2, 2).table.reshape(table_shape(game(2, 2))))
    players = {reward: make_player(DotsAndBoxes(2, 2, reward), milliseconds=LONG) for reward in REWARDS}
    for state in random_states(2, 2, 6):
        worth = np.where(state.edges, -128, worth_of_edges(game(2, 2), table, state.edges))
        lead = sum({state.current_player: 1, -1: 0}.get(owner, -1) for owner in state.owner.tolist())
        at_end = worth.max() + lead
        expected = {"boxes": worth.max(), "margin": at_end, "win_loss": np.sign(at_end)}
        for reward, player in players.items():
            assert player.analyse(state) == (np.flatnonzero(worth == worth.max()).tolist(), expected[reward])
        assert players["boxes"].best_actions(state) == players["boxes"].analyse(state)[0]


def test_analysis_without_a_search_to_the_end_has_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    player = make_player(DotsAndBoxes(4, 4, "boxes"), milliseconds=2)
    monkeypatch.setattr(playing, "NODES_WITHOUT_CHOICE", math.inf)
    for state in random_states(4, 4, 6, seed=3):
        check_estimate(player.analyse(state), state)


def test_analysis_whose_nodes_do_not_suffice_has_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    player = make_player(DotsAndBoxes(2, 2, "boxes"), milliseconds=LONG)
    states = random_states(2, 2, 10)
    exact = [player.analyse(state) for state in states]
    assert any(len(best) > 1 for best, _ in exact)  # these are not estimates
    with monkeypatch.context() as context:
        context.setattr(playing, "NODES_OF_ANALYSIS", 0)
        context.setattr(player, "milliseconds", 50)  # few playouts of an estimate, enough for a search to the end
        for state in states:
            analysis = player.analyse(state)
            check_estimate(analysis, state)
            assert player.analyse(state) == analysis
    assert [player.analyse(state) for state in states] == exact


def check_estimate(analysis: tuple[list[int], float], state: Any) -> None:
    """Asserts that an analysis has one open edge, and no more boxes than are left."""
    (edge,), value = analysis
    assert not state.edges[edge]
    assert abs(value) <= (state.owner == -1).sum()


def test_agent_labels_with_probabilities_and_values() -> None:
    env = DotsAndBoxes(1, 2, "boxes")
    states, player = random_states(1, 2, 5), make_player(env)
    analysis = analysis_of(agents.make("alphabeta", env), stacked(states))
    np.testing.assert_allclose(analysis.probabilities.sum(1), 1, rtol=1e-6)
    assert analysis.values is not None
    np.testing.assert_array_equal(analysis.values.sum(1), 0)
    assert np.abs(analysis.values).max() > 0
    for state, probabilities, values in zip(states, analysis.probabilities, analysis.values, strict=True):
        assert (np.flatnonzero(probabilities).tolist(), values[state.current_player]) == player.analyse(state)


# -- the key and the clock ---------------------------------------------------------------------------------------------


def test_moves_depend_on_the_key_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    env = game(2, 3)
    agent = agents.make("alphabeta(milliseconds=10)", env)
    states = jax.vmap(lambda _: env.init())(np.arange(20))
    first, again, other = (agent.act(jax.random.key(key), states).tolist() for key in (0, 0, 1))
    assert first == again
    assert first != other
    assert len({*first}) > 3  # each board has its own random numbers


def test_move_does_not_depend_on_moves_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    states = random_states(3, 3, 12, seed=1)
    one_by_one = [make_player(game(3, 3), milliseconds=10).choose(state, 3) for state in states[:3]]
    player = make_player(game(3, 3), milliseconds=10)
    for state in reversed(states):
        player.choose(state, 3)
    assert [player.choose(state, 3) for state in states[:3]] == one_by_one


@pytest.mark.parametrize("strategies", [STRATEGIES, INEXACT])
def test_search_ends_with_the_time(strategies: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 100 ms for a move and 10 ms between two looks, there are at most ten looks, and two that find it over."""
    player = DotsAndBoxesPlayer(game(3, 3), 9, 100, strategies)
    for seed, state in enumerate(random_states(3, 3, 10)):
        clock = SteppingClock(0.01)
        monkeypatch.setattr(clocks, "time", clock)
        assert not state.edges[player.choose(state, seed)]
        assert clock.looks <= 12


@pytest.mark.slow
def test_no_move_takes_longer_than_its_time_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time of this thread, which does not count what other programs take."""
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    monkeypatch.setattr(clocks.time, "perf_counter", time.thread_time)
    player = make_player(game(8, 8), milliseconds=200)
    for seed, state in enumerate(random_states(8, 8, 40)):
        began = time.thread_time()
        player.choose(state, seed)
        assert time.thread_time() - began < 0.2


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="without numba both sides are the same plain functions")
def test_compiled_and_plain_functions_choose_the_same_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = make_player(game(3, 3), milliseconds=LONG // 60)
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    plain = make_player(game(3, 3), milliseconds=LONG // 60)
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    for seed, state in enumerate(random_states(3, 3, 60, seed=2)):
        assert compiled.choose(state, seed) == plain.choose(state, seed)


# -- games and texts ---------------------------------------------------------------------------------------------------


def test_first_player_wins_every_game_where_the_start_is_won() -> None:
    env = game(2, 2)
    players = [agents.make(f"alphabeta(milliseconds={LONG})", env), agents.make("random", env)]
    agent_of_seat = arena.seating((1, 1), "fixed", 1)
    games = arena.play(env, players, agent_of_seat, jax.random.key(0))
    assert arena.results(env, games, agent_of_seat)["wins"] == 1


def test_texts_name_the_settings() -> None:
    env = game(1, 2)
    for text in (
        "alphabeta(depth=9, milliseconds=200)",
        "alphabeta(depth=9, milliseconds=200, epsilon=0.5)",
    ):
        assert str(agents.make(text, env)) == text
    assert str(train.agents.make("alphabeta", env)) == "alphabeta(depth=9, milliseconds=200)"


def test_wrapped_states_are_read() -> None:
    env = auto_reset(game(1, 2))
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 3))
    actions = agents.make("alphabeta", env).act(jax.random.key(1), states)
    assert actions.dtype == np.int32
    assert actions.shape == (3,)


@pytest.mark.parametrize(
    ("text", "env", "names"),
    [
        ("alphabeta", "chinese_checkers", ("checkers, dots_and_boxes, minichess", "not chinese_checkers")),
        ("alphabeta", "dots_and_boxes(rows=9, cols=2)", ("8 x 8 boxes",)),
        ("alphabeta(deep=2)", "dots_and_boxes", ("'deep'", "depth, ")),
        ("alphabeta(depth=0)", "dots_and_boxes", ("depth", "1 to 144", "not 0")),
        ("alphabeta(milliseconds=0.5)", "dots_and_boxes", ("milliseconds", "integer", "0.5")),
        ("alphabeta(epsilon=2)", "dots_and_boxes(rows=1, cols=1)", ("epsilon", "0 to 1")),
    ],
)
def test_wrong_parameter_is_refused(text: str, env: str, names: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        agents.make(text, jaxgames.make(env))
    assert all(name in str(error.value) for name in names)
