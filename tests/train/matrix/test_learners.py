"""One learner: its settings, its policy and its update, with numbers computed by hand."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import ParameterError
from train.matrix.tabular import Learner, Memory, chosen_action, first_memory, policy, update


def values_after(learner: Learner, *plays: tuple[int, float], probabilities: tuple[float, ...] = (0.5, 0.5)) -> Memory:
    """The memory of a learner with values 1 and 2, alpha 0.1, after (action, reward) in this order."""
    memory = first_memory(learner, jnp.array([1.0, 2.0]))
    for action, reward in plays:
        chosen = jnp.arange(2) == action
        memory = update(learner, memory, chosen, jnp.float32(reward), jnp.array(probabilities))
    return memory


# -- policies ------------------------------------------------------------------------------------------------------


def test_epsilon_greedy_explores_over_all_actions() -> None:
    found = policy(Learner("epsilon_greedy", epsilon=0.3), jnp.array([1.0, 3.0, 2.0]), jnp.float32(1))
    np.testing.assert_allclose(found, [0.1, 0.8, 0.1], atol=1e-7)


@pytest.mark.parametrize("kind", ["boltzmann", "lenient", "faq", "lenient_faq"])
def test_other_policies_are_the_softmax_of_the_values(kind: Any) -> None:
    found = policy(Learner(kind), jnp.array([0.0, 0.5 * math.log(3)]), jnp.float32(0.5))
    np.testing.assert_allclose(found, [0.25, 0.75], atol=1e-6)


def test_softmax_does_not_overflow_at_low_temperatures() -> None:
    found = policy(Learner("boltzmann"), jnp.array([12.0, 11.99]), jnp.float32(0.01))
    np.testing.assert_allclose(found, [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))], atol=1e-4)


def test_uniform_number_draws_the_action_whose_interval_it_is_in() -> None:
    probabilities = jnp.array([0.25, 0.0, 0.75])
    draws = [0.0, 0.24, 0.25, 0.9, 0.9999999]
    found = [int(chosen_action(jnp.float32(u), probabilities).argmax()) for u in draws]
    assert found == [0, 0, 2, 2, 2]


# -- updates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["epsilon_greedy", "boltzmann"])
def test_q_learning_moves_the_value_of_the_action_towards_the_reward(kind: Any) -> None:
    found = values_after(Learner(kind, alpha=0.1), (0, 11.0), (1, 0.0), (0, 0.0))
    np.testing.assert_allclose(found.q_values, [2.0 * 0.9, 1.8], atol=1e-6)


def test_lenient_learner_takes_the_largest_of_kappa_rewards_of_an_action() -> None:
    learner = Learner("lenient", alpha=0.1, kappa=2)
    before = values_after(learner, (0, 11.0), (1, 5.0))
    np.testing.assert_array_equal(before.q_values, [1, 2])
    np.testing.assert_array_equal(before.best, [11, 5])
    after = values_after(learner, (0, 11.0), (1, 5.0), (0, -4.0))
    np.testing.assert_allclose(after.q_values, [1 + 0.1 * (11 - 1), 2], atol=1e-6)
    np.testing.assert_array_equal(after.best, [-np.inf, 5])
    np.testing.assert_array_equal(after.rewards, [0, 1])


def test_frequency_adjusted_learner_learns_faster_what_it_plays_rarely() -> None:
    """The rate is alpha * beta / p, and alpha itself for p below beta."""
    learner = Learner("faq", beta=0.3)
    often = values_after(learner, (0, 11.0), probabilities=(0.6, 0.4))
    np.testing.assert_allclose(often.q_values, [1 + 0.05 * (11 - 1), 2], atol=1e-6)
    rarely = values_after(learner, (0, 11.0), probabilities=(0.2, 0.8))
    np.testing.assert_allclose(rarely.q_values, [1 + 0.1 * (11 - 1), 2], atol=1e-6)


def test_lenient_faq_is_both() -> None:
    learner = Learner("lenient_faq", kappa=2, beta=0.3)
    found = values_after(learner, (0, 11.0), (0, -4.0), probabilities=(0.6, 0.4))
    np.testing.assert_allclose(found.q_values, [1 + 0.05 * (11 - 1), 2], atol=1e-6)


# -- settings ------------------------------------------------------------------------------------------------------


def test_defaults_are_those_of_the_study() -> None:
    learner = Learner("lenient")
    assert (learner.alpha, learner.kappa, learner.tau_schedule) == (0.001, 5, (0.5, 0.01))
    assert (Learner("faq").alpha, Learner("lenient_faq").alpha, Learner("faq").beta) == (0.1, 0.1, 0.01)


def test_temperature_is_a_number_or_changes_linearly() -> None:
    assert Learner(tau_schedule=0.25).tau(20, 80) == 0.25
    learner = Learner(tau_schedule=(1.0, 0.5))
    np.testing.assert_allclose([learner.tau(step, 80) for step in (0, 20, 80)], [1, 0.875, 0.5], atol=1e-6)


def test_learner_is_a_static_argument() -> None:
    assert hash(Learner("lenient", kappa=3)) == hash(Learner("lenient", kappa=3))
    found = jax.jit(lambda learner: jnp.int32(learner.kappa), static_argnums=0)(Learner("lenient", kappa=3))
    assert found == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "greedy"}, "kind must be one of 'epsilon_greedy', 'boltzmann', 'lenient', 'faq', 'lenient_faq'"),
        ({"kappa": 0}, "kappa must be an integer from 1 to"),
        ({"kappa": 2.5}, "kappa must be an integer from 1 to"),
        ({"alpha": 0}, "alpha must be a finite number above 0 and up to 1, not 0"),
        ({"alpha": 1.5}, "alpha must be a finite number above 0 and up to 1, not 1.5"),
        ({"beta": 0}, "beta must be a finite number above 0 and up to 1, not 0"),
        ({"beta": "much"}, "beta must be a finite number above 0 and up to 1, not 'much'"),
        ({"epsilon": -0.1}, "epsilon must be a finite number from 0 to 1, not -0.1"),
        ({"epsilon": math.nan}, "epsilon must be a finite number from 0 to 1, not nan"),
        ({"tau_schedule": (0.5, 0)}, "tau_schedule must be a finite number above 0, not 0"),
        ({"tau_schedule": math.inf}, "tau_schedule must be a finite number above 0, not inf"),
        ({"tau_schedule": "linear"}, "tau_schedule must be a finite number above 0, not 'linear'"),
    ],
)
def test_errors_name_what_is_allowed(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Learner(**wrong)
