"""Random actions, without noise per action and without a prefix sum over all actions.

One random number decides. `random_action` packs the mask into words of bits, counts the bits of each word, and chooses
the word, then the bit, by the number of legal actions before it. The same key gives the same action on every platform.

For weights, the actions are laid out in columns, action i * width + j in row i of column j:

        0          1          2      ...   width - 1
      width    width + 1  width + 2  ...
    2 width      ...

With weights w[i, j], a column has the sum c[j] = sum_i w[i, j], and the cumulative sum C[j] = c[0] + ... + c[j]. The
inverse of the cumulative distribution is computed in two steps, for one u drawn uniformly from [0, 1):

    target = u * C[width - 1]
    column = the first j with C[j] > target
    row    = the first i with w[0, column] + ... + w[i, column] > target - C[column - 1]

Action (i, j) then has the probability w[i, j] / C[width - 1]. The sums of all columns take one vector operation per
row, for any width. The words of `random_action` are such columns, with 32 rows.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError, written_shape
from jaxgames._platforms import at, by_platform
from jaxgames.bits import union

BITS_PER_WORD = 32
MAX_COUNTS = 128  # that are compared one by one: the program grows with them

# The logit and log-probability of an illegal action. It is finite, even multiplied by a weight, so its product with a
# probability of 0 is 0.
MASKED_LOGIT = np.float32(-1e30)
LOWEST_LOGIT = np.finfo(np.float32).min

MATMUL_PREFIX_SUM_MAX = 256  # prefix sums of up to this length multiply by a triangular matrix of ones


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns int32[], an action drawn uniformly from those that `mask` allows; 0 if no action is allowed.

    The mask is bool[num_actions], as `env.legal_action_mask` returns it. The same key gives the same action on every
    platform.
    """
    _check_arguments("random_action(key, mask)", key, mask, "bool[num_actions]", [np.bool_])
    rows = _rows(mask, BITS_PER_WORD)
    words = union([row.astype(jnp.uint32) << np.uint32(i) for i, row in enumerate(rows)])  # bit i is from row i
    word, row = random_bit(key, jax.lax.optimization_barrier(words))
    return row * words.size + word


def random_bit(key: jax.Array, words: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns int32[] twice, the word and the place in it of a bit drawn uniformly from all bits set; 0, 0 if none is.

    The words are uint32[n], with less than 2**24 bits set.
    """
    counts, u = jax.lax.population_count(words).astype(jnp.int32), jax.random.uniform(key, dtype=jnp.float32)
    if words.size > MAX_COUNTS:  # first one of few groups, then one of its words
        groups = jnp.pad(counts, (0, -words.size % MAX_COUNTS)).reshape(-1, MAX_COUNTS)
        group, rank, found = _at_share(groups.sum(1, dtype=jnp.int32), u)
        within, rank = _holder(list(itertools.accumulate(at(groups, group))), rank)
        index = MAX_COUNTS * group + within
    else:
        index, rank, found = _at_share(counts, u)
    word, place = at(words, jnp.minimum(index, words.size - 1)), jnp.int32(0)
    for width in (16, 8, 4, 2, 1):  # the lower or the upper half of what is left of the word
        lower = word & np.uint32((1 << width) - 1)
        below = jax.lax.population_count(lower).astype(jnp.int32)
        is_above = rank >= below
        word = jnp.where(is_above, word >> np.uint32(width), lower)
        rank = jnp.where(is_above, rank - below, rank)
        place += jnp.where(is_above, width, 0)
    return jnp.where(found, index, 0), jnp.where(found, place, 0)


def _at_share(counts: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns which count holds the share `u` of all that is counted, int32[], and its rank there; bool[], any is.

    `counts` is int32[n]; `u`, float32[], is in [0, 1).
    """
    return by_platform(counts, u, cpu=_at_share_by_product, library=_at_share_one_by_one)


def _at_share_one_by_one(counts: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the result of `_at_share`; one thread of a GPU does the same few operations for each count of a board."""
    sums = list(itertools.accumulate(counts))
    rank = jnp.floor(u * sums[-1].astype(jnp.float32)).astype(jnp.int32)
    return *_holder(sums, rank), sums[-1] > 0


def _at_share_by_product(counts: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the result of `_at_share`; a CPU takes less time for it, and far less to compile it."""
    sums = _prefix_sums(counts.astype(jnp.float32))
    target = jnp.floor(u * sums[-1])
    index = jnp.minimum((sums <= target).sum(dtype=jnp.int32), counts.size - 1)
    return index, (target - sums[index]).astype(jnp.int32) + counts[index], sums[-1] > 0


def _holder(sums: Sequence[jax.Array], rank: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Returns int32[] twice: the first index whose sum of counts is above the rank, and the rank among its own."""
    index = before = jnp.int32(0)
    for total in sums[:-1]:
        is_beyond = rank >= total
        index += is_beyond.astype(jnp.int32)
        before = jnp.where(is_beyond, total, before)
    return index, rank - before


def sample_action(key: jax.Array, weights: jax.Array) -> jax.Array:
    """Returns int32[], an action drawn in proportion to `weights`; 0 if all weights are 0.

    An action of weight 0 is never drawn, whatever the rounding of the sums. The weights, float or bool [num_actions],
    are not negative.
    """
    _check_arguments("sample_action(key, weights)", key, weights, "float[num_actions]", [np.bool_, np.number])
    rows = _rows(weights.astype(jnp.float32), math.isqrt(weights.size))
    column_sums = sum(rows[1:], rows[0])
    width, last = column_sums.size, weights.size - 1
    cumulative = _prefix_sums(column_sums)
    target = jax.random.uniform(key) * cumulative[-1]
    column = _first_beyond(target, cumulative, column_sums)
    actions = np.arange(len(rows)) * width + column  # those of the column
    in_column = jnp.where(actions < weights.size, weights[jnp.minimum(actions, last)], 0).astype(jnp.float32)
    row = _first_beyond(target - (cumulative[column] - column_sums[column]), _prefix_sums(in_column), in_column)
    return jnp.where(cumulative[-1] > 0, row * width + column, 0)


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


def _prefix_sums(x: jax.Array) -> jax.Array:
    """Returns float32[n], the inclusive prefix sums; of a short array as one product with a triangle of ones."""
    if x.size > MATMUL_PREFIX_SUM_MAX:
        return jnp.cumsum(x)
    return jnp.dot(np.tril(np.ones((x.size, x.size), np.float32)), x, precision=jax.lax.Precision.HIGHEST)


def _check_arguments(call: str, key: Any, weights: Any, expected: str, allowed: Sequence[Any]) -> None:
    """Raises TypeError or ValueError unless the types and shapes are those of one PRNG key and one array [n].

    `call` and `expected`, the second argument, are written in errors: "random_action(key, mask)", "bool[num_actions]".
    """
    key_type, weights_type = (getattr(argument, "dtype", type(argument)) for argument in (key, weights))
    new_style = jnp.issubdtype(key_type, jax.dtypes.prng_key)
    old_style = key_type == np.uint32 and np.ndim(key) > 0  # uint32[2]
    if not (new_style or old_style) or not any(jnp.issubdtype(weights_type, kind) for kind in allowed):
        found = " and ".join(getattr(kind, "__name__", str(kind)) for kind in (key_type, weights_type))
        raise TypeError(f"{call} expected a PRNG key and {expected}, in this order, not {found}")
    if np.ndim(weights) == 0:
        raise ParameterError(f"{call} expected {expected}, not a single number")
    batch = np.shape(key)[: None if new_style else -1] or np.shape(weights)[:-1]
    if batch != ():
        found = f"a batch of {written_shape(batch)}"
        raise ParameterError(f"{call} expected one key and one {expected}, got {found}: put jax.vmap around it")
