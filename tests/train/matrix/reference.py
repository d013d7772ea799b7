"""Runs of tabular learners as plain Python loops, written from the definitions."""

import numpy as np

from train.matrix.tabular import Learner


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
