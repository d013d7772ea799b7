"""Tabular learners: runs beside slow loops, and the distributions that they start from."""

from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import arena
from train.matrix import tabular
from train.matrix.games import MatrixGame
from train.matrix.tabular import Learner, Start, run, share_near, start_runs, uniforms


def test_defaults_are_those_of_the_study() -> None:
    learner = Learner("lenient")
    assert (learner.alpha, learner.kappa, learner.tau_schedule) == (0.001, 5, (0.5, 0.01))
    assert (Learner("faq").alpha, Learner("lenient_faq").alpha, Learner("faq").beta) == (0.1, 0.1, 0.01)


class SlowLearner:
    """One player of one run."""

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


def play(players: tuple[SlowLearner, SlowLearner], payoffs: np.ndarray, numbers: np.ndarray, tau: float) -> None:
    """Plays one step. `numbers` is float[2], `payoffs` float[2, n, m]."""
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
compiled_starts: Any = jax.jit(start_runs, static_argnums=(0, 3, 4, 5))


# -- runs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(tabular.Kind))
def test_runs_are_those_of_slow_loops(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a game of 2 x 4 actions, with a temperature that falls, and random numbers of two steps drawn at once."""
    runs, steps = 5, 250
    monkeypatch.setattr(tabular, "MAX_DRAWS", 2 * runs)
    learner = Learner(kind, kappa=2, beta=0.4, alpha=0.1, tau_schedule=(0.5, 0.3))
    result = run(TWO_BY_FOUR, learner, KEY, runs, steps, "policies")
    assert result.times.tolist() == [*range(0, 250, 3), 250]
    start_key, play_key = jax.random.split(KEY)
    payoffs = TWO_BY_FOUR.payoffs.astype(np.float32)
    starts = compiled_starts(learner, payoffs, start_key, runs, steps, "policies")
    numbers = np.asarray(jax.jit(jax.vmap(lambda step: uniforms(play_key, step, runs)))(np.arange(steps)))
    for one in range(runs):
        row, column = (
            SlowLearner(learner, np.asarray(memory.q_values[one]), epsilon=0.2, alpha=0.1) for memory in starts
        )
        for step in range(steps + 1):
            tau = 0.5 - 0.2 * step / steps
            for seat, player in enumerate((row, column) if step in result.times else ()):
                policy = result.trajectory[result.times.tolist().index(step), one, seat]
                np.testing.assert_allclose(policy[: len(player.q)], player.policy(tau), atol=1e-4)
                np.testing.assert_array_equal(policy[len(player.q) :], 0)
            if step < steps:
                play((row, column), payoffs, numbers[step, one], tau)
        np.testing.assert_allclose(result.q_values[one, 0, :2], row.q, atol=1e-4)
        np.testing.assert_allclose(result.q_values[one, 1], column.q, atol=1e-4)
    np.testing.assert_array_equal(result.policies, result.trajectory[-1])
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
