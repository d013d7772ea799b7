"""The masked categorical distribution as a `distrax.Distribution`, for training loops that use distrax.

    actions = MaskedCategorical(logits, mask)
    action, log_prob = actions.sample_and_log_prob(seed=key)
    entropy = actions.entropy()

`examples/own_learner.py` trains with it. `train.ppo` calls the functions of `train.ops.masked_categorical` directly,
because the import of distrax takes a second or two. distrax is an extra: `pip install ".[distrax]"` in a checkout.
"""

from typing import Any

import distrax
import jax
import jax.numpy as jnp

from jaxgames.sampling import MASKED_LOGIT, shifted_logits
from train.ops.masked_categorical import log_prob_and_entropy, sample_and_log_prob


class MaskedCategorical(distrax.Distribution[Any, Any, Any]):
    """The softmax of logits over the actions that a mask allows; an illegal action has probability exactly 0."""

    def __init__(self, logits: jax.Array, mask: jax.Array) -> None:
        """Args are float[..., num_actions] and bool[..., num_actions], with an action allowed in every row."""
        super().__init__()
        self._logits, self._mask = jnp.broadcast_arrays(logits, mask)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return ()

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self._logits.shape[:-1]

    @property
    def dtype(self) -> Any:
        return jnp.int32

    @property
    def num_categories(self) -> int:
        return self._logits.shape[-1]

    @property
    def mask(self) -> jax.Array:
        """bool[..., num_actions]."""
        return self._mask

    @property
    def logits(self) -> jax.Array:
        """float[..., num_actions]: log-probabilities; MASKED_LOGIT for illegal actions."""
        z = shifted_logits(self._logits, self._mask)
        return jnp.where(self._mask, z - jnp.log(jnp.exp(z).sum(-1, keepdims=True)), MASKED_LOGIT)

    @property
    def probs(self) -> jax.Array:
        """float[..., num_actions]."""
        return jnp.exp(self.logits)

    def log_prob(self, value: jax.Array) -> jax.Array:
        """float[...]: log-probabilities of actions; MASKED_LOGIT for illegal ones."""
        return self.log_prob_and_entropy(value)[0]

    def entropy(self) -> jax.Array:
        """float[...], in nats."""
        return self.log_prob_and_entropy(jnp.zeros(self.batch_shape, jnp.int32))[1]

    def log_prob_and_entropy(self, value: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Both in one pass, as in `train.ops.masked_categorical`."""
        value = jnp.asarray(value)
        shape = (*value.shape, self.num_categories)
        logits, mask = (jnp.broadcast_to(x, shape).reshape(-1, shape[-1]) for x in (self._logits, self._mask))
        log_prob, entropy = log_prob_and_entropy(logits, mask, value.reshape(-1))
        return log_prob.reshape(value.shape), entropy.reshape(value.shape)

    def mode(self) -> jax.Array:
        """int32[...]: the most probable legal action."""
        return shifted_logits(self._logits, self._mask).argmax(-1).astype(jnp.int32)

    def kl_divergence(self, other_dist: Any, **kwargs: Any) -> jax.Array:
        """float[...]: KL(self || other), of anything with normalised `logits`."""
        log_probs, others = self.logits, other_dist.logits
        terms = jnp.where(self._mask, jnp.exp(log_probs) * (log_probs - others), 0)
        return terms.sum(-1)

    def _sample_n(self, key: jax.Array, n: int) -> jax.Array:
        return self._sample_n_and_log_prob(key, n)[0]

    def _sample_n_and_log_prob(self, key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
        shape = (n, *self._logits.shape)
        logits, mask = (jnp.broadcast_to(x, shape).reshape(-1, shape[-1]) for x in (self._logits, self._mask))
        action, log_prob = sample_and_log_prob(key, logits, mask)
        return action.reshape(shape[:-1]), log_prob.reshape(shape[:-1])

    def __getitem__(self, index: Any) -> "MaskedCategorical":
        return MaskedCategorical(self._logits[index], self._mask[index])
