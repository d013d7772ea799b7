"""Random actions, without noise per action and without a prefix sum over all actions.

`random_action` on a GPU or TPU takes the legal action with the highest priority. The priority of an action is a hash of
its number and of 64 random bits. So the mask and the action can be computed in one pass, by one kernel.

On CPUs, and for weights, one random number decides. The actions are laid out in columns, action i * width + j in row i
of column j:

        0          1          2      ...   width - 1
      width    width + 1  width + 2  ...
    2 width      ...

With weights w[i, j], a column has the sum c[j] = sum_i w[i, j], and the cumulative sum C[j] = c[0] + ... + c[j]. The
inverse of the cumulative distribution is computed in two steps, for one u drawn uniformly from [0, 1):

    target = u * C[width - 1]
    column = the first j with C[j] > target
    row    = the first i with w[0, column] + ... + w[i, column] > target - C[column - 1]

Action (i, j) then has the probability w[i, j] / C[width - 1]. The sums of all columns take one vector operation per
row, for any width.
"""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import written_shape
from jaxgames._platforms import by_platform
from jaxgames.bits import union

PrefixSums = Callable[[jax.Array], jax.Array]  # float32[n] to float32[n], inclusive

BITS_PER_WORD = 32

# The logit and log-probability of an illegal action. It is finite, even multiplied by a weight, so its product with a
# probability of 0 is 0.
MASKED_LOGIT = np.float32(-1e30)
LOWEST_LOGIT = np.finfo(np.float32).min

MATMUL_PREFIX_SUM_MAX = 256  # on a CPU, prefix sums of up to this length multiply by a triangular matrix of ones


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns int32[], an action drawn uniformly from those that `mask` allows; 0 if no action is allowed.

    The mask is bool[num_actions], as `env.legal_action_mask` returns it. With the same key a CPU draws another action
    than a GPU or TPU.

    Raises TypeError for other types, such as swapped arguments, ValueError for a batch.
    """
    _check_arguments("random_action(key, mask)", key, mask, "bool[num_actions]", [np.bool_])
    by_rank = functools.partial(_random_action, prefix_sums=_matmul_prefix_sums)
    return by_platform(key, mask, cpu=by_rank, library=_action_of_highest_priority)


def sample_action(key: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns int32[], an action drawn in proportion to `weights`; 0 if all weights are 0.

    An action of weight 0 is never drawn, whatever the rounding of the sums. The weights, float or bool [num_actions],
    are not negative.

    Raises TypeError for other types, such as swapped arguments, ValueError for a batch.
    """
    _check_arguments("sample_action(key, weights)", key, weights, "float[num_actions]", [np.bool_, np.number])
    return _for_platform(_sample_action, key, weights)


def shifted_logits(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns float32[B, num_actions], the logits such that the largest legal one is 0; MASKED_LOGIT for illegal ones.

    That of a legal action is at least MASKED_LOGIT / 2, also where its logit is -inf or the difference overflows. So
    the product with a probability of 0 is 0. If all legal logits are -inf, all are 0.

    Args:
      logits: float[B, num_actions].
      mask: bool[B, num_actions], the legal actions.
    """
    legal = jnp.where(mask, jnp.maximum(logits, LOWEST_LOGIT), LOWEST_LOGIT)
    return jnp.where(mask, jnp.maximum(legal - legal.max(-1, keepdims=True), MASKED_LOGIT / 2), MASKED_LOGIT)


def _action_of_highest_priority(key: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns int32[], the result of `random_action`; each action has a priority, a hash of it and of random bits.

    Of two equal priorities, which have a chance of 2**-31, the first wins. Source of the hash: Wellons, Prospecting for
    Hash Functions, 2018 (lowbias32).
    """
    before, after = jax.random.bits(key, (2,))
    hashed = (np.arange(mask.size, dtype=np.uint32) ^ before) * np.uint32(0x9E3779B9)
    for by, multiplier in ((16, 0x7FEB352D), (15, 0x846CA68B)):  # a one-to-one mix of 32 bits
        hashed = (hashed ^ (hashed >> np.uint32(by))) * np.uint32(multiplier)
    priorities = (hashed ^ (hashed >> np.uint32(16)) ^ after) | 1
    return jnp.where(mask, priorities, 0).argmax().astype(jnp.int32)


def _random_action(key: jax.Array, mask: jax.Array, prefix_sums: PrefixSums) -> jax.Array:
    """Returns int32[], the result of `random_action`; the columns are words of bits, one bit for each row."""
    rows = _rows(mask, BITS_PER_WORD)
    words = union([row.astype(jnp.uint32) << np.uint32(i) for i, row in enumerate(rows)])  # bit i is from row i
    counts = jax.lax.population_count(words).astype(jnp.float32)
    cumulative = prefix_sums(counts)
    target = jnp.floor(jax.random.uniform(key) * cumulative[-1])  # legal actions before the one to draw
    column = jnp.minimum((cumulative <= target).sum(dtype=jnp.int32), words.size - 1)
    rank = (target - (cumulative[column] - counts[column])).astype(jnp.int32)  # legal actions above it in its column
    up_to_bit = np.uint32(2**BITS_PER_WORD - 1) >> np.arange(BITS_PER_WORD - 1, -1, -1, dtype=np.uint32)  # bits 0 to i
    row = (jax.lax.population_count(words[column] & up_to_bit).astype(jnp.int32) <= rank).sum(dtype=jnp.int32)
    return jnp.where(cumulative[-1] > 0, row * words.size + column, 0)


def _sample_action(key: jax.Array, weights: jax.Array, prefix_sums: PrefixSums) -> jax.Array:
    """Returns int32[], the result of `sample_action`."""
    rows = _rows(weights.astype(jnp.float32), math.isqrt(weights.size))
    column_sums = sum(rows[1:], rows[0])
    width, last = column_sums.size, weights.size - 1
    cumulative = prefix_sums(column_sums)
    target = jax.random.uniform(key) * cumulative[-1]
    column = _first_beyond(target, cumulative, column_sums)
    actions = np.arange(len(rows)) * width + column  # those of the column
    in_column = jnp.where(actions < weights.size, weights[jnp.minimum(actions, last)], 0).astype(jnp.float32)
    row = _first_beyond(target - (cumulative[column] - column_sums[column]), prefix_sums(in_column), in_column)
    return jnp.where(cumulative[-1] > 0, row * width + column, 0)


def _rows(x: jax.Array, max_rows: int) -> Sequence[jax.Array]:
    """Returns `x` ([n]) as at most `max_rows` rows of equal width, the last one zero-padded.

    The rows are slices: on a CPU, XLA would compute a padded matrix element by element.
    """
    width = -(-x.size // max_rows)
    rows = [x[begin : begin + width] for begin in range(0, x.size, width)]
    rows[-1] = jnp.pad(rows[-1], (0, width - rows[-1].size))
    return rows


def _first_beyond(target: jax.Array, cumulative: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns int32[], the first index whose cumulative sum is above `target`.

    Where rounding leads to a weight of 0, it is the index of the largest weight.
    """
    index = jnp.minimum((cumulative <= target).sum(dtype=jnp.int32), weights.size - 1)
    return jnp.where(weights[index] > 0, index, weights.argmax().astype(jnp.int32))


def _for_platform(draw: Callable[..., jax.Array], key: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns `draw(key, weights, prefix_sums)` with the prefix sums that are fastest on the platform compiled for.

    A product with a triangular matrix was measured to be faster than `cumsum` on CPUs. The choice is made around all of
    `draw`: made around the product alone, `vmap` would transpose what the product returns.
    """
    on_cpu, elsewhere = (functools.partial(draw, prefix_sums=sums) for sums in (_matmul_prefix_sums, jnp.cumsum))
    return by_platform(key, weights, cpu=on_cpu, library=elsewhere)


def _matmul_prefix_sums(x: jax.Array) -> jax.Array:
    """Returns float32[n], the inclusive prefix sums; of a short array as one product with a triangle of ones."""
    if x.size > MATMUL_PREFIX_SUM_MAX:
        return jnp.cumsum(x)
    return jnp.dot(np.tril(np.ones((x.size, x.size), np.float32)), x, precision=jax.lax.Precision.HIGHEST)


def _check_arguments(call: str, key: Any, weights: Any, expected: str, allowed: Sequence[Any]) -> None:
    """Raises TypeError or ValueError unless the types and shapes are those of one PRNG key and one array [n].

    Args:
      call: the call as an error writes it, such as "random_action(key, mask)".
      expected: the second argument as an error writes it, such as "bool[num_actions]".
      allowed: the types of numbers that `weights` may have.
    """
    key_type, weights_type = (getattr(argument, "dtype", type(argument)) for argument in (key, weights))
    new_style = jnp.issubdtype(key_type, jax.dtypes.prng_key)
    old_style = key_type == np.uint32 and np.ndim(key) > 0  # uint32[2]
    if not (new_style or old_style) or not any(jnp.issubdtype(weights_type, kind) for kind in allowed):
        found = " and ".join(getattr(kind, "__name__", str(kind)) for kind in (key_type, weights_type))
        raise TypeError(f"{call} expected a PRNG key and {expected}, in this order, not {found}")
    if np.ndim(weights) == 0:
        raise ValueError(f"{call} expected {expected}, not a single number")
    batch = np.shape(key)[: None if new_style else -1] or np.shape(weights)[:-1]
    if batch != ():
        found = f"a batch of {written_shape(batch)}"
        raise ValueError(f"{call} expected one key and one {expected}, got {found}: put jax.vmap around it")
