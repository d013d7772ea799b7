"""Games between agents on the device: they end, every seat is played by its agent, and one program plays them."""

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
from jaxgames.arena import Games
from tests.helpers.scripted_agents import Taker, TakerOnHost
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


def test_each_seat_is_played_by_its_agent() -> None:
    games = played(ONE, TWO, THREE, seats=ALL_SEATS)
    expected = [reference((a + 1, b + 1, c + 1)) for a, b, c in ALL_SEATS]
    for name in ("length", "turns", "returns"):
        np.testing.assert_array_equal(getattr(games, name), [game[name] for game in expected])
    won = [np.flatnonzero(row).tolist() for row in np.asarray(winners(STICKS, games))]
    assert won == [[game["winner"]] for game in expected]
    assert {game["winner"] for game in expected} == {0, 1, 2}


# -- playing on ----------------------------------------------------------------------------------------------------

ALL_RANDOM: Any = np.zeros((40, 3), np.int32)


def test_play_is_a_function_of_its_key() -> None:
    first, again = (played(RANDOM, seats=ALL_RANDOM) for _ in range(2))
    assert same(first, again)
    other = played(RANDOM, seats=ALL_RANDOM, key=jax.random.key(1))
    assert not same(first.length, other.length)


def test_slices_have_at_most_max_steps_and_add_up_to_whole_games() -> None:
    advance_until_over: Any = jax.jit(functools.partial(arena.advance_until_over, STICKS, max_steps=2))
    agents, agent_of_seat, games = (ONE, TWO, THREE), jnp.array(ALL_SEATS), arena.start(STICKS, KEY, 27)
    lengths: list[int] = []
    while not games.over.all():
        games = advance_until_over(agents, agent_of_seat, games, KEY)
        lengths.append(int(games.length.max()))
    assert lengths == [2, 4, 6, 7]
    assert same(games, played(*agents, seats=ALL_SEATS))


def test_progress_reports_every_game_once() -> None:
    finished: list[int] = []
    played(ONE, TWO, THREE, seats=ALL_SEATS, on_finished=finished.append)
    assert sum(finished) == 27


def test_game_that_is_over_stays_as_it_is() -> None:
    over: Any = played(RANDOM, seats=ALL_RANDOM)
    after: Any = jax.jit(arena.advance, static_argnums=0)(STICKS, (RANDOM,), ALL_RANDOM, over, KEY)[0]
    assert (after.boards.rewards == 0).all()
    for name in ("length", "turns", "returns", "last_mover", "over", "forfeited"):
        assert same(getattr(after, name), getattr(over, name)), name
    assert same(after.boards.left, over.boards.left)


# -- agents --------------------------------------------------------------------------------------------------------


def test_agents_that_differ_only_in_their_arrays_share_a_program() -> None:
    played(ONE, TWO, THREE, seats=ALL_SEATS)
    traces = len(CountedTaker.traces)
    assert played(THREE, TWO, ONE, seats=ALL_SEATS).length[0] == 3
    assert len(CountedTaker.traces) == traces


@pytree
@dataclass(frozen=True)
class Constant:
    """Plays one action, legal or not."""

    on_device: ClassVar[bool] = True
    action: Any  # int32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return jnp.full(states.current_player.shape, self.action)


@pytest.mark.parametrize("action", [-1, 1, 3])
def test_forfeited_game_has_no_winner_and_is_not_drawn(action: int) -> None:
    """One stick is left when seat 2 plays an action that is out of range, or takes two sticks."""
    seats = jnp.array([[0, 0, 1]])
    games = played(THREE, Constant(np.int32(action)), seats=seats)
    assert games.forfeited.tolist() == games.over.tolist() == [True]
    assert games.returns.tolist() == [[0.5, 0.5, -1]]
    for number in (0, 1):
        found = arena.summary(STICKS, games, seats, number)
        assert (found["win_rate"], found["draw_rate"], found["truncated_rate"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("seats", "message"),
    [
        ([[0, 0, 2]], "must hold indices of the 2 agents, not 0 to 2"),
        ([[0, 1]], r"must have shape \[games, 3\], not \[1, 2\]"),
    ],
)
def test_play_refuses_seats_without_an_agent(seats: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        played(ONE, RANDOM, seats=seats)


@pytest.mark.parametrize(
    "play",
    [
        lambda agents, seats, games: arena.evaluate(STICKS, agents[0], agents[1], KEY, 1),
        lambda agents, seats, games: arena.advance_until_over(STICKS, agents, seats, games, KEY),
        lambda agents, seats, games: arena.record(STICKS, agents, seats, games, KEY, 1),
        lambda agents, seats, games: jax.eval_shape(
            lambda games: arena.advance(STICKS, agents, seats, games, KEY), games
        ),
    ],
    ids=["evaluate", "advance_until_over", "record", "advance, traced"],
)
def test_agent_on_the_host_is_refused_with_its_name_where_games_are_traced(play: Any) -> None:
    agents, seats = (RANDOM, TakerOnHost(1)), jnp.array([[0, 1, 0]])
    with pytest.raises(ValueError, match=r"^TakerOnHost\(sticks=1\) runs on the host.* use jaxgames\.arena\.play"):
        play(agents, seats, arena.start(STICKS, KEY, 1))


def test_single_steps_that_are_not_traced_take_agents_on_the_host() -> None:
    games = arena.start(STICKS, KEY, 1)
    games, actions = arena.advance(STICKS, (TakerOnHost(2),), jnp.zeros((1, 3), jnp.int32), games, KEY)
    boards: Any = games.boards
    assert (actions.tolist(), boards.left.tolist()) == ([1], [5])


# -- evaluation ----------------------------------------------------------------------------------------------------


def win_probability(takes: int, seat: int, left: int = 7, mover: int = 0) -> float:
    """Probability that a taker on `seat` wins against random players, over the whole tree of the game."""
    if left == 0:
        return float((mover - 1) % 3 == seat)
    choices = [min(takes, left)] if mover == seat else range(1, min(3, left) + 1)
    after = [win_probability(takes, seat, left - sticks, (mover + 1) % 3) for sticks in choices]
    return sum(after) / len(after)


@pytest.mark.parametrize("seat", [pytest.param(2, marks=pytest.mark.slow), None])
def test_evaluate_finds_the_probability_of_a_win_against_random_players(seat: int | None) -> None:
    """For two takers at once: it can be vmapped over the parameters of an agent."""
    num_games, takers = 2000, Taker(np.array([1, 3]))
    evaluate = jax.vmap(lambda taker: arena.evaluate(STICKS, taker, RANDOM, KEY, num_games, seat=seat))
    found: Any = jax.jit(evaluate)(takers)
    for number, takes in enumerate((1, 3)):
        exact = np.mean([win_probability(takes, s) for s in (range(3) if seat is None else [seat])])
        assert abs(found["win_rate"][number] - exact) < 5 * np.sqrt(exact * (1 - exact) / num_games)
    np.testing.assert_allclose(found["mean_reward"], 3 * found["win_rate"] - 1, rtol=1e-5)
