"""Recorded games on the env's boards, many at once."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.games.checkers.pdn import PdnGame, decode, read, record
from jaxgames.games.checkers.rules import EARLIEST_END, Checkers
from tests.games.checkers.pictures import WCDF
from tests.games.checkers.record_pydraughts import FILE
from tests.helpers.positions import compiled, stacked
from train.data import game_collections
from train.data.game_collections import states_before

CUT_OFF = Checkers(draw_rule="openspiel", max_plies=100)


@pytest.fixture(scope="module", autouse=True)
def small_programs() -> Any:
    """Batches that the games of the tests do not fill, and that they need several of."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(game_collections, "BATCH", 8)
        patch.setattr(game_collections, "PLIES", 16)
        yield


def recorded_games() -> list[PdnGame]:
    return [game for game in read(decode(FILE.read_bytes())) if isinstance(game, PdnGame)]


def test_boards_are_those_of_one_step_after_the_other() -> None:
    """Games of unequal length, some from a position of their own, and one without actions."""
    games = [*recorded_games(), record([])]
    replayed: list[int] = []
    states = states_before(Checkers(), games, on_replayed=replayed.append)
    assert sum(replayed) == len(games) == 13
    expected: list[Any] = []
    for game in games:
        state = WCDF.from_string(game.start)
        for action in game.actions:
            expected.append(state)
            state = compiled(WCDF).step(state, np.int32(action))
    jax.tree.map(np.testing.assert_array_equal, states, stacked(expected))


def king_steps(plies: int) -> PdnGame:
    """A game in which two kings go to and fro."""
    text = " ".join(("1-5", "32-28", "5-1", "28-32")[ply % 4] for ply in range(plies))
    (game,) = read(f'[FEN "B:WK32:BK1"]\n{text}')
    assert isinstance(game, PdnGame)
    return game


@pytest.mark.parametrize("env", [Checkers(), CUT_OFF, Checkers(draw_rule="adjudicated")], ids=lambda env: env.draw_rule)
def test_game_goes_on_after_the_plies_that_make_a_draw(env: Checkers) -> None:
    limit = EARLIEST_END[env.draw_rule]
    states = states_before(env, [king_steps(100)])
    assert not states.terminated.any()
    np.testing.assert_array_equal(states.quiet, np.arange(100).clip(max=limit - 1))
    np.testing.assert_array_equal(states.ply, np.arange(100))


@pytest.mark.parametrize(
    ("env", "game", "problem"),
    [
        (Checkers(), PdnGame((87, 3), ("11-16", "?"), line=7), "game 0, line 7: action 3 at ply 1 is not legal in"),
        (CUT_OFF, king_steps(102), "game 0, line 1: action .* at ply 100 is not legal in .*max_plies=100"),
    ],
)
def test_illegal_action_is_named(env: Checkers, game: PdnGame, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        states_before(env, [game])


def test_no_games_have_no_boards() -> None:
    assert states_before(Checkers(), []).own.shape == (0,)
