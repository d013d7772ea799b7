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
    taken = np.arange(6), np.array([0, 1, 2, 3, 1, 2])
    mask[taken] = True
    steps = Minibatch(
        observation=NONE,
        mask=jnp.asarray(mask),
        seat=NONE,
        action=jnp.asarray(taken[1]),
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

    (found, (metrics, _)), (of_logits, of_values) = jax.value_and_grad(loss, has_aux=True)(outputs)
    policy, improved, weight = softmax(logits, mask), softmax(old, mask), learner.numbers.vf_coef
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.where(mask, improved * np.log(improved / policy), 0).sum(-1)[own].mean()
    errors = np.stack([value - target, of_actions[taken] - target])
    np.testing.assert_allclose(found, divergence + weight * 0.5 * (errors**2)[:, own].sum(0).mean(), rtol=1e-4)
    assert metrics.keys() == {"policy_loss", "value_loss", "entropy"}
    np.testing.assert_allclose(of_logits, (policy - improved) * own[:, None] / 5, atol=1e-5)
    expected = np.zeros((6, 5))  # of the values of actions that were not taken, too
    expected[:, 0], expected[taken[0], 1 + taken[1]] = weight * errors * own / 5
    np.testing.assert_allclose(of_values, expected, atol=1e-5)


@pytest.mark.parametrize("sharing", ["shared", "independent"])
def test_improved_policy_collects_steps_and_is_their_target_and_the_network_plays(sharing: Any) -> None:
    learner = KLENT(Config(**{**vars(CONFIG), "sharing": sharing}))
    boards = random_boards(learner.env, 16, 4)  # some are over: their value bootstraps, as on truncated boards
    params = jax.tree.map(lambda leaf: leaf + 0.3, learner.policy.init(jax.random.key(0)))
    observation = jax.vmap(learner.env.observe)(boards)
    mask = np.asarray(jax.vmap(learner.env.legal_action_mask)(boards))
    logits, values = map(np.asarray, Policy.apply(learner.policy, params, observation, boards.current_player))
    found, means = learner.outputs(params, boards)
    for new, mean, old, legal, value in zip(np.asarray(found), means, logits, mask, values, strict=True):
        if legal.any():  # p' has the share p ** (b / (a + b)) * exp(q / (a + b))
            improved = np.where(legal, softmax(old, legal) ** (0.1 / 0.13) * np.exp(value[1:] / 0.13), 0)
            improved /= improved.sum()
            np.testing.assert_allclose(softmax(new, legal), improved, atol=1e-5)
            np.testing.assert_allclose(mean, improved @ value[1:], atol=1e-5)
        else:
            assert mean == value[0]
    state = jax.jit(learner.init)(jax.random.key(1))
    steps = learner.with_reference(state, jax.jit(learner.collect)(state)[1])
    assert steps.reference_logits is not None
    legal = jax.vmap(jax.vmap(learner.env.legal_action_mask))(steps.state)
    targets = jax.nn.log_softmax(steps.reference_logits, where=legal)
    taken = jnp.take_along_axis(targets, steps.action[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(taken, steps.log_prob, atol=1e-5)
    played = learner.policy.apply(params, observation, boards.current_player)
    np.testing.assert_array_equal(played[1], values[:, 0])
    np.testing.assert_array_equal(played[0], logits)
