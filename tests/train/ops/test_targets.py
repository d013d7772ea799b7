"""Advantages and value targets beside their definitions and numbers worked out by hand; optimizers beside Adam."""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxgames.wrappers import discount_of
from train import imitation, ppo
from train.ops.targets import lambda_returns, outcomes, per_seat_advantages

UNREAD = 1e6  # a value that must not show up anywhere


def slow_advantages(
    rewards: np.ndarray,  # float[T, num_players]
    values: np.ndarray,  # float[T]
    seats: np.ndarray,  # int[T]
    terminated: np.ndarray,  # bool[T]
    truncated: np.ndarray,  # bool[T]
    bootstrap: np.ndarray,  # float[T, num_players]
    is_valued: np.ndarray,  # bool[T, num_players]
    gamma: float,
    gae_lambda: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The definition of `per_seat_advantages`, word for word: one decision at a time, looking ahead.

    float[T] and bool[T], in O(T^2) steps of plain Python.
    """
    length = len(values)
    advantages, is_known = np.zeros(length), np.ones(length, bool)
    for t in reversed(range(length)):
        seat = seats[t]
        paid = next_value = next_advantage = 0.0
        for later in range(t, length):
            if later > t and seats[later] == seat:  # the seat's next decision
                next_value, next_advantage = values[later], advantages[later]
                break
            paid += rewards[later, seat]
            if terminated[later]:
                break
            if truncated[later] or later == length - 1:
                next_value, is_known[t] = bootstrap[later, seat], is_valued[later, seat]
                break
        delta = paid + gamma * next_value - values[t]
        advantages[t] = delta + gamma * gae_lambda * next_advantage if is_known[t] else 0
    return advantages, is_known


TWO_SEATS = [[1, 0], [0, 2], [0, 4], [8, 16]], [10, 20, 30, 40], [0, 1, 0, 1]
ENDED = [[3, 5], [7, 9], [0, 0]], [1, 2, 50], [0, 1, 0]
BY_HAND: dict[str, Any] = {
    # Rewards, values, seats, ends by their step, bootstrap values by their step (None is not known), and advantages:
    # A_t = R_t + V_n(t) / 2 - V_t + A_n(t) / 4.
    "three seats": (
        [[1, 0, 0], [2, 4, 0], [8, 16, 32], [64, 0, 0], [0, 0, 128]],
        [2, 4, 8, 16, 32],
        [0, 1, 2, 0, 2],
        {},
        {4: [10, 20, 30]},
        [11 + 16 / 2 - 2 + 53 / 4, 20 + 20 / 2 - 4, 32 + 32 / 2 - 8 + 111 / 4, 64 + 10 / 2 - 16, 128 + 30 / 2 - 32],
    ),
    "nothing follows a terminated game": (*ENDED, {1: "terminated"}, {2: [0, 0]}, [(3 + 7) - 1, 9 - 2, 0 - 50]),
    "the values of the last board follow a truncated game": (
        *ENDED,
        {1: "truncated"},
        {1: [20, 40], 2: [0, 0]},
        [(3 + 7) + 20 / 2 - 1, 9 + 40 / 2 - 2, 0 - 50],
    ),
    "the advantage before one that is not known ends with its value": (
        *TWO_SEATS,
        {},
        {3: [4, None]},
        [1 + 30 / 2 - 10 - 20 / 4, (2 + 4) + 40 / 2 - 20, 8 + 4 / 2 - 30, None],
    ),
    "a seat without a value of a truncated game": (
        *TWO_SEATS,
        {2: "truncated"},
        {2: [None, 6], 3: [4, 8]},
        [1 + 30 / 2 - 10, (2 + 4) + 6 / 2 - 20, None, 16 + 8 / 2 - 40],
    ),
}
ENDS = ("terminated", "truncated")


@pytest.mark.parametrize("case", BY_HAND.values(), ids=BY_HAND.keys())
def test_advantages_are_those_computed_by_hand(case: Any) -> None:
    rewards, values, seats, ends, bootstrap, expected = case
    views = np.full(np.shape(rewards), UNREAD)
    for time, view in bootstrap.items():
        views[time] = [np.nan if value is None else value for value in view]
    terminated, truncated = (np.array([ends.get(time) == kind for time in range(len(values))]) for kind in ENDS)
    given: list[Any] = [np.array(x, np.float32) for x in (rewards, values)]
    given += [np.array(seats), terminated, truncated, np.nan_to_num(views, nan=UNREAD), ~np.isnan(views), 0.5, 0.5]
    for estimate in (jax.jit(per_seat_advantages), slow_advantages):
        advantages, is_known = estimate(*given)
        assert [x if known else None for x, known in zip(advantages.tolist(), is_known, strict=True)] == expected


batched: Callable[..., Any] = jax.jit(jax.vmap(functools.partial(per_seat_advantages, gamma=0.9, gae_lambda=0.8)))


@pytest.mark.parametrize("num_players", [1, 2, 3, 6])
def test_estimate_equals_its_definition_on_random_games(num_players: int) -> None:
    rng = np.random.default_rng(num_players)
    steps, of_seats = (16, 20), (16, 20, num_players)
    end = rng.choice(3, p=[0.7, 0.15, 0.15], size=steps)
    seats = rng.integers(num_players, size=steps, dtype=np.int32)
    boards = (rng.normal(size=of_seats), rng.normal(size=steps), seats, end == 1, end == 2)
    boards += (rng.normal(size=of_seats), rng.random(of_seats) < 0.7)
    found, is_known = map(np.asarray, batched(*boards))
    for board in range(16):
        slow, expected = slow_advantages(*(x[board] for x in boards), gamma=0.9, gae_lambda=0.8)
        np.testing.assert_allclose(found[board], slow, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(is_known[board], expected)


# -- value targets -----------------------------------------------------------------------------------------------------

returns: Any = jax.jit(functools.partial(lambda_returns, td_lambda=0.5))


def zero_sum(*of_seat_0: float) -> jax.Array:
    return jnp.array([[value, -value] for value in of_seat_0], jnp.float32)


def test_seat_that_moves_twice_and_wins_has_the_returns_computed_by_hand() -> None:
    """The movers are 0, 0, 1, 0. The last step wins for seat 0."""
    ended = jnp.array([False, False, False, True])
    discount = discount_of(jnp.array([0, 0, 1, 0]), jnp.array([0, 1, 0, 1]), ended, 0.5)
    np.testing.assert_array_equal(discount, [1, 0.5, 0.5, 0])
    found = returns(zero_sum(0, 0, 0, 1), discount, zero_sum(0.2, 0.4, 0.6, UNREAD), ended)
    third = 0.5 * (0.6 / 2 + 1 / 2)  # 0.4
    second = 0.5 * (0.4 / 2 + third / 2)  # 0.2
    first = 1.0 * (0.2 / 2 + second / 2)  # 0.2
    np.testing.assert_allclose(found, zero_sum(first, second, third, 1), rtol=1e-6)


def test_truncated_game_bootstraps_from_its_last_board_and_not_from_the_next_game() -> None:
    """The second step is cut off at a board of value 0.8; the next game is won by seat 1."""
    ended = jnp.array([False, True, False, True])
    found = returns(zero_sum(0, 0, 0, -1), jnp.array([0.5, 0.5, 0.5, 0]), zero_sum(0.2, 0.8, 0, UNREAD), ended)
    second = 0.5 * 0.8
    np.testing.assert_allclose(found[:2], zero_sum(0.5 * (0.2 / 2 + second / 2), second), rtol=1e-6)


def test_with_lambda_one_and_gamma_one_the_return_is_the_outcome_of_every_seat() -> None:
    rng = np.random.default_rng(0)
    rewards = rng.normal(size=(12, 3)).astype(np.float32)
    ended = np.arange(12) % 5 == 4  # after steps 4 and 9
    paid, known = jax.jit(outcomes)(rewards, ended)
    np.testing.assert_array_equal(known, np.arange(12) < 10)
    found = lambda_returns(*map(jnp.asarray, (rewards, ~ended * 1.0, np.full((12, 3), UNREAD), ended)), td_lambda=1.0)
    expected = [rewards[t : 5 * (t // 5) + 5].sum(0) for t in range(10)]
    for each in (found, paid):
        np.testing.assert_allclose(each[:10], expected, rtol=1e-4, atol=1e-5)


# -- optimizers --------------------------------------------------------------------------------------------------------

MAX_NORM = 0.5
RATES = [0.1 * (1 - step / 4) for step in range(4)]
START = np.array([1.0, -2.0, 3.0], np.float32)
# The first is ten times too long, the others are not; components are as small as 1e-5, where eps counts.
GRADIENTS = np.array([[3.0, -4.0, 0.001], [1e-5, 0.3, -1e-5], [0.0, 2e-5, 1e-5], [0.1, 0.2, -0.3]], np.float32)


def by_hand(gradients: np.ndarray, rates: Sequence[float], eps: float, decay: float = 0.0) -> Iterator[np.ndarray]:
    """Yields the parameters after each step. Source: Kingma and Ba (2015), algorithm 1."""
    params, mean, square = START.astype(np.float64), np.zeros(3), np.zeros(3)
    for step, (gradient, rate) in enumerate(zip(gradients.astype(np.float64), rates, strict=True), 1):
        gradient = gradient * min(1, MAX_NORM / np.linalg.norm(gradient))
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        adam = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + eps)
        params = params - rate * (adam + decay * params)
        yield params


def assert_steps(
    optimizer: optax.GradientTransformation, gradients: np.ndarray, expected: Iterator[np.ndarray]
) -> None:
    """Compares the parameters after each step."""
    params: Any = np.broadcast_to(START, gradients.shape[1:])
    state = optimizer.init(params)
    for gradient, after in zip(gradients, expected, strict=True):
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        np.testing.assert_allclose(params, after, rtol=1e-4)


def test_ppo_takes_the_steps_of_adam() -> None:
    """The rate falls by a quarter after each of four gradient steps."""
    config = ppo.Config(
        env="dots_and_boxes", num_envs=4, rollout_length=2, total_steps=2 * 8, update_epochs=2, num_minibatches=1,
        learning_rate=0.1, anneal_lr=True, max_grad_norm=MAX_NORM,
    )  # fmt: skip
    assert_steps(ppo.PPO(config).optimizer(), GRADIENTS, by_hand(GRADIENTS, RATES, eps=1e-5))


def test_independent_seats_have_norms_of_their_own() -> None:
    config = ppo.Config(sharing="independent", learning_rate=0.1, anneal_lr=False, max_grad_norm=MAX_NORM)
    of_seats = np.stack([GRADIENTS, 10 * GRADIENTS], axis=1)
    expected = (by_hand(of_seats[:, seat], [0.1] * 4, eps=1e-5) for seat in range(2))
    assert_steps(ppo.PPO(config).optimizer(), of_seats, map(np.stack, zip(*expected, strict=True)))


def test_imitation_takes_the_steps_of_adam_with_weight_decay() -> None:
    sizes: dict[str, Any] = {"total_steps": 4 * 512, "schedule": "linear", "learning_rate": 0.1}
    config = imitation.Config(**sizes, max_grad_norm=MAX_NORM, weight_decay=0.3)
    assert_steps(imitation.Imitation(config).optimizer(), GRADIENTS, by_hand(GRADIENTS, RATES, eps=1e-8, decay=0.3))
