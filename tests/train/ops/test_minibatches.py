"""Minibatches of a rollout and of a replay buffer: every step at most once, and all groups of boards equally often."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.ops import replay
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


NUM_ENVS, LENGTH, ITERATIONS = 4, 3, 3  # boards, steps of an iteration, iterations that the buffer holds


def samples(iteration: int) -> dict[str, jax.Array]:
    """Sample number `iteration`, board, step: one number with these three digits."""
    time, board = np.indices((LENGTH, NUM_ENVS))
    return {"number": jnp.asarray(100 * iteration + 10 * board + time, jnp.int16)}


def filled_by(iterations: int) -> dict[str, jax.Array]:
    buffer = replay.empty({"number": jax.ShapeDtypeStruct((), jnp.int16)}, NUM_ENVS, LENGTH * ITERATIONS)
    for iteration in range(iterations):
        buffer = replay.insert(buffer, samples(iteration), jnp.int32(iteration))
    return buffer


@pytest.mark.parametrize(("size", "capacity"), [(36, 9), (47, 9), (48, 12), (1, 3)])
def test_capacity_is_a_whole_number_of_iterations_and_at_least_one(size: int, capacity: int) -> None:
    assert replay.capacity_of(size, NUM_ENVS, LENGTH) == capacity


def test_new_samples_replace_the_oldest_iteration() -> None:
    rings = np.asarray(filled_by(5)["number"])
    for board, ring in enumerate(rings):
        held = [100 * iteration + 10 * board + time for iteration in (3, 4, 2) for time in range(LENGTH)]
        assert ring.tolist() == held


@pytest.mark.parametrize(("iterations", "filled"), [(1, 3), (2, 6), (3, 9), (7, 9)])
def test_number_of_filled_places_grows_to_the_capacity(iterations: int, filled: int) -> None:
    assert int(replay.num_filled(filled_by(1), LENGTH, jnp.int32(iterations))) == filled


def test_rows_are_drawn_uniformly_from_the_filled_places_of_each_group() -> None:
    groups, size = 2, 8_000
    buffer = filled_by(2)
    filled = replay.num_filled(buffer, LENGTH, jnp.int32(2))
    draw = jax.jit(replay.draw_rows, static_argnums=(1, 2, 3, 5))
    rows = draw(jax.random.key(0), groups, NUM_ENVS // groups, LENGTH * ITERATIONS, filled, size)
    assert rows.shape == (groups, size // groups)
    drawn = np.asarray(take_rows(replay.grouped(buffer, groups), rows)["number"])
    first, second = drawn[: size // 2], drawn[size // 2 :]
    assert set(first // 10 % 10) == {0, 1}  # boards
    assert set(second // 10 % 10) == {2, 3}
    numbers, counts = np.unique(drawn, return_counts=True)
    expected = np.concatenate([samples(iteration)["number"] for iteration in range(2)]).ravel()
    np.testing.assert_array_equal(numbers, np.sort(expected))
    mean = size / expected.size
    assert (np.abs(counts - mean) < 5 * np.sqrt(mean)).all()
