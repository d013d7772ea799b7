"""Games with an agent on the host: one by one or side by side, each agent asked only at its own turns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

from jaxgames.agents import pytree
from jaxgames.arena.playing import SIDE_BY_SIDE
from tests.arena.test_playing import ALL_SEATS, ONE, RANDOM, THREE, TWO, CountedTaker, played, same


class HostTaker:
    """Takes one stick, by numpy, and keeps the boards that it was asked about."""

    on_device: ClassVar[bool] = False

    def __init__(self) -> None:
        self.movers: list[list[int]] = []

    def act(self, key: jax.Array, states: Any) -> Any:
        self.movers.append(np.asarray(states.current_player).tolist())
        return np.zeros(np.asarray(states.left).shape, np.int32)


class LeftBefore(HostTaker):
    """A taker of one stick that keeps the numbers of sticks that it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[int] = []

    def act(self, key: jax.Array, states: Any) -> Any:
        self.left.append(int(states.left[0]))
        return super().act(key, states)


class Answer:
    """Returns always the same."""

    on_device: ClassVar[bool] = False

    def __init__(self, action: Any) -> None:
        self.action = action

    def act(self, key: jax.Array, states: Any) -> Any:
        return self.action


def test_games_with_an_agent_on_the_host_are_those_of_the_same_agents_on_the_device() -> None:
    games, at_once = (played(one, TWO, THREE, seats=ALL_SEATS) for one in (HostTaker(), ONE))
    boards: list[Any] = [games.boards, at_once.boards]
    for name in ("length", "turns", "returns", "last_mover", "over", "forfeited"):
        assert same(getattr(games, name), getattr(at_once, name)), name
    assert same(boards[0].left, boards[1].left)


def test_games_without_an_agent_on_the_device_are_played_one_by_one() -> None:
    """An agent may follow a game from move to move."""
    agent = LeftBefore()
    played(agent, seats=[[0, 0, 0]] * 3)
    assert agent.left == [7, 6, 5, 4, 3, 2, 1] * 3


def test_games_with_an_agent_on_the_device_are_in_progress_side_by_side() -> None:
    agent = LeftBefore()
    played(agent, ONE, seats=[[0, 1, 1]] * (SIDE_BY_SIDE + 1))
    together = [7] * SIDE_BY_SIDE + [4] * SIDE_BY_SIDE + [1] * SIDE_BY_SIDE
    assert agent.left == [*together, 7, 4, 1]


def test_agent_is_asked_about_one_board_at_its_own_turns_only() -> None:
    """Seats 0, 1, 2 take 2, 1, 3 sticks of seven, and then seat 0 the last one."""
    on_seat_1, on_seat_2 = HostTaker(), HostTaker()
    games = played(TWO, on_seat_1, THREE, on_seat_2, seats=[[0, 1, 2]] * 2)
    assert games.length.tolist() == [4, 4]
    assert on_seat_1.movers == [[1]] * 2
    assert on_seat_2.movers == []


def test_agent_on_the_device_is_compiled_once_for_all_games() -> None:
    @pytree
    @dataclass(frozen=True)
    class NewTaker(CountedTaker):
        traces: ClassVar[list[int]] = []

    agents = HostTaker(), NewTaker(np.int32(2)), NewTaker(np.int32(3))
    played(*agents, seats=[[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert len(NewTaker.traces) == 1


@pytest.mark.parametrize("action", [-1, 3, 9])
def test_illegal_action_of_an_agent_on_the_host_forfeits_the_game(action: int) -> None:
    games = played(Answer(np.array([action])), RANDOM, seats=[[0, 1, 1]])
    assert games.forfeited.tolist() == [True]
    assert games.returns.tolist() == [[-1, 0.5, 0.5]]


@pytest.mark.parametrize("action", [0, np.zeros(2, np.int32), np.zeros(1, np.float32), np.zeros((1, 1), np.int32)])
def test_agent_that_does_not_return_one_integer_is_named(action: Any) -> None:
    with pytest.raises(ValueError, match=r"Answer.act must return one integer per board, int32\[1\] for one board"):
        played(Answer(action), RANDOM, seats=[[0, 1, 1]])
