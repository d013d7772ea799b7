"""Where 1,000 runs of the study's learners end, after 100,000 steps, beside the shares of independent programs.

Those are loops over steps in numpy and in JAX, with 1,000 to 4,000 runs. So a share may differ by three standard errors
of the difference of two shares of 1,000 runs.
"""

import functools
import math
from typing import Any

import jax
import numpy as np
import pytest

from train.matrix.games import Point, logit_equilibrium, matrix_game, nash
from train.matrix.tabular import Learner, Result, Start, run, share_near

pytestmark = pytest.mark.slow

RUNS = 1000
KEY = jax.random.key(0)
EPSILON_THRESHOLD = 2 / 11  # with a larger epsilon, S1 is no best reply to a player that is greedy for S1


@functools.cache
def runs_of(game: str, learner: Learner, start: Start = "values") -> Result:
    return run(matrix_game(game), learner, KEY, RUNS, 100_000, start)


def corner(x: float, y: float) -> Point:
    """The pair of policies that play the first of two actions with these probabilities."""
    return np.array([x, 1 - x]), np.array([y, 1 - y])


def assert_share_is(found: float, expected: float) -> None:
    mean = min(max((found + expected) / 2, 1 / RUNS), 1 - 1 / RUNS)
    assert abs(found - expected) <= 3 * math.sqrt(mean * (1 - mean) * 2 / RUNS)


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Learner("boltzmann"), 0.1085),
        (Learner("lenient", kappa=2), 0.237),
        (Learner("lenient", kappa=5), 0.354),
        (Learner("lenient", kappa=10), 0.356),
    ],
    ids=["1", "2", "5", "10"],
)
def test_leniency_enlarges_the_share_of_runs_that_reach_the_pareto_optimum(learner: Learner, expected: float) -> None:
    result = runs_of("subsidy", learner, "policies")
    first, second = (share_near(result.policies, point)[0] for point in (corner(1, 1), corner(0, 0)))
    assert_share_is(first, expected)
    assert first + second == pytest.approx(1)


def test_runs_from_random_values_hide_leniency() -> None:
    """With gaps of 5 between the values, no other action is tried at a temperature of 0.5."""
    for learner, expected in ((Learner("boltzmann"), 0.256), (Learner("lenient"), 0.280)):
        result = runs_of("subsidy", learner)
        assert_share_is(share_near(result.policies, corner(1, 1))[0], expected)


@pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.250), (0.2, 0.0)])
def test_exploration_above_a_threshold_loses_the_pareto_optimum(epsilon: float, expected: float) -> None:
    """Runs that are greedy for S1 play it with 1 - epsilon / 2: at epsilon 0.1 that is near the mixed equilibrium."""
    assert (epsilon > EPSILON_THRESHOLD) == (expected == 0)
    result = runs_of("subsidy", Learner("epsilon_greedy", epsilon=epsilon))
    greedy = share_near(result.greedy_policies, corner(1, 1))[0]
    assert_share_is(greedy, expected)
    assert share_near(result.policies, nash(matrix_game("subsidy"))[2])[0] == greedy
    assert share_near(result.policies, corner(1, 1))[0] == 0


@pytest.mark.parametrize(
    ("learner", "of_policies", "of_greedy"),
    [
        (Learner("epsilon_greedy"), 0.0, 0.949),
        (Learner("boltzmann"), 0.990, 0.990),
        (Learner("lenient", kappa=10), 0.600, 0.936),
        (Learner("faq"), 1.0, 1.0),
    ],
    ids=["epsilon_greedy", "boltzmann", "lenient", "faq"],
)
def test_learners_defect_in_the_dilemma(learner: Learner, of_policies: float, of_greedy: float) -> None:
    """With kappa 10 many runs have not ended after 100,000 steps."""
    result = runs_of("prisoners_dilemma", learner)
    assert_share_is(share_near(result.policies, corner(0, 0))[0], of_policies)
    assert_share_is(share_near(result.greedy_policies, corner(0, 0))[0], of_greedy)


@pytest.mark.parametrize("name", ["battle_of_sexes", "subsidy_printed"])
def test_runs_end_at_either_pure_equilibrium_and_never_at_the_mixed_one(name: str) -> None:
    """The games are symmetric, so half of the runs end at each."""
    result = runs_of(name, Learner("boltzmann"))
    first, second, mixed = (share_near(result.policies, point)[0] for point in nash(matrix_game(name)))
    assert abs(first - 0.5) <= 3 * math.sqrt(0.25 / RUNS)
    assert first + second == pytest.approx(1, abs=0.005)
    assert mixed == 0


@pytest.mark.parametrize("kind", ["boltzmann", "faq"])
def test_mean_policy_at_constant_temperature_is_the_logit_equilibrium(kind: Any) -> None:
    result = runs_of("biased_rps", Learner(kind, tau_schedule=0.05))
    for found, expected in zip(
        result.policies.mean(0), logit_equilibrium(matrix_game("biased_rps"), 0.05), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=0.03)


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Learner("boltzmann"), (0.220, 0.567, 0.213)),
        (Learner("lenient"), (0.376, 0.542, 0.082)),
        (Learner("faq"), (0.230, 0.569, 0.201)),
    ],
    ids=["boltzmann", "lenient", "faq"],
)
def test_policies_never_end_at_the_mixed_equilibrium_of_rock_paper_scissors(
    learner: Learner, expected: tuple[float, ...]
) -> None:
    result = runs_of("biased_rps", learner)
    assert share_near(result.policies, nash(matrix_game("biased_rps"))[0])[0] == 0
    second_half = result.trajectory[result.times > 50_000].mean((0, 1))
    np.testing.assert_allclose(second_half, [expected, expected], atol=0.03)
