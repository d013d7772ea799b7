"""benchmarks.footprint counts the bytes of the arrays that a run really has."""

import dataclasses
import json
from typing import Any

import jax
import pytest

from benchmarks import footprint
from benchmarks.footprint import Arguments, compute_footprints
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=1)",  # 4 edges and one box
    num_envs=8,
    rollout_length=4,
    update_epochs=3,
    num_minibatches=2,
    hidden_sizes=(5,),
)
# A dense layer on the cells of the observation that can change (4 edges, 2 owners), the policy head, the value head.
PARAMETERS = (6 * 5 + 5) + (5 * 4 + 4) + (5 * 1 + 1)


@pytest.fixture(scope="module")
def arrays() -> Any:
    """A train state and the steps of a rollout."""
    return jax.jit(PPO(CONFIG).largest_arrays)(jax.random.key(0))


def bytes_of(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(keys_to_data(tree)))


def test_row_has_the_bytes_of_real_arrays(arrays: Any) -> None:
    train_state, steps = arrays
    row = footprint.footprint(CONFIG, 4, 1e9, 1e-6)
    assert row["parameters"] == PARAMETERS
    assert row["bytes_per_step"] == bytes_of(steps) // 32
    boards = bytes_of((train_state.boards, train_state.episode_stats))
    assert row["bytes_per_board"] == boards // 8
    copied = bytes_of(train_state) - boards
    assert row["held_bytes"] == copied + (boards + bytes_of(steps)) // 4


def test_time_is_that_of_a_ring() -> None:
    """Six gradients of four bytes per parameter, and 18 sums; each passes every device but one, twice."""
    row = footprint.footprint(CONFIG, 4, bandwidth=1000.0, latency=0.25)
    assert row["summed_bytes"] == 6 * 4 * PARAMETERS
    assert row["moved_bytes"] == 1.5 * row["summed_bytes"]
    assert row["all_reduces"] == 18
    assert row["seconds"] == row["moved_bytes"] / 1000 + 18 * 6 * 0.25
    assert row["seconds_per_step"] == row["seconds"] / 32


def test_one_device_moves_nothing() -> None:
    row = footprint.footprint(CONFIG, 1, 1e9, 1e-6)
    assert (row["moved_bytes"], row["seconds"]) == (0, 0)


def test_table_has_a_row_per_game(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = Arguments(games=("dots_and_boxes", "chinese_checkers(size=1, num_players=2)"), boards=16)
    result = json.loads(json.dumps(compute_footprints(arguments)))
    assert [row["game"] for row in result["rows"]] == [*arguments.games]
    assert [row["steps_per_iteration"] for row in result["rows"]] == [64 * 16 * 64] * 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith("64 devices, 16 boards on each, rollouts of 64 steps; assumed 25 GB/s and 5 us")
    assert shown[3].startswith("| `dots_and_boxes` | 258,573 |")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"devices": 0}, "devices must be positive, not 0"),
        ({"bandwidth": 0.0}, "bandwidth must be positive"),
        ({"games": ("chess",)}, "the games are"),
        (
            {"devices": 3, "boards": 8, "rollout_length": 5},
            "the steps of a minibatch must be a multiple of the run's 3",
        ),
    ],
)
def test_bad_input_is_refused_with_the_allowed_values(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compute_footprints(dataclasses.replace(Arguments(games=("dots_and_boxes",)), **changes))
