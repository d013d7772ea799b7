"""benchmarks.training_peers: the estimates of its loops, by hand."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.training_peers import PPO_SETTINGS, Step, advantages_of, ppo_loss


def steps_of(value: jax.Array, **changes: Any) -> Step:
    blank: dict[str, Any] = dict.fromkeys(Step._fields, jnp.zeros_like(value))
    return Step(**(blank | {"value": value} | changes))


def test_advantages_count_what_the_other_seat_gets_with_a_minus() -> None:
    """Three steps on two boards; the game on the second one ends with its second step."""
    reward = jnp.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    done = jnp.array([[False, False], [False, True], [False, False]])
    steps = steps_of(reward=reward, value=jnp.array([[0.5, 0.5], [0.25, 0.25], [0.0, 0.0]]), done=done)
    found = np.asarray(advantages_of(steps, jnp.array([1.0, 1.0]), gamma=0.5, gae_lambda=0.5))
    third = -0.5 * 1
    second = -0.25 - 0.25 * third
    np.testing.assert_allclose(found[:, 0], [-0.5 * 0.25 - 0.5 - 0.25 * second, second, third])
    np.testing.assert_allclose(found[:, 1], [-0.5 * 0.25 - 0.5 - 0.25 * 0.75, 1 - 0.25, third])


def test_loss_of_the_loop_is_that_computed_by_hand() -> None:
    """Two decisions between two legal actions of three, with ratios of 2, which counts as 1.2, and 1."""
    outputs = jnp.zeros((2, 3)), jnp.array([1.0, 0.0])
    network = SimpleNamespace(apply=lambda params, observation: outputs)
    mask, log_prob = jnp.array([[True, True, False]] * 2), jnp.log(jnp.array([0.25, 0.5]))
    steps = steps_of(mask=mask, action=jnp.array([0, 1]), log_prob=log_prob, value=jnp.array([1.0, 0.0]))
    loss = ppo_loss(network, None, steps, jnp.array([3.0, 1.0]), jnp.array([0.0, 0.0]))
    expected = -(1.2 - 1) / 2 + PPO_SETTINGS["vf_coef"] * 0.5 / 2 - PPO_SETTINGS["ent_coef"] * np.log(2)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
