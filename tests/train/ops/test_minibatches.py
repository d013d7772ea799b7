"""The games, minibatches, replay buffer and devices of a rollout: by hand, and every step at most once."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.helpers.positions import stacked
from tests.helpers.sticks import Sticks
from train.ops import replay, sharding
from train.ops.episodes import EpisodeStats, episode_metrics, map_steps
from train.ops.minibatches import group_boards, num_groups, shuffle, take_rows
from train.ppo import PPO, Config

# -- games that ended -------------------------------------------------------------------------------------------------

STICKS = Sticks()  # three seats; every step here takes one stick, and whoever takes the last one wins
WON_BY_0, WON_BY_2, LIVE = STICKS.at(1, 0), STICKS.at(1, 2), STICKS.at(4, 1)

# Two boards for three steps. Three games end by the rules, one of them in a draw, and one is cut off.
BOARDS = jax.tree.map(jnp.asarray, stacked([WON_BY_0, LIVE, LIVE, LIVE, WON_BY_2, LIVE]))
TERMINATED = [[True, False], [True, False], [True, False]]
TRUNCATED = [[False, False], [False, True], [False, False]]
LENGTHS = [[4, 90], [6, 9], [5, 90]]
RETURNS = [[[2, -1, -1], [90, 90, 90]], [[0, 0, 0], [1, 3, 5]], [[-1, -1, 2], [90, 90, 90]]]
LEARNER = [[[1, 0, 1], [1, 1, 1]], [[1, 0, 0], [0, 1, 1]], [[0, 1, 0], [1, 1, 1]]]


EXPECTED = {
    "num_episodes": 4,
    "episode_length": (4 + 6 + 9 + 5) / 4,
    "episode_truncated_rate": 1 / 4,
    "episode_draw_rate": 1 / 4,
    "episode_win_rate/seat_0": 1 / 4,
    "episode_win_rate/seat_1": 0,
    "episode_win_rate/seat_2": 1 / 4,
    "episode_return/seat_0": (2 + 0 + 1 - 1) / 4,
    "episode_return/seat_1": (-1 + 0 + 3 - 1) / 4,
    "episode_return/seat_2": (-1 + 0 + 5 + 2) / 4,
}
CASES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {  # changes of the steps and of the means
    "self-play": ({}, {}),
    # The learner wins the first game, of seats 0 and 2, and not the one in which it has seat 1 alone.
    "a learner": (
        {"learner_seats": jnp.array(LEARNER, jnp.bool_)},
        {"episode_win_rate/learner": 1 / 4, "episode_return/learner": ((2 - 1) / 2 + 0 + (3 + 5) / 2 - 1) / 4},
    ),
    # One stick was left in the drawn game, of which its mover takes three.
    "an illegal action": (
        {"state": stacked([WON_BY_0, LIVE, STICKS.at(1, 1), LIVE, WON_BY_2, LIVE]), "action": [[0, 0], [2, 0], [0, 0]]},
        {"episode_draw_rate": 0},
    ),
    "no game that ended": (
        {name: [[False] * 2] * 3 for name in ("terminated", "truncated")},
        dict.fromkeys(EXPECTED, np.nan) | {"num_episodes": 0},
    ),
}


@pytest.mark.parametrize(("changes", "means"), CASES.values(), ids=CASES.keys())
def test_means_are_over_the_games_that_ended(changes: dict[str, Any], means: dict[str, float]) -> None:
    steps = {"state": BOARDS, "action": [[0, 0]] * 3, "terminated": TERMINATED, "truncated": TRUNCATED} | changes
    arrays: Any = {
        name: jax.tree.map(jnp.asarray, column, is_leaf=lambda x: isinstance(x, list)) for name, column in steps.items()
    }
    arrays["state"] = jax.tree.map(lambda leaf: leaf.reshape(3, 2, *leaf.shape[1:]), arrays["state"])
    stats = EpisodeStats(jnp.array(LENGTHS), jnp.array(RETURNS, jnp.float32))
    given: Any = SimpleNamespace(**{"learner_seats": None} | arrays, episode_stats=stats, step_key=None)
    found = jax.jit(lambda: episode_metrics(STICKS, given))()
    assert {name: float(value) for name, value in found.items()} == pytest.approx(EXPECTED | means, nan_ok=True)


@pytest.mark.parametrize("number", [0, 4, 5])
def test_chosen_steps_are_computed_in_chunks(number: int) -> None:
    """Three steps of four boards, so a chunk has four."""
    chosen = np.random.default_rng(number).permutation(12).reshape(3, 4) < number
    calls: list[int] = []

    def function(states: jax.Array, actions: jax.Array, keys: None) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return states + 10 * actions[:, None]

    states, actions = np.arange(24).reshape(3, 4, 2), np.arange(12).reshape(3, 4)
    steps: Any = SimpleNamespace(state=jnp.asarray(states), action=jnp.asarray(actions), step_key=None)
    found = jax.jit(lambda chosen: map_steps(function, steps, chosen))(chosen)
    jax.effects_barrier()
    np.testing.assert_array_equal(found[chosen], (states + 10 * actions[..., None])[chosen])
    assert len(calls) == -(-number // 4)


# -- minibatches -------------------------------------------------------------------------------------------------------


def test_groups_divide_boards_and_minibatches_and_are_neighbouring_boards_with_all_their_steps() -> None:
    assert [num_groups(*each) for each in ((8, 8), (8, 4), (6, 4), (7, 4), (20, 250))] == [8, 4, 2, 1, 10]
    steps = jnp.arange(12).reshape(3, 4)  # [rollout_length, num_envs]: step 4 t + b of board b at time t
    assert group_boards(steps, 2).tolist() == [[0, 4, 8, 1, 5, 9], [2, 6, 10, 3, 7, 11]]


@pytest.mark.parametrize(("length", "num_envs", "num_minibatches"), [(4, 8, 4), (5, 6, 3), (3, 5, 4), (1, 8, 8)])
def test_pass_visits_every_step_at_most_once_in_an_order_of_its_own(
    length: int, num_envs: int, num_minibatches: int
) -> None:
    """All of them, where minibatches divide the steps."""
    size = length * num_envs // num_minibatches
    groups = num_groups(num_envs, size)
    steps = {"number": np.arange(length * num_envs).reshape(length, num_envs)}
    rows, other = (
        shuffle(key, groups, length * num_envs // groups, num_minibatches, size)
        for key in jax.random.split(jax.random.key(0))
    )
    if length > 1:
        assert (rows != other).any()
        assert groups == 1 or (rows[:, 0] != rows[:, 1]).any()  # groups are shuffled apart
    assert rows.shape == (num_minibatches, groups, size // groups)
    take = jax.jit(jax.vmap(take_rows, in_axes=(None, 0)))
    taken = np.asarray(take(group_boards(steps, groups), rows)["number"])
    visited = np.concatenate(taken)
    assert len(set(visited.tolist())) == len(visited) == num_minibatches * size
    for minibatch in taken:
        group_of_step = minibatch % num_envs // (num_envs // groups)
        assert np.bincount(group_of_step, minlength=groups).tolist() == [size // groups] * groups


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


def test_capacity_is_a_whole_number_of_iterations_and_new_samples_replace_the_oldest_one() -> None:
    assert [replay.capacity_of(size, NUM_ENVS, LENGTH) for size in (36, 47, 48, 1)] == [9, 9, 12, 3]
    filled = [int(replay.num_filled(filled_by(1), LENGTH, jnp.int32(iterations))) for iterations in (1, 2, 3, 7)]
    assert filled == [3, 6, 9, 9]
    rings = np.asarray(filled_by(5)["number"])
    for board, ring in enumerate(rings):
        held = [100 * iteration + 10 * board + time for iteration in (3, 4, 2) for time in range(LENGTH)]
        assert ring.tolist() == held


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


# -- devices; tests/train/test_runs.py trains on four of them ---------------------------------------------------------


def test_boards_or_steps_that_devices_do_not_divide_are_refused() -> None:
    learner = PPO(Config(rollout_length=8, num_envs=16, num_minibatches=5))
    with pytest.raises(ValueError, match=r"the steps of a minibatch .* 4 devices, not 25"):
        sharding.check_divisible(learner.batch_sizes, 4)


def test_cores_that_come_too_late_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = jax.local_device_count()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(count + 2))
    sharding.provide_cores(0)
    assert f"JAX has already started with {count} of {count + 2} cores" in capsys.readouterr().err
