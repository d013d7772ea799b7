"""The choice among legal actions beside distrax's categorical distribution and the definitions with 0 log 0 = 0."""

from collections.abc import Callable
from typing import Any

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from jaxgames.sampling import MASKED_LOGIT
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy, sample_and_log_prob

ROWS, ACTIONS = 40, 37


def of_distrax(logits: jax.Array, mask: jax.Array) -> Any:
    return distrax.Categorical(logits=jnp.where(mask, logits, jnp.finfo(jnp.float32).min))


def by_distrax(logits: jax.Array, mask: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    actions = of_distrax(logits, mask)
    return actions.log_prob(action), actions.entropy()


def rows(seed: int, scale: float) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Logits, masks of one legal action to all of them, and a legal action of each row."""
    rng = np.random.default_rng(seed)
    mask = rng.random((ROWS, ACTIONS)) < np.linspace(0, 1, ROWS)[:, None]
    action = rng.integers(ACTIONS, size=ROWS)
    mask[np.arange(ROWS), action] = True
    assert {1, ACTIONS} <= set(mask.sum(-1))
    logits = scale * rng.normal(size=(ROWS, ACTIONS)) + 100 * rng.normal(size=(ROWS, 1))
    return jnp.asarray(logits, jnp.float32), jnp.asarray(mask), jnp.asarray(action, jnp.int32)


jitted: Any = jax.jit(log_prob_and_entropy)
sampled: Any = jax.jit(sample_and_log_prob)
divergence: Any = jax.jit(kl_divergence)
divergence_of_distrax: Any = jax.jit(lambda p, q, mask: of_distrax(p, mask).kl_divergence(of_distrax(q, mask)))


@jax.jit
def gradients(
    logits: jax.Array, mask: jax.Array, action: jax.Array, weight: float = 1.0
) -> tuple[jax.Array, jax.Array]:
    """Those of the weighted sum of the log-probabilities, and of that of the entropies."""
    of_log_prob, of_entropy = (
        jax.grad(lambda x, part=part: weight * log_prob_and_entropy(x, mask, action)[part].sum())(logits)
        for part in (0, 1)
    )
    return of_log_prob, of_entropy


def weighed(judge: Callable[..., Any], logits: jax.Array, mask: jax.Array, action: jax.Array) -> Any:
    """Every row's two results with weights of their own, signs included; and the results."""
    log_prob, entropy = judge(logits, mask, action)
    total = jnp.dot(jnp.linspace(-1, 2, ROWS), log_prob) + jnp.dot(jnp.linspace(3, -1, ROWS), entropy)
    return total, (log_prob, entropy)


gradient_of: Any = jax.jit(jax.grad(weighed, argnums=1, has_aux=True), static_argnums=0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
def test_values_gradients_and_divergences_equal_those_of_distrax(scale: float) -> None:
    given = rows(0, scale)
    logits, mask, _ = given
    (found, values), (expected, expected_values) = (
        gradient_of(judge, *given) for judge in (log_prob_and_entropy, by_distrax)
    )
    np.testing.assert_allclose(values, expected_values, rtol=1e-4, atol=3e-5)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert not np.asarray(found)[~np.asarray(mask)].any()  # illegal actions have no gradient
    reference = rows(1, scale)[0]
    expected = divergence_of_distrax(logits, reference, mask)
    np.testing.assert_allclose(divergence(logits, reference, mask), expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_array_equal(divergence(logits, logits, mask), 0)


def test_row_without_a_legal_action_is_finite_and_has_no_gradient() -> None:
    """Nor does an illegal action that is asked for get a gradient of its own."""
    mask = jnp.array([[False, False], [True, False]])
    logits, action = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([1, 1])
    log_prob, entropy = jitted(logits, mask, action)
    assert log_prob.tolist() == [MASKED_LOGIT, MASKED_LOGIT]
    assert entropy.tolist() == [0, 0]
    of_log_prob, of_entropy = gradients(logits, mask, action, 50.0)
    np.testing.assert_array_equal(of_log_prob, [[0, 0], [-50, 0]])  # as of distrax: the softmax's part of log p
    np.testing.assert_array_equal(of_entropy, np.zeros((2, 2)))
    total, both = divergence_and_gradients(logits[:1], logits[1:], mask[:1])
    assert total == 0
    np.testing.assert_array_equal(both, np.zeros((2, 1, 2)))


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


divergence_and_gradients: Any = jax.jit(jax.value_and_grad(lambda p, q, mask: kl_divergence(p, q, mask).sum(), (0, 1)))
INF = np.inf
ZERO_ROWS = {  # logits, of which the last one is illegal
    "one of -inf": [0, 1, -INF, 5],
    "all but one of -inf": [-INF, 2, -INF, 5],
    "differences that overflow": [3e38, 3e38, -3e38, 0],
    "the lowest of two": [-3e38, -3e38, -INF, 0],
    "all of -inf": [-INF, -INF, -INF, 5],
}


@pytest.mark.parametrize("row", ZERO_ROWS)
def test_legal_action_of_probability_0_adds_nothing_and_leaves_gradients_finite(row: str) -> None:
    """Against the definitions with 0 log 0 = 0, in double precision: scipy's `entr` and `rel_entr`.

    The divergence is from a mixture of the probabilities with uniform ones, and from the probabilities themselves.
    """
    logits, mask = jnp.array([ZERO_ROWS[row]], jnp.float32), jnp.array([[True, True, True, False]])
    legal = np.maximum(np.array(ZERO_ROWS[row][:3], np.float64), np.finfo(np.float32).min)  # so all of -inf are equal
    p = np.append(scipy.special.softmax(legal), 0)
    q = np.append(0.9 * p[:3] + 0.1 / 3, 0)
    log_p, entropy = np.log(p, where=p > 0, out=np.zeros(4)), scipy.special.entr(p).sum()
    for action in range(3):
        found = jitted(logits, mask, jnp.array([action]))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[1], [entropy], atol=1e-6)
        low, high = (log_p[action] - 1e-6, log_p[action] + 1e-6) if p[action] else (MASKED_LOGIT, 0.4 * MASKED_LOGIT)
        assert low < found[0][0] < high
        of_log_prob, of_entropy = gradients(logits, mask, jnp.array([action]))
        np.testing.assert_allclose(of_log_prob, [np.eye(4)[action] - p], atol=1e-6)
        np.testing.assert_allclose(of_entropy, [-p * (log_p + entropy)], atol=1e-6)

    total, (of_p, of_q) = divergence_and_gradients(logits, jnp.log(jnp.array([q], jnp.float32)), mask)
    expected = scipy.special.rel_entr(p, q).sum()
    terms = log_p - np.log(q, where=q > 0, out=np.zeros(4))
    np.testing.assert_allclose(total, expected, atol=1e-5)
    np.testing.assert_allclose(of_p, [p * (terms - expected)], atol=1e-5)
    np.testing.assert_allclose(of_q, [q - p], atol=1e-5)
    total, both = divergence_and_gradients(logits, logits, mask)
    assert total == 0
    np.testing.assert_allclose(both, np.zeros((2, 1, 4)), atol=1e-6)

    fifty = (jnp.tile(x, (50, 1)) for x in (logits, mask))
    actions, log_probs = sampled(jax.random.key(0), *fifty)
    assert (p[np.asarray(actions)] > 0).all()
    np.testing.assert_allclose(log_probs, log_p[np.asarray(actions)], atol=1e-6)
