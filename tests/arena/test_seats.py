"""Seats of the agents: fixed, alternating, drawn."""

import itertools
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames import arena

KEY = jax.random.key(0)


def test_fixed_seat_is_agent_0_in_every_game() -> None:
    assert arena.one_seat(KEY, 50, 3, 1).tolist() == [[1, 0, 1]] * 50
    with pytest.raises(ValueError, match="seat must be from 0 to 2, not 3"):
        arena.one_seat(KEY, 50, 3, 3)


def test_drawn_seat_is_each_seat_equally_often() -> None:
    agent_of_seat = np.asarray(arena.one_seat(KEY, 3000, 3))
    assert ((agent_of_seat == 0).sum(1) == 1).all()
    assert ((agent_of_seat == 1).sum(1) == 2).all()
    assert (np.abs((agent_of_seat == 0).mean(0) - 1 / 3) < 0.045).all()  # five standard deviations


@pytest.mark.parametrize(("seats", "num_games"), [((2, 2, 2), 12), ((1, 5), 12), ((1, 1), 4)])
def test_alternating_seating_rotates_so_that_every_agent_has_every_seat_equally_often(
    seats: tuple[int, ...], num_games: int
) -> None:
    agent_of_seat = np.asarray(arena.seating(seats, "alternating", num_games))
    num_players = sum(seats)
    assert agent_of_seat[0].tolist() == [agent for agent, count in enumerate(seats) for _ in range(count)]
    for before, after in itertools.pairwise(agent_of_seat):
        assert after.tolist() == [before[-1], *before[:-1]]
    for agent, count in enumerate(seats):
        on_each_seat = (agent_of_seat == agent).sum(0)
        assert on_each_seat.tolist() == [num_games * count // num_players] * num_players


def test_fixed_seating_gives_the_first_seats_to_the_first_agent() -> None:
    assert arena.seating((2, 1), "fixed", 3).tolist() == [[0, 0, 1]] * 3


@pytest.mark.parametrize("seats", [(2, 2, 2), (2, 2, 1, 1), (1, 3)])
def test_drawn_seating_is_at_uniform_places(seats: tuple[int, ...]) -> None:
    agent_of_seat = np.asarray(arena.seating(seats, "drawn", 2000, KEY))
    for agent, count in enumerate(seats):
        assert ((agent_of_seat == agent).sum(1) == count).all()
        assert (np.abs((agent_of_seat == agent).mean(0) - count / sum(seats)) < 0.056).all()  # five deviations


@pytest.mark.parametrize(
    ("seats", "how", "message"),
    [
        ((2, 0), "fixed", "every agent needs at least one seat, not 2 0"),
        ((), "fixed", "every agent needs at least one seat, not none"),
        ((1, 1), "shuffled", "how must be one of 'fixed', 'alternating', 'drawn', not 'shuffled'"),
        ((1, 1), "drawn", "a drawn seating needs a key"),
    ],
)
def test_wrong_seating_is_refused(seats: Any, how: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arena.seating(seats, how, 2)
