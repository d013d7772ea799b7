"""One seat against an agent: whose submoves a step has, what it pays, and how games end for the seat."""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.interop.seat_play import SeatPlay, SeatState, against, games_by_id
from tests.helpers.positions import compiled, start
from tests.helpers.scripted_agents import OnHost, Taker
from tests.helpers.sticks import LuckySticks, ShortSticks, Sticks

STICKS = Sticks(sticks=6)  # three seats; the one that takes the last stick is paid 1 by each other seat
BOXES = jaxgames.make("dots_and_boxes(rows=1, cols=2, reward=boxes)")

reset = jax.jit(SeatPlay.reset)
step = jax.jit(SeatPlay.step)
look = jax.jit(SeatPlay.look)
KEY = jax.random.key(0)


def against_takers(seat: Any, taken: int = 1) -> SeatPlay:
    """A game of sticks in which the opponents take a fixed number."""
    return against(STICKS, seat, Taker(np.int32(taken)))


def seat_0_at(board: Any) -> SeatState:
    """Seat 0 to move on a board."""
    return SeatState(board, jnp.int32(0), jnp.float32(0))


# -- whose submoves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seat", "left"), [(0, 6), (1, 5), (2, 4)])
def test_opponents_play_until_the_turn_of_the_seat(seat: int, left: int) -> None:
    play = against_takers(seat)
    state = reset(play, KEY)
    assert (int(state.board.left), int(state.board.current_player)) == (left, seat)
    state, reward = step(play, KEY, state, 0)  # everyone takes one
    assert (int(state.board.left), int(state.board.current_player), float(reward)) == (left - 3, seat, 0)


def test_seat_that_moves_again_is_not_answered() -> None:
    """Two boxes, three edges left: h(0,0) completes the left box, so the same seat draws the next edge."""
    board = BOXES.from_string("0010111 .. 0")
    state, reward = step(against(BOXES, 0, "first"), KEY, seat_0_at(board), BOXES.action_from_string(board, "h(0,0)"))
    assert BOXES.to_string(jax.device_get(state.board)) == "1010111 0. 0"
    assert float(reward) == 1


def test_opponent_that_moves_again_plays_its_whole_turn() -> None:
    """After h(0,1) the opponent takes the left box with h(0,0), then the right one with h(1,1)."""
    board = BOXES.from_string("0010111 .. 0")
    state, reward = step(against(BOXES, 0, "first"), KEY, seat_0_at(board), BOXES.action_from_string(board, "h(0,1)"))
    assert bool(state.board.terminated)
    assert BOXES.to_string(jax.device_get(state.board)).split()[1] == "11"
    assert float(reward) == -2


def test_public_values_are_those_of_the_seat_after_the_end_too() -> None:
    play = against_takers(0, taken=3)
    state, _ = step(play, KEY, seat_0_at(STICKS.at(4, 0)), 0)
    seen = look(play, state)
    assert bool(seen.terminated)
    assert not bool(seen.truncated)
    assert not np.any(seen.action_mask)
    assert int(seen.seat) == 0
    np.testing.assert_array_equal(seen.observation, STICKS.observe(state.board, 0))


# -- rewards ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("action", "paid"), [(0, -1), (1, 2)])
def test_reward_has_what_the_own_submove_and_those_of_the_opponents_pay(action: int, paid: float) -> None:
    """Two sticks are left: after action 0 the next seat takes the last one."""
    state, reward = step(against_takers(0), KEY, seat_0_at(STICKS.at(2, 0)), action)
    assert bool(state.board.terminated)
    assert float(reward) == paid


@pytest.mark.parametrize("seat", [0, 1])
def test_rewards_of_a_game_add_up_to_the_return_of_the_seat(seat: int) -> None:
    """Against a slow reference: the game in plain Python, where every seat plays the first legal action."""
    play, rewards = against(BOXES, seat, "first"), list[float]()
    state = reset(play, KEY)
    while not state.board.terminated:
        state, reward = step(play, KEY, state, int(np.flatnonzero(look(play, state).action_mask)[0]))
        rewards.append(float(reward))
    assert sum(rewards) == returns_of_first_actions(BOXES)[seat]
    assert any(rewards)


@functools.cache
def returns_of_first_actions(env: Any) -> list[float]:
    board, returns = start(env), np.zeros(env.num_players)
    while not board.terminated:
        action = np.int32(np.flatnonzero(compiled(env).mask(board))[0])
        board = compiled(env).step(board, action)
        returns += np.asarray(board.rewards)
    return returns.tolist()


# -- ends ------------------------------------------------------------------------------------------------------------


def test_game_that_ends_before_the_seat_moves_pays_it_in_one_last_step() -> None:
    play = against_takers(2, taken=3)
    state = reset(play, KEY)
    assert bool(state.board.terminated)
    assert not np.any(look(play, state).action_mask)
    after, reward = step(play, KEY, state, 0)
    assert float(reward) == -1  # the seat has lost
    assert STICKS.to_string(after.board) == STICKS.to_string(state.board)
    assert float(step(play, KEY, after, 0)[1]) == 0  # and is paid once only


@pytest.mark.parametrize("action", [2, 3, -1])
def test_illegal_action_ends_the_game_and_pays_minus_one(action: int) -> None:
    state, reward = step(against_takers(0), KEY, seat_0_at(STICKS.at(2, 0)), action)
    assert bool(state.board.terminated)
    assert float(reward) == -1


def test_truncation_stays_apart_from_termination() -> None:
    play = against(ShortSticks(), 1, Taker(np.int32(1)))
    state, reward = step(play, KEY, reset(play, KEY), 0)
    assert (bool(state.board.truncated), bool(state.board.terminated), float(reward)) == (True, False, 0)
    assert int(state.board.left) == 4


# -- chance, seats and opponents -------------------------------------------------------------------------------------


def test_random_seats_and_the_play_of_random_opponents_differ_by_key() -> None:
    play = against(STICKS, "random", "random")
    states = jax.device_get(jax.jit(jax.vmap(play.reset))(jax.random.split(KEY, 300)))
    counts = np.bincount(states.seat, minlength=3)
    assert (counts > 70).all()  # 100 are expected; 70 is 3.7 standard deviations below
    over = states.board.terminated
    np.testing.assert_array_equal(states.board.current_player[~over], states.seat[~over])
    assert set(states.board.left[states.seat == 2].tolist()) == {0, 1, 2, 3, 4}  # 6 less what two opponents have taken


def test_game_of_chance_gets_keys() -> None:
    play = against(LuckySticks(), 1, "first")
    states = jax.jit(jax.vmap(play.reset))(jax.random.split(KEY, 64))
    assert set(np.asarray(states.board.left).tolist()) == {5, 6}  # at times a stick more is lost


def test_seats_and_arrays_of_opponents_share_one_program() -> None:
    """The seat and the opponent's arrays are arguments of the program, not constants."""
    traced = jax.jit(chex.assert_max_traces(SeatPlay.reset, n=1))
    left = [int(traced(against_takers(seat, taken), KEY).board.left) for seat in (1, 2) for taken in (1, 2, 3)]
    assert left == [5, 4, 3, 4, 2, 0]


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "opponent", "error", "message"),
    [
        (3, "random", ValueError, "seat must be an integer from 0 to 2, or 'random', not 3"),
        (True, "random", TypeError, "seat must be an integer"),
        ("first", "random", TypeError, "or 'random', not 'first'"),
        (0, "nobody", ValueError, "unknown agent 'nobody'; the agents are"),
        (0, 7, TypeError, "opponent must be an agent of jaxgames.agents or its text"),
        (0, OnHost(STICKS), ValueError, "runs on the host.*on_device = True.*gymnasium.SeatEnv, which takes any"),
    ],
)
def test_wrong_seat_or_opponent_is_refused(seat: Any, opponent: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        against(STICKS, seat, opponent)


def test_ids_of_games_have_their_words_joined_with_capitals() -> None:
    assert games_by_id()["jaxgames/ChineseCheckersDiamond-v0"] == "chinese_checkers_diamond"
    assert list(games_by_id().values()) == jaxgames.list_games()
