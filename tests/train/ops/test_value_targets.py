"""Value targets against numbers worked out by hand. By hand gamma = lambda = 1/2."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.wrappers import discount_of
from train.ops.value_targets import lambda_returns, outcomes

UNREAD = 64.0  # a value that must not show up anywhere


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


def test_truncated_game_that_is_a_draw_pays_nothing() -> None:
    ended = jnp.array([False, True, False, True])
    found = returns(zero_sum(0, 0, 0, -1), jnp.array([0.5, 0, 0.5, 0]), zero_sum(0.2, UNREAD, 0, UNREAD), ended)
    np.testing.assert_allclose(found[:2], zero_sum(0.5 * 0.2 / 2, 0), rtol=1e-6)


def test_last_step_of_a_rollout_bootstraps_though_its_game_continues() -> None:
    found = returns(zero_sum(0, 0, 0, 0), jnp.full(4, 0.5), zero_sum(0, 0, 0, 0.8), jnp.zeros(4, bool))
    np.testing.assert_allclose(found, zero_sum(0.4 / 64, 0.4 / 16, 0.4 / 4, 0.4), rtol=1e-6)


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


@pytest.mark.parametrize("seats", [(1, 0), (1, 2, 0), (3, 5, 0, 1, 4, 2)])
def test_seats_that_change_places_keep_their_targets(seats: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(seats))
    rewards, values = rng.normal(size=(2, 20, len(seats))).astype(np.float32)
    ended, discount = jnp.asarray(rng.random(20) < 0.2), rng.random(20).astype(np.float32)
    targets = np.asarray(returns(rewards, discount, values, ended))
    np.testing.assert_array_equal(returns(rewards[:, seats], discount, values[:, seats], ended), targets[:, seats])
    paid = np.asarray(outcomes_of(rewards, ended)[0])
    np.testing.assert_array_equal(outcomes_of(rewards[:, seats], ended)[0], paid[:, seats])
