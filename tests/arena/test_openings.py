"""Openings: random plies before the agents play, the same ones for all agents."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from tests.helpers.scripted_agents import Taker
from tests.helpers.sticks import Sticks

STICKS = Sticks()  # three seats take 1, 2 or 3 of 7 sticks
BOXES = jaxgames.make("dots_and_boxes", rows=1, cols=2)  # seven edges, two boxes
KEY = jax.random.key(0)


@cache
def of_sticks() -> Any:
    return jax.device_get(arena.random_openings(STICKS, KEY, 12, 10))  # random games have from 3 to 7 plies


@cache
def compiled(env: Any) -> Any:
    return jax.jit(env.init), jax.jit(env.step), jax.jit(env.legal_action_mask)


def replayed(env: Any, actions: list[int]) -> list[Any]:
    """The states before and after each action, one step at a time."""
    init, step, mask = compiled(env)
    states = [init()]
    for action in actions:
        assert mask(states[-1])[action]
        states.append(step(states[-1], action))
    return states


@pytest.mark.parametrize("env", [STICKS, BOXES], ids=str)
def test_opening_is_a_game_of_legal_actions_that_is_live_at_the_beginning_of_a_turn(env: Any) -> None:
    openings = of_sticks() if env is STICKS else jax.device_get(arena.random_openings(env, KEY, 12, 5))
    for i in range(12):
        kept = int(openings.plies[i])
        states = replayed(env, openings.actions[i, :kept].tolist())
        assert env.to_string(jax.tree.map(lambda leaf, i=i: leaf[i], openings.boards)) == env.to_string(states[-1])
        assert env.outcome(states[-1]).kind == "live"
        assert kept == 0 or states[-2].current_player != states[-1].current_player
        assert (openings.actions[i, kept:] == -1).all()
    assert len(set(openings.plies.tolist())) > 1  # some were cut


def test_opening_of_a_game_that_would_end_is_cut_before_its_last_turn() -> None:
    """Every game of seven sticks ends within ten plies."""
    boards: Any = of_sticks().boards
    taken = np.where(of_sticks().actions >= 0, of_sticks().actions + 1, 0).sum(-1)
    assert (boards.left == 7 - taken).all()
    assert (boards.left >= 1).all()
    assert (boards.left <= 3).all()  # the ply that was cut took all that were left
    assert not boards.terminated.any()


def test_longer_list_begins_with_the_shorter_one() -> None:
    few = arena.random_openings(STICKS, KEY, 3, 10)
    for short, long in zip(jax.tree.leaves(few), jax.tree.leaves(of_sticks()), strict=True):
        np.testing.assert_array_equal(short, long[:3])


def test_each_opening_is_played_by_games_in_a_row() -> None:
    openings = arena.random_openings(STICKS, KEY, 3, 10)
    spread = openings.for_games(8, games_each=2)
    assert spread.number.tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    assert spread.plies.tolist() == [int(openings.plies[i]) for i in (0, 0, 1, 1, 2, 2, 0, 0)]
    assert openings.for_games(4).number.tolist() == [0, 1, 2, 0]


def test_games_start_after_the_opening_and_count_from_there() -> None:
    """After two plies in which a and b sticks are taken, seat 2 moves first; every agent takes one stick per turn."""
    openings = arena.random_openings(STICKS, KEY, 6, 2)
    assert openings.plies.tolist() == [2] * 6
    seats = jnp.zeros((6, 3), jnp.int32)
    games = arena.play(STICKS, (Taker(np.int32(1)),), seats, KEY, openings=openings)
    left = 7 - (np.asarray(openings.actions) + 1).sum(-1)
    assert len(set(left.tolist())) > 1
    np.testing.assert_array_equal(games.length, left)
    np.testing.assert_array_equal(games.turns, [[np.sum((2 + np.arange(n)) % 3 == s) for s in range(3)] for n in left])


@pytest.mark.parametrize(
    ("number", "plies", "message"),
    [
        (0, 2, "num_openings must be an integer from 1 to 2147483647, not 0"),
        (1, -1, "plies must be an integer from 0 to 10000, not -1"),
        (1, 10_001, "plies must be an integer from 0 to 10000, not 10001"),
    ],
)
def test_wrong_numbers_are_refused(number: int, plies: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arena.random_openings(STICKS, KEY, number, plies)


def test_openings_must_be_as_many_as_games() -> None:
    openings = arena.random_openings(STICKS, KEY, 3, 10)
    with pytest.raises(ValueError, match=r"expected one opening per game, 2, not 3: pass openings.for_games\(2\)"):
        arena.play(STICKS, (Taker(np.int32(1)),), jnp.zeros((2, 3), jnp.int32), KEY, openings=openings)
    with pytest.raises(ValueError, match="games_each must be an integer from 1 to 2147483647, not 0"):
        openings.for_games(2, games_each=0)
