"""The loss of PPO by hand."""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tests.helpers.networks import with_policy
from train.ppo import Config, Minibatch, TrainState

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=1)",
    num_envs=4,
    rollout_length=6,
    update_epochs=2,
    num_minibatches=2,
    learning_rate=0.01,
    clip_coef=0.3,
    vf_coef=0.5,
    ent_coef=0.1,
    hidden_sizes=(4,),
)


class Outputs(NamedTuple):
    """Parameters that are the outputs of the network."""

    logits: jax.Array
    value: jax.Array


class Table:
    def apply_in_training(
        self, params: Outputs, observation: jax.Array, seat: jax.Array, key: None, counted: jax.Array | None
    ) -> Any:
        return *params, {}


RATIO = np.array([2.0, 0.5, 1.0, 1.0])  # of the probabilities of four actions, the new one to the old one
TARGETS = jnp.array([2.0, 1.0, 0.0, 0.0])
OUTPUTS = Outputs(logits=jnp.zeros((4, 3)), value=jnp.array([0.0, 1.0, 0.0, 0.0]))
STEPS = Minibatch(
    observation=jnp.zeros(4),
    mask=jnp.array([[True, True, False]] * 4),  # both legal actions have the probability 1 / 2
    seat=jnp.zeros(4, jnp.int32),
    action=jnp.array([0, 1, 0, 1]),
    log_prob=jnp.asarray(np.log(0.5 / RATIO), jnp.float32),
    advantage=jnp.array([7.0, 3.0, 7.0, 3.0]),  # 1, -1, 1, -1 when they are normalised
    target=TARGETS,
)
NOTHING: Any = None
BEFORE = TrainState(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, jnp.int32(0), NOTHING)


def loss_of(config: Config, params: Any, steps: Minibatch = STEPS, step_kl_coef: jax.Array | None = None) -> Any:
    """(loss, metrics) of a policy whose parameters are its outputs."""
    train_state = BEFORE._replace(step_kl_coef=step_kl_coef)
    loss, (metrics, _) = with_policy(config, Table()).loss(train_state, params, steps)
    return loss, metrics


def test_loss_is_that_computed_by_hand() -> None:
    loss, metrics = jax.jit(functools.partial(loss_of, CONFIG))(OUTPUTS)
    expected = {
        "policy_loss": -(1.3 - 0.7 + 1 - 1) / 4,  # a ratio of 2 counts as 1.3, one of 0.5 as 0.7
        "value_loss": 0.5 * 2**2 / 4,
        "entropy": math.log(2),
        "approx_kl": ((2 - 1 - math.log(2)) + (0.5 - 1 + math.log(2))) / 4,
        "clip_fraction": 2 / 4,
    }
    assert metrics.keys() == expected.keys()
    for name, number in expected.items():
        np.testing.assert_allclose(metrics[name], number, rtol=1e-4, err_msg=name)
    total = expected["policy_loss"] + 0.5 * expected["value_loss"] - 0.1 * expected["entropy"]
    np.testing.assert_allclose(loss, total, rtol=1e-4)


def test_clipped_steps_have_no_gradient_and_good_actions_become_more_probable() -> None:
    config = dataclasses.replace(CONFIG, ent_coef=0.0)
    gradient, _ = jax.jit(jax.grad(functools.partial(loss_of, config), has_aux=True))(OUTPUTS)
    nothing = [0, 0, 0]
    expected = [nothing, nothing, [-0.125, 0.125, 0], [-0.125, 0.125, 0]]  # A p(a) (1 - p(a)) / 4
    np.testing.assert_allclose(gradient.logits, expected, atol=1e-5)
    np.testing.assert_allclose(gradient.value, 0.5 * (OUTPUTS.value - TARGETS) / 4, atol=1e-6)


def test_loss_has_the_divergence_from_the_reference_policy_computed_by_hand() -> None:
    """The policy has probabilities 1/4 and 3/4, the reference policy 1/2 and 1/2; illegal actions do not count."""
    logits = jnp.log(jnp.array([[1.0, 3.0, 50.0]] * 4))
    with_reference = STEPS._replace(reference_logits=jnp.array([[7.0, 7.0, -9.0]] * 4))
    config = dataclasses.replace(CONFIG, init_from="a run", kl_coef=0.2)

    def loss(logits: jax.Array, steps: Minibatch) -> tuple[jax.Array, Any]:
        return loss_of(config, Outputs(logits, OUTPUTS.value), steps)

    compute = jax.jit(jax.value_and_grad(loss, has_aux=True))
    (with_it, metrics), gradient = compute(logits, with_reference)
    (without, _), gradient_without = compute(logits, STEPS)
    divergence = math.log(2) + math.log(1 / 4) / 4 + math.log(3 / 4) * 3 / 4
    np.testing.assert_allclose(metrics["reference_kl"], divergence, rtol=1e-5)
    np.testing.assert_allclose(with_it - without, 0.2 * divergence, rtol=1e-3)
    slope = 3 / 16 * math.log(3) * 0.2 / 4  # p (1 - p) times the log-ratio of the odds, of each of four steps
    np.testing.assert_allclose(gradient - gradient_without, [[-slope, slope, 0]] * 4, rtol=1e-3, atol=1e-7)


def test_large_errors_of_values_count_as_the_bound_and_have_no_gradient() -> None:
    config = dataclasses.replace(CONFIG, vf_clip=3.0)
    outputs = OUTPUTS._replace(value=jnp.array([0.0, 1.5, 0.0, -1.0]))  # errors of 2, 1/2, 0 and 1; 4 is above 3
    gradient, metrics = jax.jit(jax.grad(functools.partial(loss_of, config), has_aux=True))(outputs)
    np.testing.assert_allclose(metrics["value_loss"], 0.5 * (3 + 0.25 + 1) / 4, rtol=1e-6)
    np.testing.assert_allclose(gradient.value, 0.5 * np.array([0, 0.5, 0, -1]) / 4, atol=1e-6)


def test_divergence_from_the_collecting_policy_is_weighted_and_pulls_back() -> None:
    """Expected over the old actions, the gradient is that of KL(old, new); here all four are as likely as they are."""

    def loss(logits: jax.Array, weight: jax.Array) -> jax.Array:
        return loss_of(CONFIG, Outputs(logits, OUTPUTS.value), step_kl_coef=weight)[0]

    compute = jax.jit(jax.value_and_grad(loss))
    (with_it, gradient), (without, plain) = (compute(OUTPUTS.logits, jnp.float32(weight)) for weight in (0.2, 0))
    np.testing.assert_allclose(with_it - without, 0.2 * (RATIO - 1 - np.log(RATIO)).mean(), rtol=1e-4)
    slopes = 0.2 * (RATIO - 1) * 0.5 / 4  # (ratio - 1) * the slope of log p(a), of each of four steps
    signs = np.array([1, -1, 1, -1])  # of the first action's logit in log p(a)
    expected = np.stack([slopes * signs, -slopes * signs, 0 * slopes], axis=1)
    np.testing.assert_allclose(gradient - plain, expected, atol=1e-6)


def test_weight_of_the_divergence_follows_its_target() -> None:
    learner = with_policy(dataclasses.replace(CONFIG, step_kl_coef=0.2, target_kl=0.01), Table())
    before = BEFORE._replace(step_kl_coef=jnp.float32(0.2))
    divergences = (0.021, 0.019, 0.006, 0.004)
    weights = [learner.with_step_kl(before, {"approx_kl": jnp.float32(kl)})[0].step_kl_coef for kl in divergences]
    np.testing.assert_allclose(np.array(weights), [0.3, 0.2, 0.2, 0.1], rtol=1e-6)
