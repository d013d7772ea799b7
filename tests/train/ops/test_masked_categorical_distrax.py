"""`MaskedCategorical` has the values of `train.ops.masked_categorical`, and is a distrax.Distribution."""

from typing import Any

import distrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.sampling import MASKED_LOGIT
from train.ops.masked_categorical import kl_divergence, log_prob_and_entropy
from train.ops.masked_categorical_distrax import MaskedCategorical

ACTIONS = 7
RNG = np.random.default_rng(0)
MASK = jnp.asarray((RNG.random((15, ACTIONS)) < 0.4) | (np.arange(ACTIONS) == 2))
LOGITS, OTHER = (jnp.asarray(RNG.normal(size=MASK.shape), jnp.float32) for _ in range(2))
LEGAL = jnp.asarray(np.asarray(MASK).argmax(-1), jnp.int32)


def test_values_are_those_of_the_functions() -> None:
    actions: Any = MaskedCategorical(LOGITS, MASK)
    log_prob, entropy = log_prob_and_entropy(LOGITS, MASK, LEGAL)
    np.testing.assert_allclose(actions.log_prob(LEGAL), log_prob, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(actions.entropy(), entropy, rtol=1e-4, atol=1e-5)
    divergence = actions.kl_divergence(MaskedCategorical(OTHER, MASK))
    np.testing.assert_allclose(divergence, kl_divergence(LOGITS, OTHER, MASK), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(actions.mode(), np.where(MASK, LOGITS, -np.inf).argmax(-1))
    assert isinstance(actions, distrax.Distribution)


def test_illegal_action_has_no_probability() -> None:
    actions: Any = MaskedCategorical(LOGITS, MASK)
    illegal = jnp.asarray(np.asarray(~MASK).argmax(-1), jnp.int32)
    assert (np.asarray(actions.log_prob(illegal))[~np.asarray(MASK).all(-1)] <= MASKED_LOGIT).all()
    assert not np.asarray(actions.probs)[~np.asarray(MASK)].any()
    samples = actions.sample(seed=jax.random.key(0), sample_shape=(100,))
    assert samples.dtype == jnp.int32
    assert np.take_along_axis(np.asarray(MASK)[None], np.asarray(samples)[..., None], -1).all()
