"""Sampling, log-probability, entropy and divergence of a masked categorical distribution.

For one row, let z be the logits minus the largest legal one, S the sum of exp(z) over legal actions, p = exp(z) / S:

    log p(a) = z(a) - log S        H = log S - sum p z

    d log p(a) / d logits(b) = [a = b] - p(b)        d H / d logits(b) = -p(b) (log p(b) + H)

In a game with hundreds of actions the arrays [B, num_actions] are the largest of a training step. For a usual
categorical distribution, XLA's program reads them once for each of its sums. Here the exponentials are computed once,
and the gradient of log p(a) and H is one pass.

In all functions, `logits` are float32[B, num_actions] and `mask` is bool[B, num_actions], the legal actions.
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.sampling import MASKED_LOGIT, shifted_logits

LogProbAndEntropy = tuple[jax.Array, jax.Array]


def sample_and_log_prob(key: jax.Array, logits: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns actions int32[B], sampled among the legal ones, and their log-probabilities float32[B]."""
    z = shifted_logits(logits, mask)
    weights = jnp.exp(z)
    action = jax.vmap(jaxgames.sample_action)(jax.random.split(key, logits.shape[0]), weights)
    return action, _entry(z, action) - jnp.log(jnp.maximum(weights.sum(-1), 1))


def kl_divergence(logits: jax.Array, reference: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns float32[B], the Kullback-Leibler divergence (nats) of the softmax over legal actions from another one.

        sum over legal actions a of p(a) (log p(a) - log q(a)),  p of `logits`, q of `reference` (as `logits`)

    It is 0 in a row without a legal action. It can be differentiated in both.
    """
    p, q = (shifted_logits(each, mask) for each in (logits, reference))
    weights = jnp.exp(p)
    total = jnp.maximum(weights.sum(-1), 1)
    log_of_totals = jnp.log(total) - jnp.log(jnp.maximum(jnp.exp(q).sum(-1), 1))
    return (weights * jnp.where(mask, p - q, 0)).sum(-1) / total - log_of_totals


@jax.custom_vjp
def log_prob_and_entropy(logits: jax.Array, mask: jax.Array, action: jax.Array) -> LogProbAndEntropy:
    """Returns log-probabilities float32[B] and entropies float32[B] (nats) of the softmax over legal actions.

    They can be differentiated in the logits once, not twice. An illegal action has probability exactly 0 and adds
    nothing to the entropy, which is 0 in a row without a legal action. `action` is int32[B]; the log-probability of an
    illegal one is MASKED_LOGIT, that of a legal one is above it.
    """
    return _forward(logits, mask, action)[0]


def _forward(logits: jax.Array, mask: jax.Array, action: jax.Array) -> tuple[LogProbAndEntropy, tuple[jax.Array, ...]]:
    z = shifted_logits(logits, mask)
    weights = jnp.exp(z)
    total = jnp.maximum(weights.sum(-1), 1)  # at least 1 wherever an action is legal
    log_total = jnp.log(total)
    entropy = log_total - (weights * z).sum(-1) / total
    return (_entry(z, action) - log_total, entropy), (z, weights, action, total, log_total, entropy)


def _backward(saved: tuple[jax.Array, ...], gradient: LogProbAndEntropy) -> tuple[jax.Array, None, None]:
    z, weights, action, total, log_total, entropy = (x[:, None] if x.ndim == 1 else x for x in saved)
    log_prob_gradient, entropy_gradient = (x[:, None] for x in gradient)
    of_all = -weights / total * (log_prob_gradient + entropy_gradient * (z - log_total + entropy))
    of_action = jnp.where((np.arange(z.shape[1]) == action) & (z > MASKED_LOGIT), log_prob_gradient, 0)
    return of_all + of_action, None, None


log_prob_and_entropy.defvjp(_forward, _backward)


def _entry(x: jax.Array, action: jax.Array) -> jax.Array:
    """Returns float32[B], the entry of each row's action."""
    return jnp.take_along_axis(x, action[:, None], axis=1)[:, 0]
