"""The replay buffer: which samples it holds, and which it draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from train.ops import replay
from train.ops.minibatches import take_rows

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
