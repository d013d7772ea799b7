"""The choice among legal actions beside its definition in double precision, with 0 log 0 = 0."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from jaxgames.sampling import MASKED_LOGIT
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy, sample_and_log_prob

ROWS, ACTIONS = 40, 37
INF = np.inf
ZERO_ROWS = [  # logits with actions of probability 0; the last action is illegal
    [0, 1, -INF, 5],
    [-INF, 2, -INF, 5],
    [3e38, 3e38, -3e38, 0],  # differences overflow
    [-3e38, -3e38, -INF, 0],
    [-INF, -INF, -INF, 5],
]


def rows(scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits, masks of one legal action to all of them, and a legal action of each row."""
    rng = np.random.default_rng(0)
    mask = rng.random((ROWS, ACTIONS)) < np.linspace(0, 1, ROWS)[:, None]
    action = rng.integers(ACTIONS, size=ROWS)
    mask[np.arange(ROWS), action] = True
    assert {1, ACTIONS} <= set(mask.sum(-1))
    return scale * rng.normal(size=(ROWS, ACTIONS)) + 100 * rng.normal(size=(ROWS, 1)), mask, action


CASES: dict[str, tuple[Any, Any, Any]] = {
    **{f"scale {scale}": rows(scale) for scale in (0.01, 1.0, 30.0)},
    "probability 0": (
        np.repeat(ZERO_ROWS, 3, axis=0),
        np.tile([True, True, True, False], (15, 1)),
        np.tile(range(3), 5),
    ),
}

sampled: Any = jax.jit(sample_and_log_prob)


@jax.jit
def judged(logits: Any, mask: Any, action: Any, weights: Any) -> Any:
    """The log-probabilities and entropies, and the gradient of their sum with weights for each."""
    found, pull_back = jax.vjp(lambda logits: log_prob_and_entropy(logits, mask, action), logits)
    return found, pull_back(weights)[0]


@jax.jit
def divergence(p: Any, q: Any, mask: Any) -> Any:
    """The divergences, and the gradients of their sum in both logits."""
    found, pull_back = jax.vjp(lambda p, q: kl_divergence(p, q, mask), p, q)
    return found, *pull_back(jnp.ones_like(found))


@pytest.mark.parametrize(("logits", "mask", "action"), CASES.values(), ids=CASES.keys())
def test_values_gradients_and_divergences_are_those_of_the_definition(logits: Any, mask: Any, action: Any) -> None:
    """By scipy's `entr` and `rel_entr`. The divergence is from a mixture with uniform probabilities and from itself."""
    logits, number = logits.astype(np.float32), np.arange(len(logits))
    z = np.maximum(logits.astype(np.float64), np.finfo(np.float32).min)  # so legal actions of -inf alone are equal
    p = scipy.special.softmax(np.where(mask, z, -INF), axis=1)
    q = np.where(mask, 0.9 * p + 0.1 / mask.sum(1, keepdims=True), 0)
    log_p, log_q = (np.log(each, where=each > 0, out=np.zeros_like(p)) for each in (p, q))
    entropy = scipy.special.entr(p).sum(1)

    weights = np.random.default_rng(1).normal(size=(2, len(logits))).astype(np.float32)
    (found, found_entropy), gradient = judged(logits, mask, action, tuple(weights))
    possible = p[number, action] > 0
    np.testing.assert_allclose(found[possible], log_p[number, action][possible], rtol=1e-4, atol=3e-5)
    impossible = np.asarray(found)[~possible]
    assert ((impossible > MASKED_LOGIT) & (impossible < 0.4 * MASKED_LOGIT)).all()
    np.testing.assert_allclose(found_entropy, entropy, rtol=1e-4, atol=3e-5)
    of_log_prob, of_entropy = np.eye(p.shape[1])[action] - p, -p * (log_p + entropy[:, None])
    expected = weights[0][:, None] * of_log_prob + weights[1][:, None] * of_entropy
    np.testing.assert_allclose(gradient, expected, rtol=1e-3, atol=1e-4)
    assert not np.asarray(gradient)[~mask].any()

    found, of_p, of_q = divergence(logits, np.where(mask, log_q, 0).astype(np.float32), mask)
    expected = scipy.special.rel_entr(p, q).sum(1)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2e-5)
    np.testing.assert_allclose(of_p, p * (log_p - log_q - expected[:, None]), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(of_q, q - p, rtol=1e-3, atol=1e-4)
    for zeros in divergence(logits, logits, mask):
        np.testing.assert_allclose(zeros, 0, atol=1e-6)

    actions, log_probs = sampled(jax.random.key(0), logits, mask)
    assert (p[number, actions] > 0).all()
    np.testing.assert_allclose(log_probs, log_p[number, actions], rtol=1e-4, atol=3e-5)


def test_row_without_a_legal_action_is_finite_and_has_no_gradient() -> None:
    """Nor does an illegal action that is asked for get a gradient of its own."""
    mask = np.array([[False, False], [True, False]])
    logits, action = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 1])
    for weights, expected in (((50, 0), [[0, 0], [-50, 0]]), ((0, 50), np.zeros((2, 2)))):
        (log_prob, entropy), gradient = judged(
            logits, mask, action, tuple(np.full(2, each, np.float32) for each in weights)
        )
        assert log_prob.tolist() == [MASKED_LOGIT, MASKED_LOGIT]
        assert entropy.tolist() == [0, 0]
        np.testing.assert_array_equal(gradient, expected)  # the softmax's part of log p
    for zeros in divergence(logits[:1], logits[1:], mask[:1]):
        np.testing.assert_array_equal(zeros, np.zeros_like(zeros))


def test_actions_are_sampled_in_proportion_to_their_probabilities() -> None:
    draws = 20_000
    logits, mask = np.log(np.array([1, 5, 2, 3, 4], np.float32)), np.array([True, False, True, True, True])
    both = (np.tile([row, row[::-1]], (draws // 2, 1)) for row in (logits, mask))  # every second row is mirrored
    action, log_prob = sampled(jax.random.key(1), *both)
    action = np.where(np.arange(draws) % 2, 4 - np.asarray(action), action)
    expected = np.array([1, 0, 2, 3, 4]) / 10
    counts = np.bincount(action, minlength=5)
    assert counts[1] == 0
    np.testing.assert_allclose(counts / draws, expected, atol=5 * 0.5 / np.sqrt(draws))
    np.testing.assert_allclose(np.exp(log_prob), expected[action], rtol=1e-5)
