"""One seat against an agent on the host: for the same keys, the same games as on the device."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames.interop.seat_play import HostSeatPlay, SeatPlay, against, reset_episode, step_episode
from tests.helpers.scripted_agents import OnHost, TakerOnHost
from tests.helpers.sticks import LuckySticks, Sticks

STICKS = Sticks(sticks=6)  # three seats; the one that takes the last stick is paid 1 by each other seat
BOXES = jaxgames.make("dots_and_boxes(rows=1, cols=2, reward=boxes)")


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


@pytest.mark.parametrize(
    ("env", "seat", "opponent", "seeds"),
    [
        pytest.param(BOXES, 1, "first", 4, marks=pytest.mark.slow),
        (ShortLuckySticks(), "random", "random", 16),
    ],
    ids=["a seat that completes a box moves again", "chance, truncation, random seats"],
)
def test_games_are_those_of_the_device_step_by_step(env: Any, seat: Any, opponent: str, seeds: int) -> None:
    """The step after the end is compared too. It pays only a seat that has not moved."""
    play = against(env, seat, opponent)
    on_host = HostSeatPlay(env, np.int32(play.seat), play.opponent)
    seen: set[str] = set()
    for seed in range(seeds):
        expected, found = list(episode(play, seed)), list(episode(on_host, seed))
        assert repr(found) == repr(expected)
        end = expected[-2]
        seen |= {f"seat {end['seat']}", "terminated" if end["terminated"] else "truncated"}
        seen |= {"over before the seat moves"} if len(expected) == 2 else set()
        seen |= {"paid after the end"} if expected[-1]["reward"] else set()
    if seat == "random":
        assert {"seat 0", "seat 1", "seat 2", "terminated", "truncated"} < seen
        assert {"over before the seat moves", "paid after the end"} < seen


def test_agent_on_the_host_is_played_on_the_host() -> None:
    assert type(against(STICKS, 0, "first", on_host=True)) is SeatPlay
    play = against(STICKS, 2, TakerOnHost(2), on_host=True)
    assert type(play) is HostSeatPlay
    board: Any = play.reset(jax.random.key(0)).board
    assert (int(board.left), int(board.current_player)) == (2, 2)
    with pytest.raises(ValueError, match=r"TakerOnHost.act must return one integer per board.* not float64\[1\]"):
        against(STICKS, 1, TakerOnHost(1.5), on_host=True).reset(jax.random.key(0))


def test_wrong_seat_is_refused() -> None:
    with pytest.raises(ValueError, match="seat must be an integer from 0 to 2, or 'random', not 3"):
        against(STICKS, 3, OnHost(STICKS), on_host=True)
