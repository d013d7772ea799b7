"""Runs of tabular learners: beside slow loops, bit for bit where two must agree, and shares of thousands of runs."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import ParameterError, arena
from tests.train.matrix.reference import SlowLearner, play
from train.matrix.games import MatrixGame, matrix_game, nash
from train.matrix.tabular import Learner, Result, Start, run, share_near, start_runs, uniforms

KEY = jax.random.key(3)
TWO_BY_FOUR = MatrixGame("two by four", np.random.default_rng(0).normal(size=(2, 2, 4)))
DILEMMA = matrix_game("prisoners_dilemma")
compiled_starts: Any = jax.jit(start_runs, static_argnums=(0, 3, 4, 5))
FAST: dict[str, Any] = {"alpha": 0.05, "tau_schedule": (0.5, 0.1)}  # learns within a thousand steps


@functools.cache
def dilemma_runs(learner: Learner) -> Result:
    """64 runs of 1,000 steps."""
    return run(DILEMMA, learner, KEY, 64, 1000, "values")


# -- runs ----------------------------------------------------------------------------------------------------------


def test_leniency_of_one_reward_is_boltzmann_bit_for_bit() -> None:
    boltzmann, lenient = dilemma_runs(Learner("boltzmann", **FAST)), dilemma_runs(Learner("lenient", kappa=1, **FAST))
    for found, expected in zip(lenient, boltzmann, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_boltzmann_learners_defect() -> None:
    result = dilemma_runs(Learner("boltzmann", **FAST))
    share, interval = share_near(result.policies, nash(DILEMMA)[0])
    assert share > 0.9
    assert interval == arena.wilson(round(64 * share), 64)


def test_trajectory_goes_from_the_start_to_the_end() -> None:
    result = dilemma_runs(Learner("boltzmann", **FAST))
    assert result.times.tolist() == [*range(0, 1001, 10)]
    assert result.trajectory.shape == (101, 64, 2, 2)
    np.testing.assert_array_equal(result.trajectory[-1], result.policies)
    assert np.abs(result.trajectory[0] - result.policies).max() > 0.1
    np.testing.assert_allclose(result.trajectory.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", ["lenient_faq", "epsilon_greedy"])
def test_runs_are_those_of_slow_loops(kind: Any) -> None:
    """On a game of 2 x 4 actions."""
    learner = Learner(kind, kappa=2, beta=0.4, alpha=0.1, tau_schedule=0.5)
    runs, steps = 5, 60
    result = run(TWO_BY_FOUR, learner, KEY, runs, steps, "policies")
    start_key, play_key = jax.random.split(KEY)
    payoffs = TWO_BY_FOUR.payoffs.astype(np.float32)
    starts = compiled_starts(learner, payoffs, start_key, runs, steps, "policies")
    numbers = np.asarray(jax.jit(jax.vmap(lambda step: uniforms(play_key, step, runs)))(np.arange(steps)))
    for one in range(runs):
        row, column = (
            SlowLearner(learner, np.asarray(memory.q_values[one]), epsilon=0.2, alpha=0.1) for memory in starts
        )
        for point in (30, 60):
            play((row, column), payoffs, numbers[point - 30 : point, one], tau=0.5)
            for seat, player in enumerate((row, column)):
                policy = result.trajectory[point, one, seat]
                np.testing.assert_allclose(policy[: len(player.q)], player.policy(0.5), atol=1e-5)
                np.testing.assert_array_equal(policy[len(player.q) :], 0)
        np.testing.assert_allclose(result.q_values[one, 0, :2], row.q, atol=1e-5)
        np.testing.assert_allclose(result.q_values[one, 1], column.q, atol=1e-5)
    np.testing.assert_array_equal(result.q_values[:, 0, 2:], -np.inf)
    np.testing.assert_array_equal(result.greedy_policies.argmax(-1), result.q_values.argmax(-1))


def test_random_numbers_of_a_run_do_not_depend_on_the_number_of_runs() -> None:
    np.testing.assert_array_equal(uniforms(KEY, 7, 3), uniforms(KEY, 7, 9)[:3])


def test_last_point_of_a_trajectory_is_after_all_steps() -> None:
    assert run(DILEMMA, Learner(), KEY, 2, 250, "values").times.tolist() == [*range(0, 250, 3), 250]


# -- starts --------------------------------------------------------------------------------------------------------


def first_values(game: MatrixGame, learner: Learner, start: Start, runs: int) -> list[np.ndarray]:
    """The values of both players before the first step, float32[runs, n] and float32[runs, m]."""
    payoffs = jnp.asarray(game.payoffs, jnp.float32)
    memories = compiled_starts(learner, payoffs, KEY, runs, 1000, start)
    return [np.asarray(memory.q_values) for memory in memories]


def test_start_values_are_uniform_over_the_own_payoffs() -> None:
    for own, values in zip(TWO_BY_FOUR.payoffs, first_values(TWO_BY_FOUR, Learner(), "values", 4000), strict=True):
        shares = (values - own.min()) / np.ptp(own)
        assert 0 <= shares.min() < 0.01
        assert 0.99 < shares.max() <= 1
        np.testing.assert_allclose(shares.mean(0), 0.5, atol=0.02)
        np.testing.assert_allclose(shares.var(0), 1 / 12, atol=0.005)


def test_start_policies_are_uniform_and_leave_no_action_out() -> None:
    """Of two actions, the first has probability .02 to .98; of n, each has the distribution of Dirichlet(1, ..., 1)."""
    found = first_values(TWO_BY_FOUR, Learner("lenient"), "policies", 4000)
    for n, own, values in zip((2, 4), TWO_BY_FOUR.payoffs, found, strict=True):
        policies = np.exp((values - own.mean()) / 0.5)
        np.testing.assert_allclose(policies.sum(-1), 1, atol=1e-5)
        weights = (policies - 0.04 / n) / 0.96
        assert -1e-6 < weights.min() < 0.01
        np.testing.assert_allclose(weights.mean(0), 1 / n, atol=0.02)
        np.testing.assert_allclose(weights.var(0), (n - 1) / n**2 / (n + 1), atol=0.005)


# -- ends ----------------------------------------------------------------------------------------------------------


def test_run_is_near_a_point_if_all_probabilities_are() -> None:
    point = (np.array([0.6, 0.4]), np.array([0.0, 1.0, 0.0]))
    policies = np.zeros((4, 2, 3))
    policies[:, 0, :2] = [[0.6, 0.4], [0.56, 0.44], [0.54, 0.46], [0.6, 0.4]]
    policies[:, 1] = [[0, 1, 0], [0.04, 0.96, 0], [0, 1, 0], [0.0, 0.9, 0.1]]
    assert share_near(policies, point) == (0.5, arena.wilson(2, 4))
    assert share_near(policies, point, tolerance=0.11)[0] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_runs": 0}, "num_runs must be an integer from 1"),
        ({"steps": 1.5}, "steps must be an integer from 1"),
        ({"start": "random"}, "start must be one of 'values', 'policies', not 'random'"),
    ],
)
def test_errors_name_what_is_allowed(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"num_runs": 1, "steps": 1, "start": "values"} | changes
    with pytest.raises(ParameterError, match=message):
        run(DILEMMA, Learner(), KEY, **arguments)
