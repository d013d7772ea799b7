"""Games between agents, on the device and on the host: every seat is played by its agent, at its own turns only."""

import functools
import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import arena
from jaxgames.agents import RandomAgent, pytree
from jaxgames.arena import Games, playing
from jaxgames.arena.playing import SIDE_BY_SIDE
from tests.helpers.scripted_agents import HostAgent, Taker, TakerOnHost
from tests.helpers.sticks import Sticks

STICKS = Sticks()  # three seats take 1, 2 or 3 of 7 sticks; the seat that takes the last one wins 2
KEY = jax.random.key(0)

winners: Any = jax.jit(arena.winners, static_argnums=0)


@pytree
@dataclass(frozen=True)
class CountedTaker(Taker):
    """Counts how often it is traced."""

    traces: ClassVar[list[int]] = []

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        self.traces.append(1)
        return super().act(key, states)


ONE, TWO, THREE = (CountedTaker(np.int32(sticks)) for sticks in (1, 2, 3))
RANDOM = RandomAgent(STICKS)
ALL_SEATS = list(itertools.product(range(3), repeat=3))  # all 27 ways to seat three agents


def played(*agents: Any, seats: Any, key: jax.Array = KEY, **options: Any) -> Games:
    """Whole games, on the host."""
    return jax.device_get(arena.play(STICKS, agents, jnp.array(seats), key, **options))


def same(a: Any, b: Any) -> bool:
    return jax.tree.all(jax.tree.map(np.array_equal, *jax.device_get((a, b))))


# -- who plays -----------------------------------------------------------------------------------------------------


def reference(takes: tuple[int, int, int]) -> dict[str, Any]:
    """A game of sticks in which seat s takes takes[s] sticks, or all that are left."""
    left, length, turns, seat = 7, 0, [0, 0, 0], 0
    while left:
        seat = length % 3
        left -= min(takes[seat], left)
        length, turns[seat] = length + 1, turns[seat] + 1
    returns = [2 if other == seat else -1 for other in range(3)]
    return {"winner": seat, "length": length, "turns": turns, "returns": returns}


@pytest.mark.parametrize("on_host", [False, True])
def test_each_seat_is_played_by_its_agent_and_progress_reports_every_game_once(on_host: bool) -> None:
    finished: list[int] = []
    games = played(HostTaker() if on_host else ONE, TWO, THREE, seats=ALL_SEATS, on_finished=finished.append)
    assert sum(finished) == 27
    expected = [reference((a + 1, b + 1, c + 1)) for a, b, c in ALL_SEATS]
    for name in ("length", "turns", "returns"):
        np.testing.assert_array_equal(getattr(games, name), [game[name] for game in expected])
    won = [np.flatnonzero(row).tolist() for row in np.asarray(winners(STICKS, games))]
    assert won == [[game["winner"]] for game in expected]
    assert {game["winner"] for game in expected} == {0, 1, 2}


# -- playing on ----------------------------------------------------------------------------------------------------

ALL_RANDOM: Any = np.zeros((40, 3), np.int32)


def test_play_is_a_function_of_its_key_and_no_slice_repeats_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = (played(RANDOM, seats=ALL_RANDOM) for _ in range(2))
    assert same(first, again)
    other = played(RANDOM, seats=ALL_RANDOM, key=jax.random.key(1))
    assert not same(first.length, other.length)
    recorded: list[Any] = []
    monkeypatch.setattr(playing, "STEPS_PER_SLICE", 1)
    played(RANDOM, seats=ALL_RANDOM, on_recorded=recorded.append)
    assert not same(recorded[0].actions[:, 0], recorded[0].actions[:, 1])  # each was drawn from three


def test_slices_have_at_most_max_steps_and_add_up_to_whole_games() -> None:
    advance_until_over: Any = jax.jit(functools.partial(arena.advance_until_over, STICKS, max_steps=2))
    agents, agent_of_seat, games = (ONE, TWO, THREE), jnp.array(ALL_SEATS), arena.start(STICKS, KEY, 27)
    lengths: list[int] = []
    while not games.over.all():
        games = advance_until_over(agents, agent_of_seat, games, KEY)
        lengths.append(int(games.length.max()))
    assert lengths == [2, 4, 6, 7]
    assert same(games, played(*agents, seats=ALL_SEATS))


def test_game_that_is_over_stays_as_it_is() -> None:
    over: Any = played(RANDOM, seats=ALL_RANDOM)
    after: Any = jax.jit(arena.advance, static_argnums=0)(STICKS, (RANDOM,), ALL_RANDOM, over, KEY)[0]
    assert (after.boards.rewards == 0).all()
    for name in ("length", "turns", "returns", "last_mover", "over", "forfeited"):
        assert same(getattr(after, name), getattr(over, name)), name
    assert same(after.boards.left, over.boards.left)


# -- agents --------------------------------------------------------------------------------------------------------


def test_agents_that_differ_only_in_their_arrays_share_a_program_of_all_games() -> None:
    """On the device, and beside an agent on the host."""
    for others in ([ONE], [HostTaker()]):
        traces = list[int]()
        for agents in ((*others, TWO, THREE), (*others, THREE, TWO)):
            played(*agents, seats=[[0, 1, 2], [1, 0, 1], [2, 1, 0]])
            traces.append(len(CountedTaker.traces))
        assert traces[0] == traces[1]


@pytree
@dataclass(frozen=True)
class Constant:
    """Plays one action, legal or not."""

    on_device: ClassVar[bool] = True
    action: Any  # int32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return jnp.full(states.current_player.shape, self.action)


@pytest.mark.parametrize("action", [-1, 1])
def test_forfeited_game_has_no_winner_and_is_not_drawn(action: int) -> None:
    """One stick is left when seat 2 plays an action that is out of range, or takes two sticks."""
    seats = jnp.array([[0, 0, 1]])
    games = played(THREE, Constant(np.int32(action)), seats=seats)
    assert games.forfeited.tolist() == games.over.tolist() == [True]
    assert games.returns.tolist() == [[0.5, 0.5, -1]]
    for number in (0, 1):
        found = arena.summary(STICKS, games, seats, number)
        assert (found["win_rate"], found["draw_rate"], found["truncated_rate"]) == (0, 0, 0)


def test_single_steps_that_are_not_traced_take_agents_on_the_host() -> None:
    games = arena.start(STICKS, KEY, 1)
    games, actions = arena.advance(STICKS, (TakerOnHost(2),), jnp.zeros((1, 3), jnp.int32), games, KEY)
    boards: Any = games.boards
    assert (actions.tolist(), boards.left.tolist()) == ([1], [5])


# -- agents on the host -------------------------------------------------------------------------------------------


class HostTaker:
    """Takes one stick, by numpy, and keeps the movers, the numbers of sticks and the keys that it was asked with."""

    on_device: ClassVar[bool] = False

    def __init__(self) -> None:
        self.movers: list[list[int]] = []
        self.left: list[int] = []
        self.keys: list[bytes] = []

    def act(self, key: jax.Array, states: Any) -> Any:
        self.keys.append(np.asarray(jax.random.key_data(key)).tobytes())
        self.movers.append(np.asarray(states.current_player).tolist())
        self.left.append(int(states.left[0]))
        return np.zeros(np.asarray(states.left).shape, np.int32)


def test_games_without_an_agent_on_the_device_are_played_one_by_one() -> None:
    """An agent may follow a game from move to move."""
    agent = HostTaker()
    played(agent, seats=[[0, 0, 0]] * 3)
    assert agent.left == [7, 6, 5, 4, 3, 2, 1] * 3


def test_games_with_an_agent_on_the_device_are_in_progress_side_by_side_each_with_its_own_keys() -> None:
    """An agent is asked about one board, at its own turns only: one that has no seat never."""
    agent, unseated = HostTaker(), HostTaker()
    played(agent, ONE, unseated, seats=[[0, 1, 1]] * (SIDE_BY_SIDE + 1))
    together = [7] * SIDE_BY_SIDE + [4] * SIDE_BY_SIDE + [1] * SIDE_BY_SIDE
    assert agent.left == [*together, 7, 4, 1]
    assert agent.movers == [[0]] * len(agent.left)
    assert len({*agent.keys}) == len(agent.keys)
    assert unseated.movers == []


def test_illegal_action_of_an_agent_on_the_host_forfeits_the_game() -> None:
    games = played(HostAgent(lambda key, states: np.array([3])), RANDOM, seats=[[0, 1, 1]])
    assert games.forfeited.tolist() == [True]
    assert games.returns.tolist() == [[-1, 0.5, 0.5]]


# -- evaluation ----------------------------------------------------------------------------------------------------


def win_probability(takes: int, seat: int, left: int = 7, mover: int = 0) -> float:
    """Probability that a taker on `seat` wins against random players, over the whole tree of the game."""
    if left == 0:
        return float((mover - 1) % 3 == seat)
    choices = [min(takes, left)] if mover == seat else range(1, min(3, left) + 1)
    after = [win_probability(takes, seat, left - sticks, (mover + 1) % 3) for sticks in choices]
    return sum(after) / len(after)


def test_evaluate_finds_the_probability_of_a_win_against_random_players() -> None:
    """For two takers at once: it can be vmapped over the parameters of an agent."""
    num_games, takers = 2000, Taker(np.array([1, 3]))
    found: Any = jax.jit(jax.vmap(lambda taker: arena.evaluate(STICKS, taker, RANDOM, KEY, num_games)))(takers)
    for number, takes in enumerate((1, 3)):
        exact = np.mean([win_probability(takes, seat) for seat in range(3)])
        assert abs(found["win_rate"][number] - exact) < 5 * np.sqrt(exact * (1 - exact) / num_games)
    np.testing.assert_allclose(found["mean_reward"], 3 * found["win_rate"] - 1, rtol=1e-5)


# -- seats ---------------------------------------------------------------------------------------------------------


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


def test_fixed_seats_go_to_the_first_agents() -> None:
    assert arena.seating((2, 1), "fixed", 3).tolist() == [[0, 0, 1]] * 3
    assert arena.one_seat(KEY, 50, 3, 1).tolist() == [[1, 0, 1]] * 50


@pytest.mark.parametrize("seats", [(2, 2, 2), (2, 2, 1, 1), (1, 2)])
def test_drawn_seats_are_uniform_places(seats: tuple[int, ...]) -> None:
    drawn = [arena.seating(seats, "drawn", 3000, KEY), *([arena.one_seat(KEY, 3000, 3)] if seats == (1, 2) else [])]
    for agent_of_seat in map(np.asarray, drawn):
        for agent, count in enumerate(seats):
            assert ((agent_of_seat == agent).sum(1) == count).all()
            assert (np.abs((agent_of_seat == agent).mean(0) - count / sum(seats)) < 0.046).all()  # five deviations
