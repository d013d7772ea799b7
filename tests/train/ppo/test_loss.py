"""The loss of PPO beside a slow one; the weights of its penalties; a critic that learns alone at the start of a run."""

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

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


NOTHING: Any = None
BEFORE = TrainState(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, jnp.int32(0), NOTHING)
SIZE = 32  # steps
RANDOM: Any = np.random.default_rng(0)
MASK: Any = np.tile([[True, True, False], [True, True, True]], (SIZE // 2, 1))
OUTPUTS = Outputs(RANDOM.normal(size=(SIZE, 3)), RANDOM.normal(size=SIZE))
STEPS = Minibatch(
    observation=jnp.zeros(SIZE),
    mask=MASK,
    seat=jnp.zeros(SIZE, jnp.int32),
    action=RANDOM.integers(2, size=SIZE),
    log_prob=RANDOM.normal(-1, 0.5, size=SIZE),
    advantage=RANDOM.normal(2, 3, size=SIZE),
    target=RANDOM.normal(0, 2, size=SIZE),
)
IS_LEARNERS = np.arange(SIZE) % 3 > 0
OF_OPPONENTS = {
    name: np.where(IS_LEARNERS, getattr(STEPS, name), np.nan) for name in ("log_prob", "advantage", "target")
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], float]] = {
    # Changes of the settings and of the steps, and the weight of the divergence from the policy that collected them.
    "plain": ({}, {}, 0.0),
    "errors of values have a bound": ({"vf_clip": 3.0}, {}, 0.0),
    "near the collecting policy": ({}, {}, 0.2),
    "near the reference policy": (
        {"init_from": "a run", "kl_coef": 0.2},
        {"reference_logits": RANDOM.normal(size=(SIZE, 3))},
        0.0,
    ),
    "steps of opponents, with any numbers": ({}, {"learner_mask": IS_LEARNERS, **OF_OPPONENTS}, 0.0),
}


def slow_loss(config: Config, params: Outputs, steps: Any, step_kl_coef: float) -> tuple[float, dict[str, float]]:
    """The loss and the metrics in double precision, step by step. Source: Schulman et al. (2017), equations 7 and 9."""
    counted = np.arange(SIZE) if steps.learner_mask is None else np.flatnonzero(steps.learner_mask)
    scale = steps.advantage[counted].std() + 1e-8
    rows: list[dict[str, float]] = []
    for i in counted:
        legal = steps.mask[i]
        advantage = (steps.advantage[i] - steps.advantage[counted].mean()) / scale
        p = scipy.special.softmax(params.logits[i][legal])
        log_ratio = np.log(p[steps.action[i]]) - steps.log_prob[i]
        ratio = np.exp(log_ratio)
        clipped = np.clip(ratio, 1 - config.clip_coef, 1 + config.clip_coef)
        row = {
            "policy_loss": -min(ratio * advantage, clipped * advantage),
            "value_loss": 0.5 * min((params.value[i] - steps.target[i]) ** 2, config.vf_clip or np.inf),
            "entropy": scipy.special.entr(p).sum(),
            "approx_kl": ratio - 1 - log_ratio,
            "clip_fraction": float(ratio != clipped),
        }
        if steps.reference_logits is not None:
            q = scipy.special.softmax(steps.reference_logits[i][legal])
            row |= {"reference_kl": scipy.special.rel_entr(p, q).sum(), "kl_coef": config.kl_coef or 0.0}
        rows.append(row)
    metrics = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    loss = metrics["policy_loss"] + config.vf_coef * metrics["value_loss"] - config.ent_coef * metrics["entropy"]
    penalties = step_kl_coef * metrics["approx_kl"] + metrics.get("kl_coef", 0) * metrics.get("reference_kl", 0)
    return loss + penalties, metrics


@functools.partial(jax.jit, static_argnums=0)
@functools.partial(jax.value_and_grad, argnums=1, has_aux=True)
def loss_of(config: Config, params: Any, steps: Minibatch, step_kl_coef: jax.Array | None) -> Any:
    """((loss, metrics), gradient) of a policy whose parameters are its outputs."""
    train_state = BEFORE._replace(step_kl_coef=step_kl_coef)
    loss, (metrics, _) = with_policy(config, Table()).loss(train_state, params, steps)
    return loss, metrics


@pytest.mark.parametrize(("settings", "changes", "coef"), CASES.values(), ids=CASES.keys())
def test_loss_metrics_and_gradient_are_those_of_a_slow_loss(
    settings: dict[str, Any], changes: dict[str, Any], coef: float
) -> None:
    """The gradient is that of differences of the slow loss."""
    config, steps = dataclasses.replace(CONFIG, **settings), STEPS._replace(**changes)
    single = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32 if leaf.dtype == np.float64 else leaf.dtype), steps)
    (loss, metrics), gradient = loss_of(config, OUTPUTS, single, jnp.float32(coef) if coef else None)
    expected, expected_metrics = slow_loss(config, OUTPUTS, steps, coef)
    assert 0.2 < metrics["clip_fraction"] < 0.9
    np.testing.assert_allclose(loss, expected, rtol=1e-4)
    assert metrics.keys() == expected_metrics.keys()
    for name, number in expected_metrics.items():
        np.testing.assert_allclose(metrics[name], number, rtol=1e-4, err_msg=name)
    for part, found in zip(Outputs._fields, gradient, strict=True):
        for place in np.ndindex(found.shape):
            step = np.zeros(found.shape)
            step[place] = 1e-5
            both = [OUTPUTS._replace(**{part: getattr(OUTPUTS, part) + sign * step}) for sign in (1, -1)]
            up, down = (slow_loss(config, each, steps, coef)[0] for each in both)
            np.testing.assert_allclose(found[place], (up - down) / 2e-5, rtol=1e-3, atol=1e-6)


def test_minibatch_without_a_step_of_the_learner_has_no_gradient() -> None:
    steps = STEPS._replace(learner_mask=np.zeros(SIZE, np.bool_))
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(loss_of(CONFIG, OUTPUTS, steps, None)))


def test_weight_of_the_divergence_follows_its_target() -> None:
    learner = with_policy(dataclasses.replace(CONFIG, step_kl_coef=0.2, target_kl=0.01), Table())
    before = BEFORE._replace(step_kl_coef=jnp.float32(0.2))
    divergences = (0.021, 0.019, 0.006, 0.004)
    weights = [learner.with_step_kl(before, {"approx_kl": jnp.float32(kl)})[0].step_kl_coef for kl in divergences]
    np.testing.assert_allclose(np.array(weights), [0.3, 0.2, 0.2, 0.1], rtol=1e-6)


# -- the reference policy ------------------------------------------------------------------------------------------


def test_weight_of_0_still_measures_the_divergence_from_the_first_policy() -> None:
    for coef, is_kept in ((None, False), (0.0, True)):
        learner = PPO(dataclasses.replace(CONFIG, init_from="a", kl_coef=coef))
        start = jax.eval_shape(learner.init, jax.random.key(0))
        assert (start.reference_params is not None) == is_kept


# -- the critic learns alone ---------------------------------------------------------------------------------------

WARMUP = 2  # iterations


def outputs(learner: PPO, params: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values of every seat on random observations."""
    observations = jax.random.bernoulli(jax.random.key(0), shape=(16, *learner.env.observation_shape))
    return jax.device_get(jax.jit(learner.policy.apply)(params, observations, jnp.arange(16) % 2))


def test_policy_keeps_all_its_bits_while_the_critic_learns_and_restarts_later(untrained: Runs) -> None:
    """The optimizer has nothing of frozen gradients, and the divergence from the reference policy is 0 until then.

    With one gradient step per iteration, Adam's first moment is a tenth of the first clipped gradient.
    """
    given: dict[str, Any] = {"init_from": str(untrained.first), "critic_warmup": WARMUP}
    given |= {"kl_coef": 0.1, "final_kl_coef": 0.01, "env": "dots_and_boxes(rows=2, cols=2)", "hidden_sizes": (8,)}
    sizes = {"rollout_length": 8, "total_steps": 4 * 32, "num_minibatches": 1, "update_epochs": 1}
    changes = given | sizes | {"max_grad_norm": 3e-4, "learning_rate": 0.03, "anneal_lr": False}
    learner = PPO(dataclasses.replace(CONFIG, **changes))
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
        if steps == 1:
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


def test_arrays_of_the_critic_alone_are_those_whose_gradient_of_the_logits_is_zero() -> None:
    learner = PPO(CONFIG)
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
    """Its logits depend on all parameters."""

    def apply(self, params: Any, observation: jax.Array, seat: jax.Array) -> Any:
        return sum(leaf.sum() for leaf in jax.tree.leaves(params)) * jnp.ones((seat.size, 3)), None


def test_network_whose_critic_has_nothing_of_its_own_is_refused() -> None:
    with pytest.raises(ValueError, match="leave out critic_warmup"):
        critic_only(AllShared(**vars(PPO(CONFIG).policy)))
