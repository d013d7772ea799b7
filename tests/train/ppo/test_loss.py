"""The loss of PPO by hand; its penalties; the critic that learns alone at the start of a run from a trained policy."""

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.networks import noisy, random_leaves, with_policy
from tests.train.conftest import Runs
from train.models.policy import Policy, critic_only, keep_policy
from train.ppo import PPO, Config, Minibatch, TrainState

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


# -- steps of opponents --------------------------------------------------------------------------------------------


@jax.jit
def loss_without(is_learners: jax.Array, steps: Minibatch) -> Any:
    """((loss, metrics), gradient) at OUTPUTS, where some steps are of opponents."""
    loss = functools.partial(loss_of, CONFIG, steps=steps._replace(learner_mask=is_learners))
    return jax.value_and_grad(loss, has_aux=True)(OUTPUTS)


def test_loss_and_gradient_are_those_of_the_batch_without_the_opponents_steps() -> None:
    """Whatever numbers are in them. By hand: errors of 2 and 0 in two steps, whose ratios count as 1.3 and 0.7."""
    is_learners = np.array([True, True, False, False])
    (loss, metrics), gradient = found = jax.device_get(loss_without(is_learners, STEPS))
    np.testing.assert_allclose(metrics["value_loss"], 0.5 * 2**2 / 2)
    np.testing.assert_allclose(metrics["policy_loss"], -(1.3 - 0.7) / 2, rtol=1e-4)
    first_two, of_first_two = (jax.tree.map(lambda leaf: leaf[:2], each) for each in (OUTPUTS, STEPS))
    compute = jax.jit(jax.value_and_grad(functools.partial(loss_of, CONFIG), has_aux=True))
    expected, expected_gradient = compute(first_two, of_first_two)
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7), (loss, metrics), expected)
    for of_four, of_two in zip(gradient, expected_gradient, strict=True):
        np.testing.assert_allclose(of_four[:2], of_two, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(of_four[2:], np.zeros_like(of_four[2:]))
    columns = {name: getattr(STEPS, name) for name in ("log_prob", "advantage", "target")}
    for number in (1e30, np.nan, np.inf):
        changed = {name: np.where(is_learners, column, np.float32(number)) for name, column in columns.items()}
        other = STEPS._replace(**changed, action=np.where(is_learners, STEPS.action, 2))
        jax.tree.map(np.testing.assert_array_equal, jax.device_get(loss_without(is_learners, other)), found)


def test_minibatch_without_a_step_of_the_learner_has_no_gradient() -> None:
    (loss, metrics), gradient = loss_without(np.zeros(4, np.bool_), STEPS)
    assert not any(np.any(leaf) for leaf in jax.tree.leaves((loss, metrics, gradient)))


# -- the reference policy ------------------------------------------------------------------------------------------


def test_weight_of_the_divergence_is_constant_without_a_final_one() -> None:
    """A weight of 0 still measures the divergence from the first policy."""
    config = dataclasses.replace(CONFIG, init_from="a", kl_coef=0.3, total_steps=4 * 24)
    for changes, expected in (({}, [0.3] * 4), ({"final_kl_coef": 0.0}, [0.3, 0.1, 0, 0])):
        learner = PPO(dataclasses.replace(config, **changes))
        weights = [float(learner.kl_weight(jnp.int32(iteration))) for iteration in (0, 2, 3, 9)]  # 9 is after the end
        np.testing.assert_allclose(weights, expected, atol=1e-7)
    for coef, is_kept in ((None, False), (0.0, True)):
        start = jax.eval_shape(PPO(dataclasses.replace(config, kl_coef=coef)).init, jax.random.key(0))
        assert (start.reference_params is not None) == is_kept


# -- the critic learns alone ---------------------------------------------------------------------------------------

WARMUP = 2  # iterations


def outputs(learner: PPO, params: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values of every seat on random observations."""
    observations = jax.random.bernoulli(jax.random.key(0), shape=(16, *learner.env.observation_shape))
    return jax.device_get(jax.jit(learner.policy.apply)(params, observations, jnp.arange(16) % 2))


@pytest.mark.parametrize(
    "sharing", ["shared", *(pytest.param(each, marks=pytest.mark.slow) for each in ("shared_encoder", "independent"))]
)
def test_policy_keeps_all_its_bits_while_the_critic_learns_and_restarts_later(sharing: Any, untrained: Runs) -> None:
    """The optimizer has nothing of frozen gradients, and the divergence from the reference policy is 0 until then.

    With one gradient step per iteration, Adam's first moment is a tenth of the first clipped gradient.
    """
    given: dict[str, Any] = {"init_from": str(untrained.first), "critic_warmup": WARMUP}
    given |= {"kl_coef": 0.1, "final_kl_coef": 0.01, "env": "dots_and_boxes(rows=2, cols=2)", "hidden_sizes": (8,)}
    sizes = {"rollout_length": 8, "total_steps": 4 * 32, "num_minibatches": 1, "update_epochs": 1}
    changes = given | sizes | {"max_grad_norm": 3e-4, "learning_rate": 0.03, "anneal_lr": False}
    learner = PPO(dataclasses.replace(CONFIG, **changes, sharing=sharing))
    own, iterate = jax.tree.leaves(critic_only(learner.policy)), jax.jit(learner.iterate)
    train_state = learner.load(jax.jit(learner.init)(jax.random.key(0)))
    first_logits, values = outputs(learner, train_state.params)
    for iteration, coef in enumerate((0.1, 0.07, 0.04, 0.01)):
        train_state, metrics = iterate(train_state)
        (logits, new_values), frozen = outputs(learner, train_state.params), iteration < WARMUP
        assert (new_values != values).all()
        assert (logits == first_logits).all() == frozen
        values = new_values
        np.testing.assert_allclose(metrics["kl_coef"], coef, rtol=1e-5)
        assert (metrics["reference_kl"] > 1e-5) == (iteration > WARMUP)  # measured before the step of the iteration
        adam = train_state.opt_state[1][0]
        mu, nu = map(jax.tree.leaves, (adam.mu, adam.nu))
        assert [not m.any() and not v.any() for m, v in zip(mu, nu, strict=True)] == [frozen and not o for o in own]
        steps = iteration + 1 - (0 if frozen else WARMUP)
        assert (adam.count == steps).all()
        if steps == 1 and sharing != "independent":  # where each seat has a norm
            norm = np.sqrt(sum(float(jnp.square(m).sum()) for m in mu))
            np.testing.assert_allclose(norm, 0.1 * learner.config.max_grad_norm, rtol=1e-3)


def test_statistics_of_the_network_are_frozen_while_the_critic_learns_alone() -> None:
    env = PPO(CONFIG).env
    policy = Policy(env.observation_shape, env.num_players, "shared", noisy(env))
    params, learned = (random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), seed=seed) for seed in range(2))
    for kept, expected in ((True, params), (False, learned)):
        found = keep_policy(policy, jnp.bool_(kept), params, learned)["encoder"]
        jax.tree.map(np.testing.assert_array_equal, found["batch_stats"], expected["encoder"]["batch_stats"])
        assert any(np.any(leaf) for leaf in jax.tree.leaves(found["params"])) != kept  # gradients


@pytest.mark.parametrize(
    "network",
    ["mlp", *(pytest.param(each, marks=pytest.mark.slow) for each in ("residual_mlp(blocks=1)", "resnet(blocks=1)"))],
)
def test_arrays_of_the_critic_alone_are_those_whose_gradient_of_the_logits_is_zero(network: str) -> None:
    learner = PPO(dataclasses.replace(CONFIG, network=network, hidden_sizes=()))
    params = random_leaves(jax.eval_shape(learner.init_params, jax.random.key(0)), divisor=3)
    observations = jax.random.bernoulli(jax.random.key(0), shape=(8, *learner.env.observation_shape))

    @jax.jit
    @jax.grad
    def gradient(params: Any) -> jax.Array:
        weights = jnp.linspace(-1, 2, learner.env.num_actions)
        return (learner.policy.apply(params, observations, jnp.zeros(8, jnp.int32))[0] * weights).sum()

    own = critic_only(learner.policy)
    assert own == jax.tree.map(lambda leaf: not bool(np.any(leaf)), gradient(params))
    assert {*jax.tree.leaves(own["encoder"])} == {False}
    assert {*jax.tree.leaves(own["heads"])} == {False, True}


class AllShared(Policy):
    """Its value is the largest logit."""

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = sum(leaf.sum() for leaf in jax.tree.leaves(params)) * jnp.ones((seat.size, 3))
        return logits, logits.max(-1)


def test_network_whose_critic_has_nothing_of_its_own_is_refused() -> None:
    policy = PPO(CONFIG).policy
    own = AllShared(policy.observation_shape, policy.num_players, policy.sharing, policy.network)
    with pytest.raises(ValueError, match="leave out critic_warmup"):
        critic_only(own)
