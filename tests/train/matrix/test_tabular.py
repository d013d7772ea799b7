"""Tabular learners: runs beside slow loops, and shares of runs beside independent programs."""

import functools
import math
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import arena
from train.matrix import tabular
from train.matrix.games import MatrixGame, Point, logit_equilibrium, matrix_game, nash
from train.matrix.tabular import Learner, Result, Start, run, share_near, start_runs, uniforms


def test_defaults_are_those_of_the_study() -> None:
    learner = Learner("lenient")
    assert (learner.alpha, learner.kappa, learner.tau_schedule) == (0.001, 5, (0.5, 0.01))
    assert (Learner("faq").alpha, Learner("lenient_faq").alpha, Learner("faq").beta) == (0.1, 0.1, 0.01)


class SlowLearner:
    """One player of one run, with constant settings."""

    def __init__(self, learner: Learner, q_values: np.ndarray, epsilon: float, alpha: float) -> None:
        self.learner, self.q, self.epsilon, self.alpha = learner, [float(q) for q in q_values], epsilon, alpha
        self.rewards: list[list[float]] = [[] for _ in self.q]

    def policy(self, tau: float) -> list[float]:
        n = len(self.q)
        if self.learner.kind == "epsilon_greedy":
            greedy = self.q.index(max(self.q))
            return [self.epsilon / n + (1 - self.epsilon) * (a == greedy) for a in range(n)]
        weights = [np.exp((q - max(self.q)) / tau) for q in self.q]
        return [w / sum(weights) for w in weights]

    def learn(self, action: int, reward: float, probability: float) -> None:
        rate = self.alpha
        if self.learner.kind in ("faq", "lenient_faq"):
            rate *= min(self.learner.beta / probability, 1)
        if self.learner.kind not in ("lenient", "lenient_faq"):
            self.q[action] += rate * (reward - self.q[action])
            return
        self.rewards[action].append(reward)
        if len(self.rewards[action]) == self.learner.kappa:
            self.q[action] += rate * (max(self.rewards[action]) - self.q[action])
            self.rewards[action] = []


def play(players: tuple[SlowLearner, SlowLearner], payoffs: np.ndarray, uniforms: np.ndarray, tau: float) -> None:
    """Plays one step per row of `uniforms`, float[steps, 2]. `payoffs` is float[2, n, m]."""
    for numbers in uniforms:
        policies = [player.policy(tau) for player in players]
        actions = [draw(number, policy) for number, policy in zip(numbers, policies, strict=True)]
        for seat, player in enumerate(players):
            action = actions[seat]
            player.learn(action, float(payoffs[seat][tuple(actions)]), policies[seat][action])


def draw(number: float, policy: list[float]) -> int:
    """The first action at which the sum of the probabilities is above the number."""
    total = 0.0
    for action, probability in enumerate(policy[:-1]):
        total += probability
        if number < total:
            return action
    return len(policy) - 1


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


def test_leniency_of_one_reward_is_boltzmann_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the random numbers of 4, 4 and 2 steps are drawn at once, in place of ten."""
    expected = dilemma_runs(Learner("boltzmann", **FAST))
    monkeypatch.setattr(tabular, "MAX_DRAWS", 4 * 64)
    jax.tree.map(np.testing.assert_array_equal, dilemma_runs(Learner("lenient", kappa=1, **FAST)), expected)


def test_trajectory_goes_from_the_start_to_the_end() -> None:
    result = dilemma_runs(Learner("boltzmann", **FAST))
    assert result.times.tolist() == [*range(0, 1001, 10)]
    assert run(DILEMMA, Learner(), KEY, 2, 250, "values").times.tolist() == [*range(0, 250, 3), 250]
    assert result.trajectory.shape == (101, 64, 2, 2)
    np.testing.assert_array_equal(result.trajectory[-1], result.policies)
    assert np.abs(result.trajectory[0] - result.policies).max() > 0.1
    np.testing.assert_allclose(result.trajectory.sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", get_args(tabular.Kind))
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


def test_run_is_near_a_point_if_all_probabilities_are() -> None:
    point = (np.array([0.6, 0.4]), np.array([0.0, 1.0, 0.0]))
    policies = np.zeros((4, 2, 3))
    policies[:, 0, :2] = [[0.6, 0.4], [0.56, 0.44], [0.54, 0.46], [0.6, 0.4]]
    policies[:, 1] = [[0, 1, 0], [0.04, 0.96, 0], [0, 1, 0], [0.0, 0.9, 0.1]]
    assert share_near(policies, point) == (0.5, arena.wilson(2, 4))
    assert share_near(policies, point, tolerance=0.11)[0] == 1


RUNS = 1000
KEY_OF_SHARES = jax.random.key(0)
EPSILON_THRESHOLD = 2 / 11  # with a larger epsilon, S1 is no best reply to a player that is greedy for S1


def runs_of(game: str, learner: Learner, start: Start = "values") -> Result:
    return run(matrix_game(game), learner, KEY_OF_SHARES, RUNS, 100_000, start)


def corner(x: float, y: float) -> Point:
    """The pair of policies that play the first of two actions with these probabilities."""
    return np.array([x, 1 - x]), np.array([y, 1 - y])


def assert_share_is(found: float, expected: float) -> None:
    mean = min(max((found + expected) / 2, 1 / RUNS), 1 - 1 / RUNS)
    assert abs(found - expected) <= 3 * math.sqrt(mean * (1 - mean) * 2 / RUNS)


@pytest.mark.slow  # a minute together
@pytest.mark.parametrize(("kind", "expected"), [("boltzmann", 0.1085), ("lenient", 0.354)])
def test_leniency_enlarges_the_share_of_runs_that_reach_the_pareto_optimum(kind: Any, expected: float) -> None:
    result = runs_of("subsidy", Learner(kind), "policies")
    first, second = (share_near(result.policies, point)[0] for point in (corner(1, 1), corner(0, 0)))
    assert_share_is(first, expected)
    assert first + second == pytest.approx(1)


@pytest.mark.slow  # a minute together
@pytest.mark.parametrize(("epsilon", "expected"), [(0.1, 0.250), (0.2, 0.0)])
def test_exploration_above_a_threshold_loses_the_pareto_optimum(epsilon: float, expected: float) -> None:
    """Runs that are greedy for S1 play it with 1 - epsilon / 2: at epsilon 0.1 that is near the mixed equilibrium."""
    assert (epsilon > EPSILON_THRESHOLD) == (expected == 0)
    result = runs_of("subsidy", Learner("epsilon_greedy", epsilon=epsilon))
    greedy = share_near(result.greedy_policies, corner(1, 1))[0]
    assert_share_is(greedy, expected)
    assert share_near(result.policies, nash(matrix_game("subsidy"))[2])[0] == greedy
    assert share_near(result.policies, corner(1, 1))[0] == 0


@pytest.mark.slow  # a minute together
@pytest.mark.parametrize("name", ["battle_of_sexes", "subsidy_printed"])
def test_runs_end_at_either_pure_equilibrium_and_never_at_the_mixed_one(name: str) -> None:
    """The games are symmetric, so half of the runs end at each."""
    result = runs_of(name, Learner("boltzmann"))
    first, second, mixed = (share_near(result.policies, point)[0] for point in nash(matrix_game(name)))
    assert abs(first - 0.5) <= 3 * math.sqrt(0.25 / RUNS)
    assert first + second == pytest.approx(1, abs=0.005)
    assert mixed == 0


@pytest.mark.slow  # a minute together
@pytest.mark.parametrize("kind", ["boltzmann", "faq"])
def test_mean_policy_at_constant_temperature_is_the_logit_equilibrium(kind: Any) -> None:
    result = runs_of("biased_rps", Learner(kind, tau_schedule=0.05))
    for found, expected in zip(
        result.policies.mean(0), logit_equilibrium(matrix_game("biased_rps"), 0.05), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=0.03)
