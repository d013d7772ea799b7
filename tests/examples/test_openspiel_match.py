"""The match against OpenSpiel's bot: the numbers of the actions, the seats, and what is refused."""

import pyspiel
import pytest

import jaxgames
from examples.openspiel_match import Arguments, checkers_action, counterpart, match
from jaxgames import ParameterError
from tests.games.checkers.test_engines import OPEN_SPIEL_ACTION
from tests.helpers.positions import start


def test_numbers_of_checkers_are_those_of_the_rule_tests() -> None:
    for mover in (0, 1):
        for action in range(128):
            found = [checkers_action(action, mover, allowed) for allowed in ([4], [7])]
            assert found == OPEN_SPIEL_ACTION[mover, action].tolist()


def test_second_player_wins_the_only_box() -> None:
    result = match(Arguments(agent="first", env="dots_and_boxes(rows=1, cols=1)", simulations=2, games=4))
    assert (result["wins"], result["draws"], result["losses"]) == (2, 0, 2)


@pytest.mark.slow
@pytest.mark.parametrize("game", ["dots_and_boxes(rows=3, cols=3)", "checkers(draw_rule=openspiel)"])
def test_bot_beats_random_play(game: str) -> None:
    result = match(Arguments(agent="random", env=game, simulations=50, games=20))
    assert result["losses"] > 14
    assert result["wins"] + result["draws"] + result["losses"] == 20


@pytest.mark.parametrize("game", ["checkers", "minichess"])
def test_game_that_openspiel_lacks_is_refused(game: str) -> None:
    with pytest.raises(ParameterError, match=r"env must be dots_and_boxes or checkers\(draw_rule=openspiel\)"):
        counterpart(jaxgames.make(game))


def test_odd_number_of_games_is_refused() -> None:
    with pytest.raises(ValueError, match="games must be even"):
        match(Arguments(agent="random", env="dots_and_boxes", games=3))


def test_both_games_start_with_the_same_mover() -> None:
    env = jaxgames.make("dots_and_boxes(rows=2, cols=3)")
    game, _ = counterpart(env)
    state: pyspiel.State = game.new_initial_state()
    assert state.current_player() == int(start(env).current_player)
    assert len(state.legal_actions()) == env.num_actions
