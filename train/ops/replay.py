"""A replay buffer on the device: the samples of the last iterations, board by board.

    board 0     | iteration 4 | iteration 5 | iteration 6 | iteration 3 |     capacity: four iterations
    board 1     | iteration 4 | iteration 5 | iteration 6 | iteration 3 |     the next one replaces iteration 3

Every board has its own ring, so a buffer can be divided over devices by boards. All rings have the same place for
the next samples, which follows from the number of iterations. So the buffer is nothing but arrays.
"""

from typing import Any

import jax
import jax.numpy as jnp


def capacity_of(replay_size: int, num_envs: int, rollout_length: int) -> int:
    """Returns the samples that the ring of a board holds: as many whole iterations as fit in all, at least one."""
    return rollout_length * max(1, replay_size // (num_envs * rollout_length))


def empty(sample: Any, num_envs: int, capacity: int) -> Any:
    """Returns a buffer of zeros: leaves [num_envs, capacity, ...] for a sample with leaves [...], arrays or shapes."""
    return jax.tree.map(lambda leaf: jnp.zeros((num_envs, capacity, *leaf.shape), leaf.dtype), sample)


def insert(replay: Any, samples: Any, iteration: jax.Array) -> Any:
    """Returns the buffer, leaves [num_envs, capacity, ...], with the samples of an iteration in place of the oldest.

    `samples` has leaves [rollout_length, num_envs, ...]; `iteration` is int32[], the iterations before this one.
    """

    def write(ring: jax.Array, new: jax.Array) -> jax.Array:
        place = iteration * new.shape[0] % ring.shape[1]
        return jax.lax.dynamic_update_slice_in_dim(ring, new.swapaxes(0, 1).astype(ring.dtype), place, axis=1)

    return jax.tree.map(write, replay, samples)


def num_filled(replay: Any, rollout_length: int, iterations: jax.Array) -> jax.Array:
    """Returns int32[], the samples in each ring after a number of iterations (int32[])."""
    capacity = jax.tree.leaves(replay)[0].shape[1]
    return jnp.minimum(iterations, capacity // rollout_length) * rollout_length


def draw_rows(key: jax.Array, groups: int, boards: int, capacity: int, filled: jax.Array, size: int) -> jax.Array:
    """Returns int32[groups, size / groups], uniformly random samples of each group of boards, with replacement.

    An index counts the samples of a group, board by board, as in `grouped`. A group has `boards` rings for `capacity`
    samples, each with `filled` (int32[]) of them.
    """
    board_key, place_key = jax.random.split(key)
    shape = (groups, size // groups)
    board = jax.random.randint(board_key, shape, 0, boards)
    return board * capacity + jax.random.randint(place_key, shape, 0, filled)


def grouped(replay: Any, groups: int) -> Any:
    """Returns the buffer as leaves [groups, samples of a group, ...], for `train.ops.minibatches.take_rows`."""
    return jax.tree.map(lambda x: x.reshape(groups, -1, *x.shape[2:]), replay)
