"""Advantages and outcomes beside their definitions; optimizers beside Adam; schedules of all learners."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from train import alphazero, imitation, ppo
from train.ops.targets import outcomes, per_seat_advantages


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


batched: Callable[..., Any] = jax.jit(jax.vmap(functools.partial(per_seat_advantages, gamma=0.9, gae_lambda=0.8)))


@pytest.mark.parametrize("num_players", [1, 3])
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


def test_outcome_is_what_every_seat_is_paid_until_the_game_ends() -> None:
    rewards = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    paid, known = jax.jit(outcomes)(rewards, np.arange(12) % 5 == 4)  # it ends after steps 4 and 9
    np.testing.assert_array_equal(known, np.arange(12) < 10)
    expected = [rewards[t : 5 * (t // 5) + 5].sum(0) for t in range(10)]
    np.testing.assert_allclose(paid[:10], expected, rtol=1e-4, atol=1e-5)


# -- optimizers --------------------------------------------------------------------------------------------------------

MAX_NORM = 0.5
RATES = [0.1 * (1 - step / 4) for step in range(4)]
START = np.array([1.0, -2.0, 3.0], np.float32)
# The first is ten times too long, the others are not; components are as small as 1e-5, where eps counts.
GRADIENTS = np.array([[3.0, -4.0, 0.001], [1e-5, 0.3, -1e-5], [0.0, 2e-5, 1e-5], [0.1, 0.2, -0.3]], np.float32)


def by_hand(
    gradients: np.ndarray, eps: float, rates: Sequence[float] = RATES, decay: float = 0.0
) -> Iterator[np.ndarray]:
    """Yields the parameters after each step. Source: Kingma and Ba (2015), algorithm 1."""
    params, mean, square = START.astype(np.float64), np.zeros(3), np.zeros(3)
    for step, (gradient, rate) in enumerate(zip(gradients.astype(np.float64), rates, strict=True), 1):
        gradient = gradient * min(1, MAX_NORM / np.linalg.norm(gradient))
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        adam = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + eps)
        params = params - rate * (adam + decay * params)
        yield params


ADAM: dict[str, Any] = {"learning_rate": 0.1, "max_grad_norm": MAX_NORM}
SIZES: dict[str, Any] = {"env": "dots_and_boxes", "num_envs": 4, "rollout_length": 2}
IMITATION = imitation.Config(**ADAM, total_steps=4 * 512, schedule="linear", weight_decay=0.3)
OPTIMIZERS: dict[str, tuple[optax.GradientTransformation, int, dict[str, Any]]] = {
    # With the number of seats that have gradients and norms of their own, and the numbers of `by_hand`
    "ppo": (
        ppo.PPO(ppo.Config(**ADAM, **SIZES, total_steps=16, update_epochs=2, num_minibatches=1)).optimizer(),
        1,
        {"eps": 1e-5},
    ),
    "ppo, independent": (
        ppo.PPO(ppo.Config(**ADAM, sharing="independent", anneal_lr=False)).optimizer(),
        2,
        {"eps": 1e-5, "rates": [0.1] * 4},
    ),
    "imitation": (imitation.Imitation(IMITATION).optimizer(), 1, {"eps": 1e-8, "decay": 0.3}),
}


@pytest.mark.parametrize(("optimizer", "seats", "numbers"), OPTIMIZERS.values(), ids=OPTIMIZERS.keys())
def test_optimizer_takes_the_steps_of_adam(
    optimizer: optax.GradientTransformation, seats: int, numbers: dict[str, Any]
) -> None:
    """The rate falls by a quarter after each of four gradient steps, or stays; seats have gradients of other sizes."""
    gradients = np.stack([GRADIENTS * 10**seat for seat in range(seats)], axis=1)
    expected = [by_hand(gradients[:, seat], **numbers) for seat in range(seats)]
    params: Any = np.broadcast_to(START, (seats, 3)) if seats > 1 else START
    state = optimizer.init(params)
    for gradient, after in zip(gradients, zip(*expected, strict=True), strict=True):
        updates, state = optimizer.update(gradient.reshape(params.shape), state, params)
        params = optax.apply_updates(params, updates)
        np.testing.assert_allclose(params, np.stack(after).reshape(params.shape), rtol=1e-4)


# Four iterations of two gradient steps, five of four, and four iterations
STEPPED = imitation.Imitation(
    imitation.Config(total_steps=4 * 2 * 16, num_minibatches=2, batch_size=16, learning_rate=0.2)
)
FALLING = alphazero.AlphaZero(
    alphazero.Config(**SIZES, total_steps=5 * 8, num_updates=4, learning_rate=0.5, final_learning_rate=0.1)
)
NEAR = ppo.PPO(ppo.Config(**SIZES, total_steps=4 * 8, num_minibatches=1, init_from="a", kl_coef=0.3))


@pytest.mark.parametrize(
    ("learner", "name", "changes", "numbers"),
    [
        (STEPPED, "learning_rate", {"schedule": "constant"}, {0: 0.2, 6: 0.2}),
        (STEPPED, "learning_rate", {"schedule": "linear"}, {0: 0.2, 4: 0.1, 6: 0.05}),
        (STEPPED, "learning_rate", {"schedule": "cosine"}, {0: 0.2, 4: 0.1, 6: 0.1 - 0.1 * 0.5**0.5}),
        (FALLING, "learning_rate", {}, {0: 0.5, 3: 0.5, 4: 0.4, 11: 0.3, 19: 0.1}),
        (FALLING, "learning_rate", {"lr_drop_after": 2}, {7: 0.5, 8: 0.1, 19: 0.1}),
        (FALLING, "average_decay", {"ema": 0.9}, {0: 0.1, 8: 0.5, 1000: 0.9}),
        (NEAR, "kl_coef_after", {}, {0: 0.3, 9: 0.3}),
        (NEAR, "kl_coef_after", {"final_kl_coef": 0.0}, {0: 0.3, 2: 0.1, 3: 0, 9: 0}),
    ],
)
def test_number_follows_its_schedule(learner: Any, name: str, changes: Any, numbers: dict[int, float]) -> None:
    """By the gradient steps or the iterations before."""
    schedule = getattr(type(learner)(dataclasses.replace(learner.config, **changes)), name)
    assert {step: float(schedule(jnp.int32(step))) for step in numbers} == pytest.approx(numbers, abs=1e-7)
