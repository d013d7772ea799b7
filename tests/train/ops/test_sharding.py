"""Meshes of devices, and train states on them; tests/train/test_runs.py trains on four devices."""

import dataclasses

import jax
import pytest

from tests.train.ppo.test_ppo import CONFIG
from train.ops import sharding
from train.ppo import PPO


def test_more_devices_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="devices must be at most 1, the devices that JAX sees, not 2"):
        sharding.mesh_for(2, {})
    assert sharding.mesh_for(0, {"num_envs": 7}).size == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_envs": 14}, "num_envs must be a multiple of the run's 4 devices, not 14"),
        (
            {"rollout_length": 8, "num_minibatches": 5},
            "the steps of a minibatch must be a multiple of the run's 4 devices, not 25",
        ),
    ],
)
def test_boards_or_steps_that_devices_do_not_divide_are_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sharding.check_divisible(PPO(dataclasses.replace(CONFIG, **changes)).batch_sizes, 4)


def test_cores_that_come_too_late_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    count = jax.local_device_count()
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(count + 2))
    sharding.provide_cores(0)
    assert f"JAX has already started with {count} of {count + 2} cores" in capsys.readouterr().err
