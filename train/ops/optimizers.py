"""Optimizers of optax and their schedules, as the learners use them."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

Number = jax.Array | float


def make_optimizer(
    rate: Number | Callable[[Any], Any], max_grad_norm: Number, weight_decay: Number | None = None, eps: float = 1e-8
) -> optax.GradientTransformation:
    """Returns Adam, or with `weight_decay` AdamW, of gradients that are clipped by their global norm.

    Args:
      rate: the learning rate, or a function of the gradient steps before (int32[]).
      max_grad_norm: the norm at which gradients are clipped.
      weight_decay: per unit of the learning rate, apart from the gradients.
      eps: of Adam.
    """
    given: Any = rate, max_grad_norm, weight_decay  # traced numbers work too, which optax does not say
    rate, max_grad_norm, weight_decay = given
    adam = optax.adam(rate, eps=eps) if weight_decay is None else optax.adamw(rate, eps=eps, weight_decay=weight_decay)
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), adam)


def linear(first: Number, last: Number, iteration: jax.Array, num_iterations: int) -> jax.Array:
    """Returns float32[], a number that changes linearly from the first iteration of a run to its last one.

    `iteration` is int32[], the iterations before; `num_iterations` those of the run.
    """
    done = jnp.minimum(iteration.astype(jnp.float32) / max(num_iterations - 1, 1), 1.0)
    return jnp.float32(first) + (jnp.float32(last) - jnp.float32(first)) * done


def restarted(opt_state: Any, when: jax.Array) -> Any:
    """Returns the state of an optimizer; where `when` (bool[]), with moments and count of 0 in Adam.

    Adam divides by moments that its count corrects. If parameters had no gradients for a while, that count would make
    their first steps up to six times too large. The count of the learning rate goes on.
    """

    def is_adam(node: Any) -> bool:
        return isinstance(node, optax.ScaleByAdamState)

    zeroed = functools.partial(jax.tree.map, lambda leaf: jnp.where(when, 0, leaf))
    return jax.tree.map(lambda node: zeroed(node) if is_adam(node) else node, opt_state, is_leaf=is_adam)
