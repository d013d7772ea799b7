"""Optimizers of optax as the learners use them."""

from typing import Any

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


def step_of(optimizer: optax.GradientTransformation, gradient: Any, opt_state: Any, weights: Any) -> tuple[Any, Any]:
    """Returns the weights and the state of the optimizer after a step; `gradient` has the leaves of `weights`."""
    with jax.numpy_dtype_promotion("standard"):  # optax needs it
        updates, opt_state = optimizer.update(gradient, opt_state, weights)
        return optax.apply_updates(weights, updates), opt_state
