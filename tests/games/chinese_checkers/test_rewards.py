"""The rewards of submoves and wins in each reward scheme."""

import functools
from typing import Any

import jax
import numpy as np
import pytest

from tests.games.chinese_checkers.pictures import PLAYERS, REWARDS, WIN_BY_HOP, WIN_BY_STEP, game, read
from tests.helpers.positions import legal, play

BONUSES = """
             .
            . .
      . . . . . . .
       . . . . . .
        . . 0 1 .
       . . 1 . 1 .
      . . . . 0 . .
            0 .
             .
"""


@jax.jit
def step_in_every_scheme(state: Any, action: Any) -> dict[str, Any]:
    return {reward: game(num_players=3, reward=reward).step(state, action) for reward in REWARDS}


@functools.cache
def paid(picture: str, submove: str) -> dict[str, np.ndarray]:
    """Returns the rewards of a legal submove of the first of three seats, in every scheme."""
    env = game(num_players=3)
    state = read(env, picture)
    assert submove in legal(env, state)
    after = jax.device_get(step_in_every_scheme(state, np.int32(env.action_from_string(state, submove))))
    assert len({(env.to_string(board), bool(board.terminated)) for board in after.values()}) == 1
    return {reward: board.rewards for reward, board in after.items()}


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize(
    ("submove", "entered", "forward"),
    [
        ("18->24", 0, 1),
        ("18=>29", 0, 1),
        ("18->17", 0, 0),
        ("18=>20", 0, 0),
        ("18->12", 0, -1),
        ("18->13", 0, -1),
        ("31=>20", 0, -1),
        ("31->35", 1, 1),
        ("34->29", -1, -1),
        ("34->35", 0, 0),
        ("34->36", 0, 1),
    ],
)
def test_submove_pays_the_bonuses_of_the_scheme(reward: str, submove: str, entered: int, forward: int) -> None:
    """0.1 for a peg that enters the goal, -0.1 for one that leaves it; 0.001 for a submove down, -0.001 for one up."""
    goal_bonus = 0.1 if reward in ("goal", "positive_sum") else 0
    movement_bonus = 0.001 if reward in ("movement", "positive_sum") else 0
    expected = [goal_bonus * entered + movement_bonus * forward, 0, 0]
    np.testing.assert_allclose(paid(BONUSES, submove)[reward], expected, atol=1e-7)


def test_end_of_a_turn_pays_nothing() -> None:
    env = game()
    assert play(env, read(env, BONUSES), "18=>29", "end").rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("seat", "forward", "backward"),
    [
        (0, (23, 24), (12, 13)),
        (1, (17, 23), (13, 19)),
        (2, (12, 17), (19, 24)),
        (3, (12, 13), (23, 24)),
        (4, (13, 19), (17, 23)),
        (5, (19, 24), (12, 17)),
    ],
)
def test_forward_is_away_from_the_seats_home(seat: int, forward: tuple[int, ...], backward: tuple[int, ...]) -> None:
    """A single peg in the centre: two of its neighbours lie towards its goal, two towards its home."""
    env = game(num_players=6)
    state = jax.device_get(env.from_string(f"./../......./....../..{seat}../....../......./../. {seat} - 0"))
    for neighbour in (12, 13, 17, 19, 23, 24):
        expected = np.zeros(6, np.float32)
        expected[seat] = 0.001 * ((neighbour in forward) - (neighbour in backward))
        np.testing.assert_allclose(play(env, state, f"18->{neighbour}").rewards, expected)


@pytest.mark.parametrize(
    ("reward", "winner", "loser"),
    [
        ("sparse", 10, -2),
        ("goal", 10.1, -2),
        ("movement", 10.001, -2),
        ("positive_sum", 10.101, 0),
        ("win_loss", 2, -1),
    ],
)
def test_winning_submove_pays_the_win_and_its_bonuses(reward: str, winner: float, loser: float) -> None:
    """Three seats on the board of size 2; the winner enters its goal with a submove down."""
    for picture, submove in [(WIN_BY_STEP, "29->34"), (WIN_BY_HOP, "24=>34")]:
        rewards = paid(picture, submove)[reward]
        np.testing.assert_allclose(rewards, [winner, loser, loser], rtol=1e-6)
        assert rewards.dtype == np.float32
    assert game(num_players=3, reward=reward).reward_range == pytest.approx((min(loser, -1), winner))


@pytest.mark.parametrize(
    ("reward", "lowest", "highest"),
    [
        ("sparse", -2, 10),
        ("goal", -2, 10 + 3 * 0.1),
        ("movement", -2 - 0.001 * 390, 10 + 0.001 * 390 + 0.001),
        ("positive_sum", -0.001 * 390, 10 + 3 * 0.1 + 0.001 * 390 + 0.001),
        ("win_loss", -1, 2),
    ],
)
def test_return_is_the_end_and_the_bonuses_of_all_submoves(reward: str, lowest: float, highest: float) -> None:
    """Three pegs can enter the goal, and each of at most 390 submoves may earn or cost a bonus."""
    env = game(num_players=3, reward=reward, max_rounds=10)
    assert env.max_steps == 10 * 3 * 13
    assert env.return_range == pytest.approx((lowest, highest))
    assert env.terminal_rewards == (reward in ("sparse", "win_loss"))


@pytest.mark.parametrize("num_players", PLAYERS)
def test_scheme_is_zero_sum_if_the_losers_pay_the_winner(num_players: int) -> None:
    """The winner of "sparse" gets 5N from the others at N each: with six seats that is all."""
    zero_sum = {reward for reward in REWARDS if game(num_players=num_players, reward=reward).zero_sum}
    assert zero_sum == ({"win_loss", "sparse"} if num_players == 6 else {"win_loss"})
