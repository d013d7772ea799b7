"""The optimizer of learners whose learning rate is computed in every step."""

import jax
import optax


def clipped_adamw(
    rate: jax.Array | float, weight_decay: jax.Array | float, max_grad_norm: jax.Array | float
) -> optax.GradientTransformation:
    """Returns AdamW with gradients clipped by their norm. Its state does not depend on the arguments.

    Args:
      rate: the learning rate of this step.
      weight_decay: per unit of the learning rate, apart from the gradients.
      max_grad_norm: the global norm at which gradients are clipped.
    """
    return optax.chain(
        optax.clip_by_global_norm(max_grad_norm),  # pyright: ignore[reportArgumentType]  # a traced number works too
        optax.scale_by_adam(),
        optax.add_decayed_weights(weight_decay),
        optax.scale(-rate),  # pyright: ignore[reportArgumentType]  # here, too
    )
