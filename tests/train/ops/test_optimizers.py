"""The optimizers of the learners beside Adam written out in numpy, with gradients clipped by their norm."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
import optax

from train import ppo
from train.ops.optimizers import make_optimizer

MAX_NORM = 0.5
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


def steps_of(optimizer: optax.GradientTransformation, params: Any, gradients: Any) -> Iterator[Any]:
    """Yields the parameters after each step."""
    state = optimizer.init(params)
    for gradient in gradients:
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        yield jax.device_get(params)


def test_ppo_takes_the_steps_of_adam() -> None:
    """The rate falls by a quarter after each of four gradient steps."""
    config = ppo.Config(
        env="dots_and_boxes", num_envs=4, rollout_length=2, total_steps=2 * 8, update_epochs=2, num_minibatches=1,
        learning_rate=0.1, anneal_lr=True, max_grad_norm=MAX_NORM,
    )  # fmt: skip
    optimizer = ppo.PPO(config).optimizer()
    found = np.array(list(steps_of(optimizer, START, GRADIENTS)))
    rates = [0.1 * (1 - step / 4) for step in range(4)]
    np.testing.assert_allclose(found, list(by_hand(GRADIENTS, rates, eps=1e-5)), rtol=1e-4)


def test_independent_seats_have_norms_of_their_own() -> None:
    config = ppo.Config(sharing="independent", learning_rate=0.1, anneal_lr=False, max_grad_norm=MAX_NORM)
    optimizer = ppo.PPO(config).optimizer()
    of_seats = np.stack([GRADIENTS, 10 * GRADIENTS], axis=1)
    found = np.array(list(steps_of(optimizer, np.stack([START] * 2), of_seats)))
    for seat in range(2):
        expected = list(by_hand(of_seats[:, seat], [0.1] * 4, eps=1e-5))
        np.testing.assert_allclose(found[:, seat], expected, rtol=1e-4)


def test_rate_of_each_step_is_given_and_decays_the_weights() -> None:
    rates = np.array([0.1, 0.05, 0.2, 0.1], np.float32)
    optimizer = make_optimizer(lambda step: jax.numpy.asarray(rates)[step], MAX_NORM, weight_decay=0.3)
    found = np.array(list(steps_of(optimizer, START, GRADIENTS)))
    np.testing.assert_allclose(found, list(by_hand(GRADIENTS, rates.tolist(), eps=1e-8, decay=0.3)), rtol=1e-4)
