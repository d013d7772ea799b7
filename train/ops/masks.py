"""Sums and means over the rows that count."""

import jax
import jax.numpy as jnp


def masked(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns `x` with 0 wherever the mask is False, also for NaN and infinity; `x` itself without a mask."""
    return x if mask is None else jnp.where(mask, x, 0)


def masked_mean(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns float32[], the mean of `x` where the mask is True, 0 if that is nowhere; of all `x` without a mask."""
    if mask is None:
        return x.mean(dtype=jnp.float32)
    return masked(mask, x).sum(dtype=jnp.float32) / jnp.maximum(mask.sum(dtype=jnp.float32), 1)
