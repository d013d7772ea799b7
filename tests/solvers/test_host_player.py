"""Agents that search on the host: the values of minimax, and one contract of all games for keys, time, labels, texts.

In plain Python unless a test says that it is compiled.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.games.checkers.search import SEARCHED_GAME as CHECKERS
from jaxgames.games.dots_and_boxes.player import (
    DotsAndBoxesPlayer,
    best_to_a_depth,
    first_safe_edge,
    make_player,
    only_move,
    order_by_long_chain_rule,
)
from jaxgames.games.minichess.search import SEARCHED_GAME as MINICHESS
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta import deepening
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer, SearchedGame
from jaxgames.wrappers import auto_reset
from tests.games.checkers import cases as checkers_cases
from tests.games.minichess import cases as minichess_cases
from tests.helpers.positions import compiled
from tests.helpers.scripted_agents import analysis_of
from tests.solvers import slow_checkers, slow_minichess
from tests.solvers.slow_solutions import random_boxes

TABLE_SIZES = LARGE_TABLE, SMALL_TABLE, NO_TABLE = 1 << 12, 4, 0


# -- values ------------------------------------------------------------------------------------------------------------


SLOWLY: dict[str, tuple[SearchedGame, Any, Any]] = {
    "checkers": (CHECKERS, checkers_cases, slow_checkers),
    "minichess": (MINICHESS, minichess_cases, slow_minichess),
}
CHECKERS_RULES = [
    "checkers",
    "checkers(draw_rule='openspiel')",
    "checkers(draw_rule='adjudicated')",
    "checkers(max_plies=100)",
    "checkers(draw_rule='openspiel', max_plies=100)",
]
MINICHESS_RULES = [
    "minichess",
    "minichess(rules='king_capture')",
    "minichess(board='baby', max_plies=60, double_step=True)",
    "minichess(board='mallet', rules='king_capture', max_plies=60, double_step=True, promotion='queen')",
]


def check_values(text: str, depth: int, number: int, evaluation: str, compiled: bool) -> None:
    """Compares the values of all moves and the set of best moves with those of minimax, for tables of all sizes."""
    env = jaxgames.make(text)
    game, cases, slow = SLOWLY[env.id]
    reference = cases.make_reference(env)
    minimax = slow.minimax(reference, evaluation)
    players = [HostSearchPlayer(game, env, depth, None, evaluation, size, compiled=compiled) for size in TABLE_SIZES]
    for position in slow.positions(reference, depth, number):
        expected, state = minimax.values(position, depth), slow.state_of(position, env, reference)
        highest = max(expected.values())
        best = [action for action, value in expected.items() if value == highest]
        for player in players:
            values = player.move_values(state)
            assert [round(100 * value) for value in values.values] == list(expected.values()), position
            assert (values.actions, round(100 * values.value)) == (list(expected), highest)
            assert player.best_actions(state) == best, position


@pytest.mark.parametrize(
    ("text", "depth", "number", "evaluation"),
    [
        *[(text, 1, 8, "material") for text in CHECKERS_RULES],
        *[(text, 2, 8, "positional") for text in CHECKERS_RULES],
        ("checkers", 4, 2, "positional"),
        *[(text, 1, 1, "positional") for text in MINICHESS_RULES[:2]],
    ],
)
def test_values_are_those_of_minimax(text: str, depth: int, number: int, evaluation: str) -> None:
    check_values(text, depth, number, evaluation, compiled=False)


@pytest.mark.skipif(not HAS_NUMBA, reason="needs numba")
@pytest.mark.parametrize(
    ("text", "depth", "number"),
    [
        ("checkers(max_plies=100)", 2, 12),
        *[pytest.param(text, 4, 8, marks=pytest.mark.slow) for text in CHECKERS_RULES],
        *[pytest.param(text, 1, 8, marks=pytest.mark.slow) for text in MINICHESS_RULES],
        *[pytest.param(text, 2, 2, marks=pytest.mark.slow) for text in MINICHESS_RULES],
    ],
)
def test_compiled_values_are_those_of_minimax(text: str, depth: int, number: int) -> None:
    check_values(text, depth, number, "positional", compiled=True)


@pytest.mark.parametrize(
    ("position", "lowest", "highest"),
    [
        ("B:W32:BK1,K2,K3", 0.5, 0.999),  # three kings against one man that is not caught yet
        ("B:W18:B14,15", 1.0, 1.0),  # Black jumps over the last man
        ("B:W17,18,32:B14", -1.0, 0.0),
    ],
)
def test_values_in_checkers_are_the_expected_result_of_the_mover(position: str, lowest: float, highest: float) -> None:
    env = jaxgames.make("checkers")
    state = jax.tree.map(lambda leaf: leaf[None], env.from_string(position))
    _, values = analysis_of(agents.make("alphabeta(depth=6)", env), state)
    assert values is not None
    assert lowest <= float(values[0, 0]) <= highest
    assert float(values[0, 1]) == -float(values[0, 0])


# -- the contract of all games -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Game:
    env: Any
    agent: str  # that takes little time
    timed: Callable[[int], Any]  # the player with that many milliseconds for a move
    states: Callable[[], list[Any]]  # live boards


def searched(text: str, depth: int) -> Game:
    env = jaxgames.make(text)
    game, cases, slow = SLOWLY[env.id]

    def states() -> list[Any]:
        reference = cases.make_reference(env)
        return [slow.state_of(position, env, reference) for position in slow.positions(reference, 21, 4)]

    return Game(
        env,
        agent=f"alphabeta(depth={depth}, evaluation=material)",
        timed=lambda milliseconds: game.make_player(env, None, milliseconds, "positional"),
        states=states,
    )


def boxes(*strategies: Any) -> Game:
    env: Any = jaxgames.make("dots_and_boxes(rows=3, cols=3)")

    def player(milliseconds: int) -> Any:
        if strategies:
            return DotsAndBoxesPlayer(env, 9, milliseconds, strategies)
        return make_player(env, milliseconds=milliseconds)

    return Game(
        jaxgames.make("dots_and_boxes(rows=2, cols=2)"),
        agent="alphabeta(milliseconds=2000)",
        timed=player,
        states=lambda: random_boxes(3, 3, 8, seed=1),
    )


GAMES = {"checkers": searched("checkers", 2), "minichess": searched("minichess", 1), "boxes": boxes()}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=[*GAMES])
INEXACT = (only_move, order_by_long_chain_rule, first_safe_edge, best_to_a_depth)  # without searches to the end


class SteppingClock:
    """Goes on by some seconds at each look, in place of the module `time`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.looks = 0

    def perf_counter(self) -> float:
        self.looks += 1
        return self.looks * self.seconds


@each_game
def test_key_draws_among_the_moves_of_the_analysis(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of boards that restart. Each of several equal boards has its own random numbers."""
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    env = auto_reset(game.env)
    agent = agents.make(game.agent, env)
    states = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 8))
    probabilities, values = analysis_of(agent, states)
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-6)
    assert values is not None
    np.testing.assert_allclose(values.sum(1), 0, atol=1e-6)
    drawn, again, other = (np.asarray(agent.act(jax.random.key(key), states)) for key in (1, 1, 2))
    assert drawn.dtype == np.int32
    assert drawn.tolist() == again.tolist() != other.tolist()
    assert len({*drawn.tolist()}) > 1
    assert {*drawn.tolist(), *other.tolist()} <= {*np.flatnonzero(probabilities[0]).tolist()}


@each_game
def test_move_does_not_depend_on_moves_before_it(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    states, used = game.states(), game.timed(1)
    for state in reversed(states):
        used.choose(state, 3)
    assert [used.choose(state, 3) for state in states[:2]] == [game.timed(1).choose(state, 3) for state in states[:2]]


@pytest.mark.parametrize("game", [*GAMES.values(), boxes(*INEXACT)], ids=[*GAMES, "inexact"])
def test_search_ends_with_the_time(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 100 ms for a move and 10 ms between two looks, there are at most ten looks, and two that find it over."""
    player = game.timed(100)
    for state in game.states():
        monkeypatch.setattr(clocks, "time", clock := SteppingClock(0.01))
        action = player.choose(state, 0)
        legal = ~state.edges if hasattr(state, "edges") else compiled(game.env).mask(state)
        assert legal[action]
        assert clock.looks <= 12


def test_work_of_a_move_is_limited_where_the_time_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock stands still. So the nodes end the search, always at the same place."""
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    monkeypatch.setattr(deepening, "NODES_PER_MILLISECOND", 20)
    short, long = (GAMES["checkers"].timed(milliseconds) for milliseconds in (1, 50))
    states = GAMES["checkers"].states()
    first = [short.best_actions(state) for state in states]
    assert first == [short.best_actions(state) for state in states]
    assert first != [long.best_actions(state) for state in states]


def test_only_move_is_played_without_a_search() -> None:
    env = GAMES["checkers"].env
    player = CHECKERS.make_player(env, 64)
    assert player.choose(jax.device_get(env.from_string("B:W14:B3,9")), 0) == 4 * (32 - 9) + 3


@pytest.mark.parametrize(
    ("env", "text", "expected"),
    [
        ("checkers", "alphabeta", "alphabeta(depth=6)"),
        ("checkers", "alphabeta(milliseconds=5)", "alphabeta(depth=64, milliseconds=5)"),
        ("checkers", "alphabeta(depth=2, epsilon=0.5)", "alphabeta(depth=2, epsilon=0.5)"),
        ("minichess", "alphabeta(evaluation=material)", "alphabeta(depth=4, evaluation='material')"),
        ("dots_and_boxes(rows=1, cols=2)", "alphabeta", "alphabeta(depth=9, milliseconds=200)"),
    ],
)
def test_text_names_the_settings(env: str, text: str, expected: str) -> None:
    game = jaxgames.make(env)
    assert str(agents.make(text, game)) == expected == str(agents.make(expected, game))


@pytest.mark.parametrize(
    ("env", "text", "needles"),
    [
        ("checkers", "alphabeta(depth=65)", ("depth", "64", "65")),
        ("minichess", "alphabeta(milliseconds=0)", ("milliseconds", "3600000", "0")),
        ("minichess", "alphabeta(evaluation=all)", ("evaluation", "'positional'", "'all'")),
        ("checkers", "alphabeta(leaves=boxes)", ("'leaves'", "evaluation")),
        ("chinese_checkers", "alphabeta", ("minichess", "not chinese_checkers")),
        ("dots_and_boxes(rows=9, cols=2)", "alphabeta", ("8 x 8", "rows=9")),
        ("dots_and_boxes", "alphabeta(depth=0)", ("depth", "144", "0")),
        ("dots_and_boxes", "alphabeta(milliseconds=0.5)", ("milliseconds", "integer", "0.5")),
    ],
)
def test_wrong_parameter_is_refused(env: str, text: str, needles: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError) as error:
        agents.make(text, jaxgames.make(env))
    assert all(needle in str(error.value) for needle in needles)
