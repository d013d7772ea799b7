"""KLENT: the improved policy is the best of its objective, the loss is that of its definition, q gives the values."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.networks import with_policy
from tests.mcts.evaluations import random_boards
from train.klent import KLENT, Config
from train.klent.learner import improved_logits
from train.models.policy import Policy
from train.ppo import Minibatch, TrainState

SIZES: dict[str, Any] = {"num_envs": 4, "rollout_length": 6, "num_minibatches": 2, "hidden_sizes": (8,)}
WEIGHTS: dict[str, Any] = {"entropy_weight": 0.03, "kl_weight": 0.1}
CONFIG = Config(env="dots_and_boxes(rows=1, cols=1)", **SIZES, **WEIGHTS)
NONE: Any = None


def softmax(logits: np.ndarray, mask: np.ndarray) -> np.ndarray:
    weights = np.where(mask, np.exp(logits - logits.max()), 0)
    return weights / weights.sum(-1, keepdims=True)


def test_improved_policy_is_the_best_one_of_its_objective() -> None:
    """Mean value + a * entropy - b * divergence from the old policy, beside 10,000 policies near and far."""
    draw, a, b = np.random.default_rng(0), 0.03, 0.1
    values, logits = draw.normal(size=(2, 5)).astype(np.float32)
    mask = np.array([True, True, False, True, True])
    old = softmax(logits, mask)[mask]
    found = improved_logits(jnp.asarray(values[None]), jnp.asarray(logits[None]), jnp.asarray(mask[None]), a, b)
    improved = softmax(np.asarray(found[0]), mask)[mask]

    def objective(p: np.ndarray) -> np.ndarray:
        return (p * (values[mask] - (a + b) * np.log(p) + b * np.log(old))).sum(-1)

    others = draw.dirichlet(np.ones(4), 5_000)
    near = improved * np.exp(draw.normal(scale=0.05, size=(5_000, 4)))
    others = np.concatenate([others, near / near.sum(-1, keepdims=True)])
    assert objective(improved) > objective(others).max() - 1e-6
    assert objective(improved) > objective(old) + 0.05


class Table:
    """A network whose outputs are its parameters."""

    def apply_in_training(self, params: Any, *_: Any) -> Any:
        return *params, {}


def test_loss_is_that_of_its_definition() -> None:
    draw = np.random.default_rng(1)
    logits, old, of_actions = draw.normal(size=(3, 6, 4)).astype(np.float32)
    value, target = draw.normal(size=(2, 6)).astype(np.float32)
    mask, own = draw.random((6, 4)) < 0.7, np.array([True] * 5 + [False])
    mask[:, 0] = True
    steps = Minibatch(
        observation=NONE,
        mask=jnp.asarray(mask),
        seat=NONE,
        action=jnp.zeros(6, jnp.int32),
        log_prob=NONE,
        advantage=NONE,
        target=jnp.asarray(target),
        learner_mask=jnp.asarray(own),
        reference_logits=jnp.asarray(old),
    )

    learner = with_policy(CONFIG, Table(), learner=KLENT)
    outputs = jnp.asarray(logits), jnp.concatenate([value[:, None], of_actions], 1)

    def loss(params: Any) -> Any:
        return learner.loss(TrainState(*[NONE] * 7), params, steps)

    (found, (metrics, _)), gradient = jax.value_and_grad(loss, has_aux=True)(outputs)
    new, before = softmax(logits, mask), softmax(old, mask)
    improved = softmax((of_actions + 0.1 * np.log(np.where(mask, before, 1))) / 0.13, mask)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(mask, improved * np.log(improved / new), 0).sum(-1)[own].mean()
    errors = 0.5 * ((of_actions[:, 0] - target) ** 2 + (value - target) ** 2)[own].mean()
    np.testing.assert_allclose(found, divergence + 0.5 * errors, rtol=1e-4)
    assert metrics.keys() == {"policy_loss", "value_loss", "entropy", "approx_kl"}
    of_logits, of_values = gradient
    np.testing.assert_allclose(of_logits, (new - improved) * own[:, None] / 5, atol=1e-5)  # the target is fixed
    assert not of_values[:, 2:].any()  # so are the values of actions that were not taken
    np.testing.assert_allclose(of_values[:, 1], 0.5 * (of_actions[:, 0] - target) * own / 5, atol=1e-5)


@pytest.mark.parametrize("sharing", ["shared", "independent"])
def test_learning_bootstraps_from_the_mean_of_the_action_values_and_play_has_the_value(sharing: Any) -> None:
    learner = KLENT(Config(**{**vars(CONFIG), "sharing": sharing}))
    boards = random_boards(learner.env, 16, 4)  # some are over: their value bootstraps, as on truncated boards
    params = jax.tree.map(lambda leaf: leaf + 0.3, learner.policy.init(jax.random.key(0)))
    observation = jax.vmap(learner.env.observe)(boards)
    mask = np.asarray(jax.vmap(learner.env.legal_action_mask)(boards))
    logits, values = map(np.asarray, Policy.apply(learner.policy, params, observation, boards.current_player))
    found = learner.outputs(params, boards)
    means = [
        softmax(*row[:2]) @ row[2][1:] if row[1].any() else row[2][0] for row in zip(logits, mask, values, strict=True)
    ]
    np.testing.assert_allclose(found[1], means, atol=1e-5)
    played = learner.policy.apply(params, observation, boards.current_player)
    np.testing.assert_array_equal(played[1], values[:, 0])
    np.testing.assert_array_equal(played[0], logits)
