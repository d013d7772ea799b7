"""PPO from a trained policy: the critic learns alone at first, and a divergence holds the policy near its start."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.networks import random_leaves
from tests.train.conftest import Runs
from train.models.critic_params import critic_only
from train.models.policy import Policy
from train.ppo import PPO, Config

WARMUP = 2  # iterations
CONFIG = Config(
    env="dots_and_boxes(rows=2, cols=2)",  # that of the runs of `untrained`
    hidden_sizes=(8,),
    num_envs=4,
    rollout_length=8,
    total_steps=4 * 32,
    update_epochs=2,
    num_minibatches=2,
    learning_rate=0.03,
    anneal_lr=False,
)


def from_run(runs: Runs, **changes: Any) -> Config:
    """Settings of a run that starts from a trained policy."""
    given: dict[str, Any] = {"init_from": str(runs.first), "critic_warmup": WARMUP}
    return dataclasses.replace(CONFIG, **given | {"kl_coef": 0.1, "final_kl_coef": 0.01} | changes)


def outputs(learner: PPO, params: Any) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values of every seat on random observations."""
    rng = np.random.default_rng(0)
    observations = jnp.asarray(rng.random((16, *learner.env.observation_shape)) < 0.5)
    seats = jnp.arange(16) % learner.env.num_players
    return jax.device_get(jax.jit(learner.policy.apply)(params, observations, seats))


# -- the critic learns alone ---------------------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=["shared", *(pytest.param(each, marks=pytest.mark.slow) for each in ("shared_encoder", "independent"))],
)
def trained(request: pytest.FixtureRequest, untrained: Runs) -> tuple[PPO, list[Any], list[dict[str, jax.Array]]]:
    """A learner, its train states before and after each of WARMUP + 2 iterations, and the metrics."""
    one_step = {"num_minibatches": 1, "update_epochs": 1, "max_grad_norm": 3e-4}
    learner = PPO(from_run(untrained, sharing=request.param, **one_step))
    iterate, metrics = jax.jit(learner.iterate), list[dict[str, jax.Array]]()
    states: list[Any] = [learner.load(jax.jit(learner.init)(jax.random.key(0)))]
    for _ in range(WARMUP + 2):
        train_state, of_iteration = iterate(states[-1])
        states.append(train_state)
        metrics.append(of_iteration)
    return learner, states, metrics


def test_policy_keeps_all_its_bits_while_the_critic_learns_and_changes_later(trained: Any) -> None:
    learner, states, _ = trained
    first_logits, values = outputs(learner, states[0].params)
    for iteration, train_state in enumerate(states[1:]):
        logits, new_values = outputs(learner, train_state.params)
        assert (new_values != values).all()
        assert (logits == first_logits).all() == (iteration < WARMUP)
        values = new_values


def test_optimizer_has_nothing_of_frozen_gradients_and_restarts_with_the_policy(trained: Any) -> None:
    """With one gradient step per iteration, Adam's first moment is a tenth of the first clipped gradient."""
    learner, states, _ = trained
    own = jax.tree.leaves(critic_only(learner.policy))
    for iteration, train_state in enumerate(states[1:]):
        adam, frozen = train_state.opt_state[1][0], iteration < WARMUP
        mu, nu = map(jax.tree.leaves, (adam.mu, adam.nu))
        assert [not m.any() and not v.any() for m, v in zip(mu, nu, strict=True)] == [frozen and not o for o in own]
        steps = iteration + 1 - (0 if frozen else WARMUP)
        assert (adam.count == steps).all()
        if steps == 1 and learner.config.sharing != "independent":  # where each seat has a norm
            norm = np.sqrt(sum(float(jnp.square(m).sum()) for m in mu))
            np.testing.assert_allclose(norm, 0.1 * learner.config.max_grad_norm, rtol=1e-3)


def test_divergence_grows_with_the_policy_and_its_weight_falls(trained: Any) -> None:
    _, _, metrics = trained
    np.testing.assert_allclose([float(row["kl_coef"]) for row in metrics], [0.1, 0.07, 0.04, 0.01], rtol=1e-5)
    moved = [row["reference_kl"] > 1e-5 for row in metrics]  # measured before the one step of an iteration
    assert moved == [False] * (WARMUP + 1) + [True]


@pytest.mark.parametrize(
    "network",
    ["mlp", *(pytest.param(each, marks=pytest.mark.slow) for each in ("residual_mlp(blocks=1)", "resnet(blocks=1)"))],
)
def test_arrays_of_the_critic_alone_are_those_whose_gradient_of_the_logits_is_zero(network: str) -> None:
    learner = PPO(dataclasses.replace(CONFIG, network=network, hidden_sizes=()))
    params = random_leaves(jax.eval_shape(learner.init_params, jax.random.key(0)), divisor=3)
    observations = jax.random.bernoulli(jax.random.key(0), shape=(8, *learner.env.observation_shape))

    @jax.jit
    def gradient(params: Any) -> Any:
        weights = jnp.linspace(-1, 2, learner.env.num_actions)
        return jax.grad(lambda p: (learner.policy.apply(p, observations, jnp.zeros(8, jnp.int32))[0] * weights).sum())(
            params
        )

    own = critic_only(learner.policy)
    has_none = jax.tree.map(lambda leaf: not bool(np.any(leaf)), gradient(params))
    assert own == has_none
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


# -- the divergence from the reference policy --------------------------------------------------------------------------


def test_weight_of_the_divergence_is_constant_without_a_final_one() -> None:
    config = dataclasses.replace(CONFIG, init_from="a", kl_coef=0.3)
    weights = [float(PPO(config).kl_weight(jnp.int32(iteration))) for iteration in (0, 2, 3, 9)]
    np.testing.assert_allclose(weights, 0.3)
    config = dataclasses.replace(config, final_kl_coef=0.0)
    weights = [float(PPO(config).kl_weight(jnp.int32(iteration))) for iteration in (0, 2, 3, 9)]
    np.testing.assert_allclose(weights, [0.3, 0.1, 0, 0], atol=1e-7)  # 9 is after the end


# -- settings -------------------------------------------------------------------------------------
