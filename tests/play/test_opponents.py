"""Opponents by default, advisers, and chances to win."""

from typing import Any

import pytest

from jaxgames import make
from jaxgames.play.opponents import adviser, default_agent, default_seats, reviewer, win_chance
from tests.helpers.sticks import Sticks


@pytest.mark.parametrize(
    ("game", "agent"),
    [
        ("checkers", "baseline"),
        ("minichess", "baseline"),
        ("minichess(rules=king_capture)", "alphabeta"),
        ("dots_and_boxes(rows=2, cols=3)", "alphabeta"),
        ("dots_and_boxes(rows=9, cols=2)", "greedy"),
        ("chinese_checkers", "baseline"),
        ("chinese_checkers(size=2, num_players=3)", "greedy"),
        ("chinese_checkers_diamond(size=5, pieces=6)", "greedy"),
    ],
)
def test_default_agent_is_the_baseline_else_alphabeta_else_greedy(game: str, agent: str) -> None:
    assert default_agent(make(game)) == agent


def test_a_game_of_ones_own_is_played_by_a_tree_search_never_by_random() -> None:
    assert default_seats(Sticks(num_players=3), human_seat=1) == [
        "mcts(simulations=100)",
        "human",
        "mcts(simulations=100)",
    ]


@pytest.mark.parametrize(
    "game", ["checkers", "minichess", "dots_and_boxes", "chinese_checkers_diamond", "chinese_checkers(num_players=2)"]
)
def test_every_game_has_an_adviser(game: str) -> None:
    assert adviser(make(game)) not in (None, "random")


@pytest.mark.parametrize(
    ("env", "value", "chance"),
    [
        (make("checkers"), 1.0, 1.0),
        (make("checkers"), -1.0, 0.0),
        (make("checkers"), 0.24, 0.62),
        (make("checkers"), 1.2, 1.0),
        (make("chinese_checkers(size=2, num_players=3, reward=win_loss)"), 0.0, 1 / 3),
        (make("chinese_checkers(size=2, num_players=3)"), 5.0, 0.5),
        (make("chinese_checkers(size=2, num_players=3, reward=sparse)"), -2.0, 0.0),
        (make("minichess(reward=material)"), 0.5, None),
        (make("dots_and_boxes(reward=margin)"), 2.0, None),
        (Sticks(num_players=3), 2.0, None),  # it does not say that it pays at the end only
    ],
    ids=str,
)
def test_chance_to_win_follows_the_returns_of_a_loss_and_a_win(env: Any, value: float, chance: float | None) -> None:
    assert win_chance(env, value) == (None if chance is None else pytest.approx(chance))


@pytest.mark.parametrize(
    ("game", "agent"),
    [
        ("checkers", "alphabeta"),
        ("minichess", "alphabeta"),
        ("dots_and_boxes", "alphabeta"),
        ("chinese_checkers_diamond", "baseline"),
        ("chinese_checkers(size=2, num_players=3)", "mcts(simulations=200, playout='greedy')"),
        *((f"chinese_checkers(size={size})", "mcts(simulations=200, playout='greedy')") for size in (3, 4)),
        ("minichess(reward=material)", None),
    ],
)
def test_agent_that_reviews_has_values(game: str, agent: str | None) -> None:
    assert reviewer(make(game)) == agent
