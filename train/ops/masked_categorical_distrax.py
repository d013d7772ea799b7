"""The masked categorical distribution as a `distrax.Categorical`, for training loops that use distrax.

    actions = MaskedCategorical(logits, mask)
    action, log_prob = actions.sample_and_log_prob(seed=key)
    entropy = actions.entropy()

`examples/own_learner.py` trains with it. `train.ppo` calls the functions of `train.ops.masked_categorical`, whose
gradients are faster. distrax is an extra: `pip install ".[distrax]"` in a checkout.
"""

import distrax
import jax
import jax.numpy as jnp

from jaxgames.sampling import MASKED_LOGIT


class MaskedCategorical(distrax.Categorical):
    """The softmax of logits over the actions that a mask allows; an illegal action has probability exactly 0."""

    def __init__(self, logits: jax.Array, mask: jax.Array) -> None:
        """Args are float[..., num_actions] and bool[..., num_actions], with an action allowed in every row."""
        super().__init__(logits=jnp.where(mask, logits, MASKED_LOGIT), dtype=jnp.int32)
