"""Uniformly random legal actions: one random number and prefix sums, no noise over all actions."""

import math

import jax
import jax.numpy as jnp
import numpy as np


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """int32[], an action drawn uniformly from those that `mask` (bool[num_actions]) allows; 0 if it allows none.

    The number k of the action among the legal ones is drawn first; then the block that holds it is found from
    the blocks' counts, and the action inside the block. Blocks of the square root of num_actions keep both sums short.
    """
    width = max(1, math.isqrt(mask.shape[-1]))
    blocks = -(-mask.shape[-1] // width)
    mask = jnp.pad(mask, (0, blocks * width - mask.shape[-1])).reshape(blocks, width)

    upto = _prefix_sums(mask.sum(-1, dtype=jnp.float32))  # exact in float32 below 2**24 actions
    k = jnp.floor(jax.random.uniform(key) * upto[-1])  # may round up to the total itself: held back below
    k = jnp.minimum(k, upto[-1] - 1)
    block = jnp.minimum((upto <= k).sum(dtype=jnp.int32), blocks - 1)
    inside = mask[block].astype(jnp.float32)
    skipped = upto[block] - inside.sum()
    place = (_prefix_sums(inside) <= k - skipped).sum(dtype=jnp.int32)
    return jnp.where(upto[-1] > 0, block * width + place, 0)


def _prefix_sums(x: jax.Array) -> jax.Array:
    """float32[n], inclusive; a product with a triangle of ones is faster than a scan at these sizes."""
    return jnp.dot(np.tril(np.ones((x.size, x.size), np.float32)), x, precision=jax.lax.Precision.HIGHEST)
