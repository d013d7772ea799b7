"""Actions drawn with one random number: no noise over all actions, and no prefix sum over all of them either.

The actions are laid out in columns, action i * width + j in row i of column j:

        0          1          2      ...   width - 1
      width    width + 1  width + 2  ...
    2 width      ...

A column's sum takes one vector operation a row, whatever the size. First the column is found from their sums, then
the row in it.
"""

import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.bits import union

WORD = 32  # bits
SHORT = 256  # prefix sums of so many are a product with a triangle of ones


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """int32[], an action drawn uniformly from those that `mask` (bool[num_actions]) allows; 0 if it allows none."""
    rows = _rows(mask, WORD)
    words = union([row.astype(jnp.uint32) << np.uint32(i) for i, row in enumerate(rows)])  # bit i is from row i
    counts = jax.lax.population_count(words).astype(jnp.float32)
    upto = _prefix_sums(counts)
    chosen = jnp.floor(jax.random.uniform(key) * upto[-1])  # counted through the columns, from 0
    column = jnp.minimum((upto <= chosen).sum(dtype=jnp.int32), words.size - 1)
    before = (chosen - (upto[column] - counts[column])).astype(jnp.int32)  # legal ones above it in its column
    low = np.uint32(2**WORD - 1) >> np.arange(WORD - 1, -1, -1, dtype=np.uint32)  # bits 0 to i
    row = (jax.lax.population_count(words[column] & low).astype(jnp.int32) <= before).sum(dtype=jnp.int32)
    return jnp.where(upto[-1] > 0, row * words.size + column, 0)


def sample_action(key: jax.Array, weights: jax.Array) -> jax.Array:
    """int32[], an action drawn in proportion to `weights` (float or bool [num_actions]); 0 if all are 0.

    An action of weight 0 is never drawn, however the sums are rounded.
    """
    rows = _rows(weights.astype(jnp.float32), math.isqrt(weights.size))
    sums = sum(rows[1:], rows[0])
    upto = _prefix_sums(sums)
    point = jax.random.uniform(key) * upto[-1]
    column = _place(sums, upto, point)
    actions = np.arange(len(rows)) * sums.size + column
    inside = jnp.where(actions < weights.size, weights[jnp.minimum(actions, weights.size - 1)], 0).astype(jnp.float32)
    row = _place(inside, _prefix_sums(inside), point - (upto[column] - sums[column]))
    return jnp.where(upto[-1] > 0, row * sums.size + column, 0)


def _rows(x: jax.Array, most: int) -> Sequence[jax.Array]:
    """[width] each, at most `most` of them, zeros behind the last action. Slices: XLA would compute a padded square bit
    by bit on a CPU."""
    width = -(-x.size // most)
    rows = [x[begin : begin + width] for begin in range(0, x.size, width)]
    rows[-1] = jnp.pad(rows[-1], (0, width - rows[-1].size))
    return rows


def _place(weights: jax.Array, upto: jax.Array, point: jax.Array) -> jax.Array:
    """int32[], the first place whose prefix sum lies beyond `point`; the heaviest where rounding hits a weight of 0."""
    place = jnp.minimum((upto <= point).sum(dtype=jnp.int32), weights.size - 1)
    return jnp.where(weights[place] > 0, place, weights.argmax().astype(jnp.int32))


def _prefix_sums(x: jax.Array) -> jax.Array:
    """float32[n], inclusive."""
    if x.size > SHORT:
        return jnp.cumsum(x)
    return jnp.dot(np.tril(np.ones((x.size, x.size), np.float32)), x, precision=jax.lax.Precision.HIGHEST)
