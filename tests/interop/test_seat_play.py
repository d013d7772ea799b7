"""One seat against an agent: seats and opponents that are drawn, the end before the seat moves, agents on the host."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import chex
import jax
import numpy as np
import pytest

from jaxgames.interop.seat_play import HostSeatPlay, SeatPlay, against, reset_episode, step_episode
from tests.helpers.scripted_agents import OnHost, Taker, TakerOnHost
from tests.helpers.sticks import LuckySticks, Sticks

STICKS = Sticks(sticks=6)  # three seats; the one that takes the last stick is paid 1 by each other seat
KEY = jax.random.key(0)


def against_takers(seat: Any, taken: int = 1) -> SeatPlay:
    """A game of sticks in which the opponents take a fixed number."""
    return against(STICKS, seat, Taker(np.int32(taken)))


# -- on the device: test_adapters.py shows whole games ---------------------------------------------------------------


def test_game_that_ends_before_the_seat_moves_pays_it_in_one_last_step() -> None:
    play, step = against_takers(2, taken=3), jax.jit(SeatPlay.step)
    state = jax.jit(SeatPlay.reset)(play, KEY)
    assert bool(state.board.terminated)
    assert not np.any(play.look(state).action_mask)
    after, reward = step(play, KEY, state, 0)
    assert float(reward) == -1  # the seat has lost
    assert STICKS.to_string(after.board) == STICKS.to_string(state.board)
    assert float(step(play, KEY, after, 0)[1]) == 0  # and is paid once only


def test_random_seats_and_the_play_of_random_opponents_differ_by_key() -> None:
    play = against(STICKS, "random", "random")
    states = jax.device_get(jax.jit(jax.vmap(play.reset))(jax.random.split(KEY, 300)))
    counts = np.bincount(states.seat, minlength=3)
    assert (counts > 70).all()  # 100 are expected; 70 is 3.7 standard deviations below
    over = states.board.terminated
    np.testing.assert_array_equal(states.board.current_player[~over], states.seat[~over])
    assert set(states.board.left[states.seat == 2].tolist()) == {0, 1, 2, 3, 4}  # 6 less what two opponents have taken


def test_seats_and_arrays_of_opponents_share_one_program() -> None:
    """The seat and the opponent's arrays are arguments of the program, not constants."""
    traced = jax.jit(chex.assert_max_traces(SeatPlay.reset, n=1))
    left = [int(traced(against_takers(seat, taken), KEY).board.left) for seat in (1, 2) for taken in (1, 2, 3)]
    assert left == [5, 4, 3, 4, 2, 0]


# -- on the host -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShortLuckySticks(LuckySticks):
    """A game of chance for three seats that is cut off when one stick is left."""

    def _step(self, state: Any, action: jax.Array, key: jax.Array | None) -> Any:
        after = super()._step(state, action, key)
        return dataclasses.replace(after, truncated=after.left == 1)


compiled_look, compiled_reset, compiled_step = jax.jit(SeatPlay.look), jax.jit(reset_episode), jax.jit(step_episode)


def episode(play: SeatPlay, seed: int) -> Iterator[dict[str, Any]]:
    """Yields what the seat sees and is paid, step by step; it plays random actions, and now and then an illegal one."""
    host = isinstance(play, HostSeatPlay)
    reset, step, look = (reset_episode, step_episode, play.look) if host else (compiled_reset, compiled_step, None)
    rng, game, reward, last = np.random.default_rng(seed), reset(play, jax.random.key(seed)), 0.0, False
    while True:
        seen = look(game.state) if look else compiled_look(play, game.state)
        yield {**jax.tree.map(np.asarray, seen._asdict()), "reward": float(reward)}
        if last:
            return
        last = bool(seen.terminated | seen.truncated)
        legal = np.flatnonzero(seen.action_mask)
        action = int(rng.choice(legal)) if legal.size and rng.random() < 0.95 else play.env.num_actions
        game, reward = step(play, game, action)


def test_games_are_those_of_the_device_step_by_step() -> None:
    """With chance, truncation and random seats.

    The step after the end is compared too. It pays only a seat that has not moved.
    """
    play = against(ShortLuckySticks(), "random", "random")
    on_host = HostSeatPlay(play.env, np.int32(play.seat), play.opponent)
    seen: set[str] = set()
    for seed in range(16):
        expected, found = list(episode(play, seed)), list(episode(on_host, seed))
        assert repr(found) == repr(expected)
        end = expected[-2]
        seen |= {f"seat {end['seat']}", "terminated" if end["terminated"] else "truncated"}
        seen |= {"over before the seat moves"} if len(expected) == 2 else set()
        seen |= {"paid after the end"} if expected[-1]["reward"] else set()
    assert {"seat 0", "seat 1", "seat 2", "terminated", "truncated"} < seen
    assert {"over before the seat moves", "paid after the end"} < seen


def test_agent_on_the_host_is_played_on_the_host() -> None:
    assert type(against(STICKS, 0, "first", on_host=True)) is SeatPlay
    play = against(STICKS, 2, TakerOnHost(2), on_host=True)
    assert type(play) is HostSeatPlay
    board: Any = play.reset(KEY).board
    assert (int(board.left), int(board.current_player)) == (2, 2)
    with pytest.raises(ValueError, match=r"TakerOnHost.act must return one integer per board.* not float64\[1\]"):
        against(STICKS, 1, TakerOnHost(1.5), on_host=True).reset(KEY)


# -- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seat", "opponent", "error", "message"),
    [
        (3, "random", ValueError, "seat must be an integer from 0 to 2, or 'random', not 3"),
        (True, "random", TypeError, "seat must be an integer"),
        (0, "nobody", ValueError, "unknown agent 'nobody'; the agents are"),
        (0, 7, ValueError, "'opponent' must make an agent, with .* not 7"),
        (0, OnHost(STICKS), ValueError, "runs on the host.*on_device = True.*gymnasium.SeatEnv, which takes any"),
    ],
)
def test_wrong_seat_or_opponent_is_refused(seat: Any, opponent: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        against(STICKS, seat, opponent)
