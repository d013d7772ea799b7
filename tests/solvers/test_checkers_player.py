"""Alpha-beta in checkers: the values of minimax, ends, keys, time, texts. In plain Python unless slow."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jaxgames.games.checkers import Checkers
from jaxgames.solvers import checkers_player as playing
from jaxgames.solvers._numba import HAS_NUMBA
from jaxgames.solvers.checkers_player import CheckersPlayer, Evaluation, evaluate, make_player
from tests.games.checkers.random_positions import crowds, endgames
from tests.games.checkers.reference import Position, Reference
from tests.solvers.slow_checkers import Minimax, near_limits, random_games, state_of

QUIET_LIMIT = {"wcdf": 80, "openspiel": 40}
RULES = [("wcdf", None), ("openspiel", None), ("wcdf", 100), ("openspiel", 100)]  # draw_rule, max_plies
LARGE_TABLE, SMALL_TABLE, NO_TABLE = 1 << 12, 4, 0


@pytest.fixture(autouse=True)
def plain_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiles nothing in fast tests."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr(playing, "HAS_NUMBA", False)
        playing._evaluator.cache_clear()  # pyright: ignore[reportPrivateUsage]  # players of slow tests are compiled


def positions(draw_rule: str, max_plies: int | None, seed: int, number: int) -> list[Position]:
    """Positions of random games, endgames and crowds, and all of them once more just before the limits."""
    rng, reference = np.random.default_rng(seed), Reference(draw_rule, max_plies)
    texts = endgames(rng, number // 4) + crowds(rng, number // 4)
    found = random_games(Reference(draw_rule), rng, number // 2) + [reference.from_string(text) for text in texts]
    found = [position for position in found if not position.over and position.ply < (max_plies or 1000)]
    return found + list(near_limits(found, rng, QUIET_LIMIT[draw_rule], max_plies))


def check_values(draw_rule: str, max_plies: int | None, depth: int, seed: int, number: int) -> None:
    """Compares the values of all moves and the set of best moves with those of minimax, for tables of all sizes."""
    env, minimax = Checkers(draw_rule=draw_rule, max_plies=max_plies), Minimax(Reference(draw_rule, max_plies))
    players = [CheckersPlayer(env, depth, None, "material", table) for table in (LARGE_TABLE, SMALL_TABLE, NO_TABLE)]
    for position in positions(draw_rule, max_plies, seed, number):
        expected = minimax.values(position, depth)
        highest = max(expected.values())
        for player in players:
            found = player.evaluate(state_of(position))
            assert [round(100 * value) for value in found.values] == list(expected.values()), position
            assert (found.actions, round(100 * found.value)) == (list(expected), highest)
            best = [action for action, value in expected.items() if value == highest]
            assert player.best_actions(state_of(position)) == best, position


def state(text: str, **leaves: int) -> Any:
    return state_of(replace(Reference().from_string(text), **leaves))


def found(text: str, depth: int, draw_rule: str = "wcdf", **leaves: int) -> tuple[set[str], Evaluation]:
    """The best moves in notation, and the values."""
    env, board = Checkers(draw_rule=draw_rule), state(text, **leaves)
    best = make_player(env, depth=depth).best_actions(board)
    return {env.action_to_string(board, action) for action in best}, evaluate(env, board, depth)


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("draw_rule", "max_plies"), RULES)
def test_values_are_those_of_minimax(draw_rule: str, max_plies: int | None) -> None:
    check_values(draw_rule, max_plies, depth=1, seed=0, number=12)
    check_values(draw_rule, max_plies, depth=2, seed=1, number=8)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("draw_rule", "max_plies"), RULES)
def test_compiled_values_are_those_of_minimax(draw_rule: str, max_plies: int | None, depth: int) -> None:
    check_values(draw_rule, max_plies, depth, seed=2 + depth, number=max(40, 120 // depth))


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="compares compiled functions with plain ones")
@pytest.mark.parametrize("evaluation", ["positional", "material"])
def test_compiled_and_plain_functions_find_the_same_values(evaluation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = CheckersPlayer(Checkers(), 4, None, evaluation)
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    plain = CheckersPlayer(Checkers(), 4, None, evaluation)
    for position in positions("wcdf", None, seed=10, number=40):
        assert compiled.evaluate(state_of(position)) == plain.evaluate(state_of(position))
        assert compiled.best_actions(state_of(position)) == plain.best_actions(state_of(position))
