"""Advantages and value targets against numbers worked out by hand, and a slow reading of the definition.

By hand gamma = lambda = 1/2 throughout, so that A_t = R_t + V_n(t) / 2 - V_t + A_n(t) / 4.
"""

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.wrappers import discount_of
from tests.train.ops import advantages_reference
from train.ops.advantages import per_seat_advantages
from train.ops.value_targets import lambda_returns, outcomes

compiled = jax.jit(per_seat_advantages)
UNREAD = 1e6  # a bootstrap value that must not show up anywhere


def estimate(
    rewards: Sequence[Sequence[float]],
    values: Sequence[float],
    seats: Sequence[int],
    *,
    terminated: Collection[int] = (),
    truncated: Collection[int] = (),
    bootstrap: Mapping[int, Sequence[float | None]] | None = None,
    gamma: float = 0.5,
    gae_lambda: float = 0.5,
) -> list[float | None]:
    """Advantages; ends of games and bootstrap values are given by their step. None is not known."""
    times = range(len(values))
    views = np.full((len(values), len(rewards[0])), UNREAD)
    for time, view in (bootstrap or {}).items():
        views[time] = [np.nan if value is None else value for value in view]
    advantages, is_known = compiled(
        jnp.array(rewards, jnp.float32),
        jnp.array(values, jnp.float32),
        jnp.array(seats, jnp.int32),
        jnp.array([time in terminated for time in times]),
        jnp.array([time in truncated for time in times]),
        jnp.array(np.nan_to_num(views, nan=UNREAD), jnp.float32),
        jnp.array(~np.isnan(views)),
        gamma,
        gae_lambda,
    )
    return [advantage if known else None for advantage, known in zip(advantages.tolist(), is_known, strict=True)]


# -- whose rewards, and up to when ---------------------------------------------------------------------------


def test_three_seats_have_the_advantages_computed_by_hand() -> None:
    rewards = [[1, 0, 0], [2, 4, 0], [8, 16, 32], [64, 0, 0], [0, 0, 128]]
    advantages = estimate(rewards, [2, 4, 8, 16, 32], [0, 1, 2, 0, 2], bootstrap={4: [10, 20, 30]})
    last_0 = (64 + 0) + 10 / 2 - 16  # 53
    last_2 = 128 + 30 / 2 - 32  # 111
    first_0 = (1 + 2 + 8) + 16 / 2 - 2 + last_0 / 4  # 30.25
    only_1 = (4 + 16 + 0 + 0) + 20 / 2 - 4  # 26
    first_2 = (32 + 0) + 32 / 2 - 8 + last_2 / 4  # 67.75
    assert advantages == [first_0, only_1, first_2, last_0, last_2] == [30.25, 26, 67.75, 53, 111]


# -- ends ----------------------------------------------------------------------------------------------------


def test_nothing_follows_a_terminated_game() -> None:
    """Neither a value of the board it led to, nor of the next game's, nor an advantage of it."""
    advantages = estimate([[3, 5], [7, 9], [0, 0]], [1, 2, 50], [0, 1, 0], terminated=[1], bootstrap={2: [0, 0]})
    assert advantages == [(3 + 7) - 1, 9 - 2, 0 - 50]


def test_truncated_game_bootstraps_from_each_seats_value_of_the_last_board() -> None:
    advantages = estimate(
        [[3, 5], [7, 9], [0, 0]], [1, 2, 50], [0, 1, 0], truncated=[1], bootstrap={1: [20, 40], 2: [0, 0]}
    )
    assert advantages == [(3 + 7) + 20 / 2 - 1, 9 + 40 / 2 - 2, 0 - 50]


def test_last_decision_before_a_cut_is_not_known_without_the_seats_value_there() -> None:
    """The decision before it is: its advantage ends with the value of the last one."""
    rewards, values, seats = [[1, 0], [0, 2], [0, 4], [8, 16]], [10, 20, 30, 40], [0, 1, 0, 1]
    at_the_end = estimate(rewards, values, seats, bootstrap={3: [4, None]})
    assert at_the_end == [1 + 30 / 2 - 10 - 20 / 4, (2 + 4) + 40 / 2 - 20, 8 + 4 / 2 - 30, None]
    truncated = estimate(rewards, values, seats, truncated=[2], bootstrap={2: [None, 6], 3: [4, 8]})
    assert truncated == [1 + 30 / 2 - 10, (2 + 4) + 6 / 2 - 20, None, 16 + 8 / 2 - 40]
    terminated = estimate(rewards, values, seats, terminated=[3])
    assert None not in terminated


# -- special cases -------------------------------------------------------------------------------------------


# -- random data ---------------------------------------------------------------------------------------------


def random_boards(num_players: int) -> tuple[np.ndarray, ...]:
    """The first seven arguments, for 16 boards of 20 steps."""
    rng = np.random.default_rng(num_players)
    steps = (16, 20)
    end = rng.choice(3, p=[0.7, 0.15, 0.15], size=steps)
    seats = rng.integers(num_players, size=steps, dtype=np.int32)
    normal = functools.partial(rng.normal, loc=0.0, scale=1.0)
    rewards, bootstrap = normal(size=(*steps, num_players)), normal(size=(*steps, num_players))
    is_valued = rng.random((*steps, num_players)) < 0.7
    return rewards, normal(size=steps), seats, end == 1, end == 2, bootstrap, is_valued


batched: Callable[..., Any] = jax.jit(jax.vmap(functools.partial(per_seat_advantages, gamma=0.9, gae_lambda=0.8)))


@pytest.mark.parametrize("num_players", [1, 2, 3, 6])
def test_estimate_equals_its_definition_on_random_games(num_players: int) -> None:
    boards = random_boards(num_players)
    found, is_known = map(np.asarray, batched(*boards))
    for board in range(16):
        slow, expected = advantages_reference.per_seat_advantages(
            *(x[board] for x in boards), gamma=0.9, gae_lambda=0.8
        )
        np.testing.assert_allclose(found[board], slow, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(is_known[board], expected)


outcomes_of = jax.jit(outcomes)


@jax.jit
def returns(rewards: jax.Array, discount: jax.Array, values: jax.Array, ended: jax.Array) -> jax.Array:
    return lambda_returns(rewards, discount, values, ended, td_lambda=0.5)


def zero_sum(*of_seat_0: float) -> jax.Array:
    return jnp.array([[value, -value] for value in of_seat_0], jnp.float32)


def test_discount_is_gamma_per_turn_one_per_submove_and_zero_after_the_end() -> None:
    found = discount_of(jnp.array([0, 0, 1, 0]), jnp.array([0, 1, 0, 1]), jnp.array([False, False, False, True]), 0.5)
    np.testing.assert_array_equal(found, [1, 0.5, 0.5, 0])


def test_seat_that_moves_twice_and_wins_has_the_returns_computed_by_hand() -> None:
    """The movers are 0, 0, 1, 0. The last step wins for seat 0."""
    ended = jnp.array([False, False, False, True])
    found = returns(zero_sum(0, 0, 0, 1), jnp.array([1, 0.5, 0.5, 0]), zero_sum(0.2, 0.4, 0.6, UNREAD), ended)
    third = 0.5 * (0.6 / 2 + 1 / 2)  # 0.4
    second = 0.5 * (0.4 / 2 + third / 2)  # 0.2
    first = 1.0 * (0.2 / 2 + second / 2)  # 0.2
    np.testing.assert_allclose(found, zero_sum(first, second, third, 1), rtol=1e-6)
    np.testing.assert_allclose([first, second, third], [0.2, 0.2, 0.4], rtol=1e-6)


def test_truncated_game_bootstraps_from_its_last_board_and_not_from_the_next_game() -> None:
    """The second step is cut off at a board of value 0.8; the next game is won by seat 1."""
    ended = jnp.array([False, True, False, True])
    found = returns(zero_sum(0, 0, 0, -1), jnp.array([0.5, 0.5, 0.5, 0]), zero_sum(0.2, 0.8, 0, UNREAD), ended)
    second = 0.5 * 0.8
    np.testing.assert_allclose(found[:2], zero_sum(0.5 * (0.2 / 2 + second / 2), second), rtol=1e-6)


def test_seats_that_do_not_move_are_paid_too() -> None:
    """Three seats that move in turn; the second step pays seats 0 and 2, the fourth ends the game for seat 1."""
    rewards = jnp.array([[0, 0, 0], [4, 0, -4], [0, 0, 0], [-1, 2, -1]], jnp.float32)
    ended = jnp.array([False, False, False, True])
    found = returns(rewards, jnp.array([0.5, 0.5, 0.5, 0]), jnp.zeros((4, 3)), ended)
    later = np.array([-1, 2, -1]) / 16
    np.testing.assert_allclose(found[1], np.array([4, 0, -4]) + later, rtol=1e-6)
    np.testing.assert_allclose(found[0], (np.array([4, 0, -4]) + later) / 4, rtol=1e-6)


def test_with_lambda_one_and_gamma_one_the_return_is_the_outcome() -> None:
    rng = np.random.default_rng(0)
    rewards = jnp.asarray(rng.normal(size=(12, 3)), jnp.float32)
    ended = jnp.arange(12) % 5 == 4  # after steps 4 and 9
    paid, known = outcomes_of(rewards, ended)
    np.testing.assert_array_equal(known, np.arange(12) < 10)
    exact = functools.partial(lambda_returns, td_lambda=1.0)
    found = exact(rewards, jnp.where(ended, 0.0, 1.0), jnp.full((12, 3), UNREAD), ended)
    np.testing.assert_allclose(found[:10], paid[:10], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(paid[7], np.asarray(rewards)[7:10].sum(0), rtol=1e-5)
