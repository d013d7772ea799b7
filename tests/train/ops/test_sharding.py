"""A run over four devices learns what it learns on one, and only sums travel between devices."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.helpers.stored_runs import ROOT, environment
from train.models.policy import Sharing
from train.ops import sharding
from train.ops.sharding import keys_to_data
from train.ppo import PPO, Config

CONFIG = Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=5)",
    total_steps=4 * 16 * 64,
    num_envs=16,
    rollout_length=64,  # rows enough for tiles of one seat on each device
    update_epochs=2,
    num_minibatches=2,
    hidden_sizes=(8,),
    anneal_lr=False,
    seed=3,
)

ALPHA_MINI = "alpha_mini(channels=4)"  # its statistics and what it drops are those of the whole minibatch


@pytest.mark.parametrize(
    ("sharing", "network"),
    [
        # The first sorts rows by seat, which is the hard case. Each case is a start of JAX.
        pytest.param("independent", None, marks=pytest.mark.slow),
        pytest.param("shared", None, marks=pytest.mark.slow),
        pytest.param("shared_encoder", None, marks=pytest.mark.slow),
        pytest.param("shared", ALPHA_MINI, marks=pytest.mark.slow),
        pytest.param("independent", ALPHA_MINI, marks=pytest.mark.slow),
    ],
)
def test_run_on_four_devices_equals_the_run_on_one_and_sends_only_sums(
    sharing: Sharing, network: str | None, tmp_path: Path
) -> None:
    check_four_devices(dataclasses.replace(CONFIG, sharing=sharing, network=network), tmp_path)


@pytest.mark.slow  # one more start of JAX
def test_opponents_are_copied_to_every_device_and_their_boards_divided(tmp_path: Path) -> None:
    """A pool of policies and two agents: each device computes the moves on its own boards."""
    opponents = ("first(epsilon=0.5)", "random", "self@every=1(size=2)")
    check_four_devices(dataclasses.replace(CONFIG, num_envs=64, opponents=opponents, opponent_epsilon=0.25), tmp_path)


def check_four_devices(config: Config, tmp_path: Path) -> None:
    """Asserts that three iterations on four devices give what one device gives, and send only sums."""
    iterations = 3
    arguments = ["ppo", json.dumps(dataclasses.asdict(config)), str(tmp_path), str(iterations)]
    program = [sys.executable, str(ROOT / "tests/helpers/run_on_four_devices.py"), *arguments]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    four = environment(XLA_FLAGS=flags)
    done = subprocess.run(program, env=four, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr

    found = json.loads((tmp_path / "found.json").read_text())
    assert found["boards_of_devices"] == [config.num_envs // 4]
    assert found["devices_of_boards"] == [4]
    learner = PPO(config)
    train_state = learner.load(jax.jit(learner.init)(jax.random.key(config.seed)))
    num_parameters = sum(leaf.size for leaf in jax.tree.leaves(train_state.params))
    assert {name for name, _ in found["collectives"]} == {"all-reduce"}  # no rows are gathered
    largest = max(numbers for _, numbers in found["collectives"])
    if config.network is None:
        assert num_parameters <= largest <= num_parameters + 10  # a gradient, and some means
    else:  # with statistics of the minibatch, the gradient has two parts; a row is of no such size
        assert largest <= 2 * num_parameters

    iterate = jax.jit(learner.iterate)
    metrics_of_four = dict(np.load(tmp_path / "metrics.npz"))
    for iteration in range(iterations):
        train_state, metrics = iterate(train_state)
        assert metrics.keys() == metrics_of_four.keys()
        for name, number in metrics.items():
            found_number = metrics_of_four[name][iteration]
            np.testing.assert_allclose(found_number, number, rtol=1e-3, atol=1e-5, err_msg=name)
    last = np.load(tmp_path / "last.npz").values()
    for a, b in zip(jax.tree.leaves(jax.device_get(keys_to_data(train_state))), last, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)  # sums are taken in another order


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


def test_train_state_survives_its_way_to_a_mesh_and_back() -> None:
    learner = PPO(CONFIG)
    train_state = jax.jit(learner.init)(jax.random.key(0))
    mesh = sharding.mesh_for(1, learner.batch_sizes)
    there = sharding.shard(train_state, mesh, learner.partition_specs)
    assert all(leaf.sharding.spec == sharding.SHARDED for leaf in jax.tree.leaves(there.boards))
    assert there.key.sharding.spec == sharding.REPLICATED
    back = sharding.replicate(there, mesh)
    assert back.key.dtype == train_state.key.dtype
    jax.tree.map(np.testing.assert_array_equal, keys_to_data(back), keys_to_data(train_state))
