"""Actions drawn with one random number and prefix sums: no noise over all actions."""

import math

import jax
import jax.numpy as jnp
import numpy as np


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """int32[], an action drawn uniformly from those that `mask` (bool[num_actions]) allows; 0 if it allows none."""
    return sample_action(key, mask)


def sample_action(key: jax.Array, weights: jax.Array) -> jax.Array:
    """int32[], an action drawn in proportion to `weights` (float or bool [num_actions]); 0 if all are 0.

    An action of weight 0 is never drawn, however the sums are rounded. The weights are cut into blocks: first the
    block is found from the blocks' sums, then the place in it. Blocks of about the square root of num_actions keep
    both sums short. Those that need no padding are preferred: on a CPU, XLA computes a padded mask bit by bit.
    """
    size = weights.shape[-1]
    root = max(1, math.isqrt(size))
    width = next((width for width in range(root, root // 2, -1) if size % width == 0), root)
    blocks = -(-size // width)
    weights = jnp.pad(weights.astype(jnp.float32), (0, blocks * width - size)).reshape(blocks, width)
    sums = weights.sum(-1)
    upto = _prefix_sums(sums)
    point = jax.random.uniform(key) * upto[-1]
    block = _place(sums, upto, point)
    inside = weights[block]
    return block * width + _place(inside, _prefix_sums(inside), point - (upto[block] - sums[block]))


def _place(weights: jax.Array, upto: jax.Array, point: jax.Array) -> jax.Array:
    """int32[], the first place whose prefix sum lies beyond `point`; the heaviest where rounding hits a weight of 0."""
    place = jnp.minimum((upto <= point).sum(dtype=jnp.int32), weights.size - 1)
    return jnp.where(weights[place] > 0, place, weights.argmax().astype(jnp.int32))


def _prefix_sums(x: jax.Array) -> jax.Array:
    """float32[n], inclusive; a product with a triangle of ones is faster than a scan at these sizes."""
    return jnp.dot(np.tril(np.ones((x.size, x.size), np.float32)), x, precision=jax.lax.Precision.HIGHEST)
