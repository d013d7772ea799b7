"""OpenSpiel's own tests and algorithms on games of jaxgames, beside its own game of Dots and Boxes."""

from typing import Any

import pyspiel
import pytest
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import exploitability, minimax

from tests.interop.openspiel.openspiel_games import ALL_SMALL, TINY, load


def theirs(rows: int, cols: int) -> Any:
    """OpenSpiel's game of the same board."""
    return pyspiel.load_game("dots_and_boxes", {"num_rows": rows, "num_cols": cols, "utility_margin": False})


@pytest.mark.parametrize("text", [TINY, *(pytest.param(text, marks=pytest.mark.slow) for text in ALL_SMALL)])
def test_random_simulations_of_openspiel_pass(text: str) -> None:
    """With states that are written and read after every action."""
    pyspiel.random_sim_test(load(text), 3, True, False)


def test_alpha_beta_search_finds_the_value_of_the_own_game_of_openspiel() -> None:
    """Two boxes with one edge drawn: the same value and the same best edge."""
    states = [game.new_initial_state().child(0) for game in (load(TINY), theirs(1, 2))]
    found = [minimax.alpha_beta_search(state.get_game(), state, maximizing_player_id=1) for state in states]
    assert found[0] == found[1]


def test_exploitability_of_uniform_play_is_that_of_the_own_game_of_openspiel() -> None:
    games = [load("dots_and_boxes(rows=1,cols=1)"), theirs(1, 1)]
    ours, expected = (exploitability.exploitability(game, policy.UniformRandomPolicy(game)) for game in games)
    assert ours == pytest.approx(expected)


def test_rl_environment_pays_the_rewards_of_the_scheme() -> None:
    """Seat 0 draws the last edge of the first box, is paid at once, and moves again."""
    load(TINY)
    env = rl_environment.Environment("jaxgames_dots_and_boxes", rows=1, cols=2, reward="boxes")
    step = env.reset()
    assert len(step.observations["info_state"][0]) == env.observation_spec()["info_state"][0] == 3 * 5 * 3
    for edge in (0, 1, 2, 3, 4):  # h(0,0), h(0,1), h(1,0), h(1,1), v(0,0)
        step = env.step([edge])
    assert (step.current_player(), step.rewards) == (1, [0, 0])
    step = env.step([5])  # the edge between the boxes completes the left one
    assert (step.current_player(), step.rewards) == (1, [-1, 1])
    step = env.step([6])
    assert (step.last(), step.rewards) == (True, [-1, 1])
