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
from train.matrix.learners import Learner
from train.matrix.tabular import Result, Start, near, run, share_near, start_runs, uniforms

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


def test_runs_are_those_of_slow_loops() -> None:
    """Two different learners on a game of 2 x 4 actions."""
    lenient = Learner("lenient_faq", kappa=2, beta=0.4, alpha=0.1, tau_schedule=0.5)
    learners = (lenient, Learner("epsilon_greedy", alpha=0.1, tau_schedule=0.5))
    runs, steps = 5, 60
    result = run(TWO_BY_FOUR, learners, KEY, runs, steps, "policies", every=30)
    start_key, play_key = jax.random.split(KEY)
    payoffs = TWO_BY_FOUR.payoffs.astype(np.float32)
    starts = compiled_starts(learners, payoffs, start_key, runs, steps, "policies")
    numbers = np.asarray(jax.jit(jax.vmap(lambda step: uniforms(play_key, step, runs)))(np.arange(steps)))
    for one in range(runs):
        row, column = (
            SlowLearner(learner, np.asarray(memory.q_values[one]), epsilon=0.2, alpha=0.1)
            for learner, memory in zip(learners, starts, strict=True)
        )
        for point in (1, 2):
            play((row, column), payoffs, numbers[30 * (point - 1) : 30 * point, one], tau=0.5)
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["epsilon_greedy", "boltzmann", "lenient", "faq", "lenient_faq"])
def test_run_does_not_depend_on_what_else_is_computed(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the number of runs, on the points that are kept, nor on how many random numbers are drawn at once.

    Programs of different shapes round differently, and in the end a rounding error changes an action.
    """
    learner, game = Learner(kind), matrix_game("biased_rps")
    expected = run(game, learner, KEY, 20, 500, "policies")
    fewer = run(game, learner, KEY, 10, 500, "policies", every=150)
    assert fewer.times.tolist() == [0, 150, 300, 450, 500]
    np.testing.assert_allclose(fewer.q_values, expected.q_values[:10], atol=1e-5)
    np.testing.assert_allclose(fewer.trajectory[2], expected.trajectory[60, :10], atol=1e-4)
    monkeypatch.setattr("train.matrix.tabular.MAX_DRAWS", 20 * 13)
    blocks = run(game, learner, KEY, 20, 500, "policies", every=100)
    np.testing.assert_allclose(blocks.q_values, expected.q_values, atol=1e-5)


# -- starts --------------------------------------------------------------------------------------------------------


def first_values(game: MatrixGame, learner: Learner, start: Start, runs: int) -> list[np.ndarray]:
    """The values of both players before the first step, float32[runs, n] and float32[runs, m]."""
    payoffs = jnp.asarray(game.payoffs, jnp.float32)
    memories = compiled_starts((learner, learner), payoffs, KEY, runs, 1000, start)
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
    assert near(policies, point).tolist() == [True, True, False, False]
    assert share_near(policies, point) == (0.5, arena.wilson(2, 4))
    assert share_near(policies, point, tolerance=0.11)[0] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_runs": 0}, "num_runs must be an integer from 1"),
        ({"steps": 1.5}, "steps must be an integer from 1"),
        ({"start": "random"}, "start must be one of 'values', 'policies', not 'random'"),
        ({"every": 0}, "every must be an integer from 1 to 2147483647 or None"),
    ],
)
def test_errors_name_what_is_allowed(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"num_runs": 1, "steps": 1, "start": "values"} | changes
    with pytest.raises(ParameterError, match=message):
        run(DILEMMA, Learner(), KEY, **arguments)


@pytest.mark.parametrize("wrong", ["faq", (Learner(),), (Learner(),) * 3, [Learner(), Learner()]])
def test_learners_are_one_or_a_pair(wrong: Any) -> None:
    with pytest.raises(ParameterError, match=r"learner must be a Learner or a pair of them, such as Learner\('faq'\)"):
        run(DILEMMA, wrong, KEY, num_runs=1, steps=1)
