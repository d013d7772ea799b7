"""`MaskedCategorical` is a distrax.Distribution with the values of distrax.Categorical over the legal actions."""

from typing import Any

import distrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.sampling import MASKED_LOGIT
from train.ops.masked_categorical_distrax import MaskedCategorical

ACTIONS = 7
RNG = np.random.default_rng(0)
MASK = jnp.asarray((RNG.random((3, 5, ACTIONS)) < 0.4) | (np.arange(ACTIONS) == 2))
LOGITS, OTHER = (jnp.asarray(RNG.normal(size=MASK.shape), jnp.float32) for _ in range(2))
LEGAL = jnp.asarray(np.asarray(MASK).argmax(-1), jnp.int32)


def masked(logits: jax.Array) -> Any:
    return MaskedCategorical(logits, MASK)


def reference(logits: jax.Array) -> Any:
    return distrax.Categorical(logits=jnp.where(MASK, logits, jnp.finfo(jnp.float32).min))


QUANTITIES = {
    "log_prob": lambda make, logits: make(logits).log_prob(LEGAL),
    "entropy": lambda make, logits: make(logits).entropy(),
    "kl_divergence": lambda make, logits: make(logits).kl_divergence(make(OTHER)),
    "cross_entropy_gap": lambda make, logits: make(OTHER).kl_divergence(make(logits)),
    "probs": lambda make, logits: make(logits).probs,
    "prob": lambda make, logits: make(logits).prob(LEGAL),
}


def test_masked_categorical_is_a_distrax_distribution() -> None:
    actions: Any = masked(LOGITS)
    assert (actions.batch_shape, actions.event_shape, actions.num_categories) == ((3, 5), (), ACTIONS)
    assert jax.eval_shape(lambda key: actions.sample(seed=key), jax.random.key(0)).dtype == jnp.int32 == actions.dtype
    assert actions[1].batch_shape == (5,)
    assert isinstance(actions, distrax.Distribution)


def test_values_are_those_of_distrax() -> None:
    for quantity in QUANTITIES.values():
        found, expected = jax.jit(lambda logits, of=quantity: (of(masked, logits), of(reference, logits)))(LOGITS)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_legal_logits_of_minus_infinity_have_probability_0() -> None:
    never = np.asarray(MASK).cumsum(-1) == 2  # the second legal action of a row, illegal ones up to the next included
    found = jax.jit(
        lambda logits: (masked(logits).probs, masked(logits).entropy(), masked(logits).kl_divergence(masked(logits)))
    )(jnp.where(never, -jnp.inf, LOGITS))
    weights = np.exp(LOGITS) * MASK * ~never
    probs = weights / weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(found[0], probs, atol=1e-6)
    np.testing.assert_allclose(found[1], -(probs * np.log(np.where(probs > 0, probs, 1))).sum(-1), atol=1e-5)
    np.testing.assert_array_equal(found[2], 0)


def test_mode_is_the_most_probable_legal_action() -> None:
    np.testing.assert_array_equal(
        jax.jit(lambda logits: masked(logits).mode())(LOGITS), np.where(MASK, LOGITS, -np.inf).argmax(-1)
    )


@pytest.mark.slow
def test_samples_are_legal_and_frequent_as_their_probability() -> None:
    actions = masked(LOGITS)
    samples, log_probs = jax.jit(lambda key: actions.sample_and_log_prob(seed=key, sample_shape=(4000,)))(
        jax.random.key(0)
    )
    assert samples.shape == log_probs.shape == (4000, 3, 5)
    np.testing.assert_allclose(log_probs, actions.log_prob(samples), rtol=1e-4, atol=1e-5)
    frequency = np.stack([(np.asarray(samples) == action).mean(0) for action in range(ACTIONS)], -1)
    np.testing.assert_allclose(frequency, actions.probs, atol=0.04)  # five standard deviations
    assert not frequency[~np.asarray(MASK)].any()


def test_illegal_action_has_no_probability() -> None:
    illegal = jnp.asarray(np.asarray(~MASK).argmax(-1), jnp.int32)
    log_prob, probs = jax.jit(lambda logits: (masked(logits).log_prob(illegal), masked(logits).probs))(LOGITS)
    assert (np.asarray(log_prob)[~np.asarray(MASK).all(-1)] <= MASKED_LOGIT).all()
    assert not np.asarray(probs)[~np.asarray(MASK)].any()
