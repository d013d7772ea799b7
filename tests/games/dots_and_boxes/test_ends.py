"""The end of the game and what it pays in each reward scheme."""

import numpy as np
import pytest

from tests.games.dots_and_boxes.pictures import LAST_EDGE, MIDDLE, REWARDS, game, read
from tests.helpers.positions import LIVE, TERMINATED, is_over, legal, play

FIVE_OF_SIX = """
    *---*---*---*
    | 0 | 0 | 0 |
    *---*---*---*
    | 0 |       |
    *---*---*   *
"""


def test_game_ends_with_the_last_edge_and_the_seat_stays() -> None:
    env = game()
    state = read(env, LAST_EDGE)
    assert legal(env, state) == {"h(2,2)"}
    assert is_over(state) == LIVE
    state = play(env, state, "h(2,2)")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()
    assert int(state.current_player) == 0
    assert env.to_string(state) == "1" * 17 + " 101000 0"


@pytest.mark.parametrize(
    ("owners", "seat", "margin"),
    [("10100.", 0, 2), ("10100.", 1, 0), ("11111.", 1, -6), ("00000.", 0, 6), ("00000.", 1, 4), ("11100.", 0, 0)],
)
@pytest.mark.parametrize("reward", REWARDS)
def test_last_edge_pays_for_all_boxes(reward: str, owners: str, seat: int, margin: int) -> None:
    """Its drawer takes the last box before they are counted; only "boxes" pays for that box alone."""
    env = game(reward=reward)
    state = play(env, env.from_string(f"11111111011111111 {owners} {seat}"), "h(2,2)")
    expected = {"win_loss": np.sign(margin), "margin": margin, "boxes": 1 - 2 * seat}[reward]
    assert state.rewards.tolist() == [expected, -expected]
    assert state.rewards.dtype == np.float32


@pytest.mark.parametrize(("owner", "margin"), [(0, 256), (1, -254)])
def test_margin_counts_all_boxes_of_the_largest_board(owner: int, margin: int) -> None:
    """256 boxes are more than a byte holds."""
    env = game(16, 16, "margin")
    state = env.from_string(f"{'1' * 543}0 {str(owner) * 255}. 0")
    assert play(env, state, "v(15,16)").rewards.tolist() == [margin, -margin]


@pytest.mark.parametrize("reward", REWARDS)
def test_only_boxes_are_paid_before_the_end(reward: str) -> None:
    """Seat 0 takes the fifth box of six: it has won, but the game goes on."""
    env = game(reward=reward)
    state = play(env, read(env, FIVE_OF_SIX), "v(1,2)")
    assert is_over(state) == LIVE
    assert state.rewards.tolist() == ([1, -1] if reward == "boxes" else [0, 0])


@pytest.mark.parametrize("reward", REWARDS)
def test_edge_that_takes_no_box_pays_nothing(reward: str) -> None:
    env = game(reward=reward)
    assert play(env, read(env, MIDDLE), "h(0,2)").rewards.tolist() == [0, 0]
