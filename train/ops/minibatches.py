"""Shuffled minibatches of a rollout, taken in equal parts from groups of boards, and means over rows that count.

Each minibatch takes the same number of steps from every group of boards. If the groups are on different devices, no
step has to leave its device. An example with eight boards of four steps each, in two groups and four minibatches:

                 group 0: boards 0-3, 16 steps         group 1: boards 4-7, 16 steps
    shuffled     . . . .  . . . .  . . . .  . . . .    . . . .  . . . .  . . . .  . . . .
    minibatch       0        1        2        3          0        1        2        3
"""

import math
from typing import Any

import jax
import jax.numpy as jnp


def num_groups(num_envs: int, minibatch_size: int) -> int:
    """Returns the largest number of groups that divides both the boards and a minibatch."""
    return math.gcd(num_envs, minibatch_size)


def group_boards(steps: Any, groups: int) -> Any:
    """Returns leaves [rollout_length, num_envs, ...] as [groups, steps of a group, ...]."""
    return jax.tree.map(lambda x: x.swapaxes(0, 1).reshape(groups, -1, *x.shape[2:]), steps)


def shuffle(key: jax.Array, groups: int, group_size: int, num_minibatches: int, minibatch_size: int) -> jax.Array:
    """Returns int32[num_minibatches, groups, minibatch_size / groups]: indices of steps in their groups.

    No index occurs twice in a group.
    """
    part = minibatch_size // groups
    order = jax.vmap(lambda key: jax.random.permutation(key, group_size))(jax.random.split(key, groups))
    return order[:, : num_minibatches * part].reshape(groups, num_minibatches, part).swapaxes(0, 1)


def take_rows(batch: Any, rows: jax.Array) -> Any:
    """Returns the rows int32[groups, k] of each group: leaves [groups, n, ...] become [groups * k, ...]."""

    def take(x: jax.Array) -> jax.Array:
        return jax.vmap(lambda x, rows: x[rows])(x, rows).reshape(rows.size, *x.shape[2:])

    return jax.tree.map(take, batch)


def masked(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns `x` with 0 wherever the mask is False, also for NaN and infinity; `x` itself without a mask."""
    return x if mask is None else jnp.where(mask, x, 0)


def masked_mean(mask: jax.Array | None, x: jax.Array) -> jax.Array:
    """Returns float32[], the mean of `x` where the mask is True, 0 if that is nowhere; of all `x` without a mask."""
    if mask is None:
        return x.mean(dtype=jnp.float32)
    return masked(mask, x).sum(dtype=jnp.float32) / jnp.maximum(mask.sum(dtype=jnp.float32), 1)
