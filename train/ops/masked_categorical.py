"""The choice among legal actions as training needs it: drawn, and judged again, each in as few passes as it takes.

With z the logits of a row less the largest legal one, S the sum of exp(z) over legal actions, p = exp(z) / S:

    log p(a) = z(a) - log S        H = log S - sum p z

    d log p(a) / d logits(b) = [a = b] - p(b)        d H / d logits(b) = -p(b) (log p(b) + H)

The arrays [B, num_actions] are the largest of a training step wherever a game has hundreds of actions. What XLA derives
from a categorical distribution passes over them again for each of its sums; here the exponentials are computed once,
and the whole gradient is one pass (benchmarks/training.py).
"""

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames

MASKED_LOGIT = np.float32(
    -1e30
)  # log-probability of what cannot happen; finite, also times a weight, so that 0 times it is 0

Two = tuple[jax.Array, jax.Array]


def sample_and_log_prob(key: jax.Array, logits: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Actions int32[B] of a batch of boards, drawn among the legal ones, and their log-probabilities float32[B]."""
    z = _shifted(logits, mask)
    weights = jnp.exp(z)
    action = jax.vmap(jaxgames.sample_action)(jax.random.split(key, logits.shape[0]), weights)
    return action, _of(z, action) - jnp.log(jnp.maximum(weights.sum(-1), 1))


@jax.custom_vjp
def log_prob_and_entropy(logits: jax.Array, mask: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of the softmax over legal actions; differentiable in the logits, once.

    Args:
      logits: float32[B, num_actions].
      mask: bool[B, num_actions]. An illegal action has probability exactly 0 and adds nothing to the entropy.
      action: int32[B], whose log-probability is asked for; of an illegal one it is MASKED_LOGIT.

    Returns:
      Log-probabilities float32[B], entropies float32[B] in nats; 0 is the entropy of a row without a legal action.
    """
    return _forward(logits, mask, action)[0]


def _forward(logits: jax.Array, mask: jax.Array, action: jax.Array) -> tuple[Two, tuple[jax.Array, ...]]:
    z = _shifted(logits, mask)
    weights = jnp.exp(z)
    total = jnp.maximum(weights.sum(-1), 1)  # at least 1 wherever an action is legal
    log_total = jnp.log(total)
    entropy = log_total - (weights * z).sum(-1) / total
    return (_of(z, action) - log_total, entropy), (z, weights, action, total, log_total, entropy)


def _backward(saved: tuple[jax.Array, ...], gradient: Two) -> tuple[jax.Array, None, None]:
    z, weights, action, total, log_total, entropy = (x[:, None] if x.ndim == 1 else x for x in saved)
    of_log_prob, of_entropy = (x[:, None] for x in gradient)
    by_all = -weights / total * (of_log_prob + of_entropy * (z - log_total + entropy))
    by_itself = jnp.where((np.arange(z.shape[1]) == action) & (z > MASKED_LOGIT), of_log_prob, 0)
    return by_all + by_itself, None, None


log_prob_and_entropy.defvjp(_forward, _backward)


def _shifted(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """float32[B, num_actions], 0 for the likeliest legal action and MASKED_LOGIT for illegal ones."""
    best = jnp.where(mask, logits, MASKED_LOGIT).max(-1, keepdims=True)
    return jnp.where(mask, logits - best, MASKED_LOGIT)


def _of(x: jax.Array, action: jax.Array) -> jax.Array:
    """float32[B], the entry of each row's action."""
    return jnp.take_along_axis(x, action[:, None], axis=1)[:, 0]
