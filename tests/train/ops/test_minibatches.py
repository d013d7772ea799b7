"""Minibatches hold every step at most once, and the same number of steps of every group of boards."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows

compiled = jax.jit(shuffle, static_argnums=range(1, 5))


@pytest.mark.parametrize(
    ("num_envs", "minibatch_size", "groups"), [(8, 8, 8), (8, 4, 4), (6, 4, 2), (7, 4, 1), (20, 250, 10)]
)
def test_groups_divide_boards_and_minibatches(num_envs: int, minibatch_size: int, groups: int) -> None:
    assert num_groups(num_envs, minibatch_size) == groups


def test_groups_are_neighbouring_boards_with_all_their_steps() -> None:
    steps = jnp.arange(12).reshape(3, 4)  # [rollout_length, num_envs]: step 4 t + b of board b at time t
    assert group_boards(steps, 2).tolist() == [[0, 4, 8, 1, 5, 9], [2, 6, 10, 3, 7, 11]]


@pytest.mark.parametrize(
    ("length", "num_envs", "num_minibatches"), [(4, 8, 4), (5, 6, 3), (3, 5, 4), (1, 8, 8)], ids=str
)
def test_pass_visits_every_step_at_most_once(length: int, num_envs: int, num_minibatches: int) -> None:
    """All of them, where minibatches divide the steps."""
    size = length * num_envs // num_minibatches
    groups = num_groups(num_envs, size)
    steps = {"number": np.arange(length * num_envs).reshape(length, num_envs)}
    rows = compiled(jax.random.key(0), groups, length * num_envs // groups, num_minibatches, size)
    assert rows.shape == (num_minibatches, groups, size // groups)
    take = jax.jit(jax.vmap(take_rows, in_axes=(None, 0)))
    taken = np.asarray(take(group_boards(steps, groups), rows)["number"])
    visited = np.concatenate(taken)
    assert len(set(visited.tolist())) == len(visited) == num_minibatches * size
    for minibatch in taken:
        group_of_step = minibatch % num_envs // (num_envs // groups)
        assert np.bincount(group_of_step, minlength=groups).tolist() == [size // groups] * groups


def test_two_passes_visit_the_steps_in_different_orders() -> None:
    first, second = (compiled(jax.random.key(seed), 2, 16, 4, 8) for seed in (0, 1))
    assert (first != second).any()
    assert (first[:, 0] != first[:, 1]).any()  # groups are shuffled apart
