"""Whole runs of AlphaZero: killed and resumed, on four devices, in a sweep, and with three seats."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.helpers.analysis import analysis_of
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import (
    ROOT,
    check_killed_run_continues,
    environment,
    metrics_of,
    train_in,
)
from train.alphazero import AlphaZero, Config
from train.alphazero.config import Seats
from train.driver.loop import Settings
from train.ops.sharding import keys_to_data
from train.sweep import run_sweep, sweep_of

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=2)",
    total_steps=60 * 8 * 8,
    num_envs=8,
    rollout_length=8,
    simulations=4,
    random_starts=0.5,
    replay_size=3 * 64,
    num_updates=2,
    minibatch_size=32,
    network="conv",  # on a command line, the game's recipe has another one
    channels=(4,),
    hidden_sizes=(8,),
    activation="relu",
    ema=0.9,
)
SEVERAL_BOARDS = dataclasses.replace(
    CONFIG,
    other_envs=("dots_and_boxes(rows=2, cols=2)",),
    total_steps=60 * 2 * 64,
    network="tests.helpers.patch_network:patch(width=8)",
    channels=(),
    hidden_sizes=(),
    activation=None,
)
BOTH = pytest.mark.parametrize("config", [CONFIG, SEVERAL_BOARDS], ids=["one board", "several boards"])
WATCHED = Settings(checkpoint_every=3, evaluate_every=5, evaluation_games=8)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Takes back the registrations of the tests."""
    with temporary_registrations():
        yield


@pytest.mark.slow
@BOTH
def test_killed_run_continues_to_the_bits_of_one_that_was_not(config: Config, tmp_path: Path) -> None:
    check_killed_run_continues(AlphaZero(config), WATCHED, tmp_path)


@pytest.mark.slow
@BOTH
def test_run_on_four_devices_equals_the_run_on_one(config: Config, tmp_path: Path) -> None:
    """Boards and replay are divided. The search is divided by the compiler, which may gather rows.

    Sums are taken in another order, so that a search can choose another one of two equally good actions. That changes
    the rest of one game. The other boards do not depend on it before the first update.
    """
    iterations = 3
    arguments = ["alphazero", json.dumps(dataclasses.asdict(config)), str(tmp_path), str(iterations)]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    program = [sys.executable, str(ROOT / "tests/helpers/run_on_four_devices.py"), *arguments]
    done = subprocess.run(
        program, env=environment(XLA_FLAGS=flags), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["boards_of_devices"] == [config.num_envs // 4]
    assert found["devices_of_boards"] == [4]

    learner = AlphaZero(config)
    train_state = jax.jit(learner.init)(jax.random.key(config.seed))
    iterate = jax.jit(learner.iterate)
    metrics_of_four = dict(np.load(tmp_path / "metrics.npz"))
    train_state, metrics = iterate(train_state)
    for name in (name for name in metrics if name.startswith("policy_loss")):
        np.testing.assert_allclose(metrics_of_four[name][0], metrics[name], rtol=0.1, err_msg=name)
    of_one = jax.tree.leaves(jax.device_get(keys_to_data(train_state)))
    for a, b in zip(of_one, np.load(tmp_path / "first.npz").values(), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if a.dtype.kind != "f" and a.shape[:1] == (config.num_envs,):
            assert (a == b).reshape(config.num_envs, -1).all(1).mean() >= 0.5
    for a, b in zip(of_one, np.load(tmp_path / "last.npz").values(), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert {len(numbers) for numbers in metrics_of_four.values()} == {iterations}


@pytest.mark.slow
@BOTH
def test_cell_of_a_sweep_is_its_single_run(config: Config, tmp_path: Path) -> None:
    """Two values of a traced setting, in one program."""
    config = dataclasses.replace(config, total_steps=4 * config.steps_per_iteration)
    values = {name: (value,) for name, value in dataclasses.asdict(config).items() if name != "seed"}
    sweep = sweep_of("alphazero", values | {"td_lambda": (0.5, 1.0)}, seeds=1)
    assert len(sweep.groups()) == 1
    run_sweep(sweep, dataclasses.replace(WATCHED, run_dir=tmp_path / "sweep"))
    train_in(tmp_path / "single", AlphaZero(dataclasses.replace(config, td_lambda=0.5)), WATCHED)
    single, cell = (metrics_of(folder) for folder in (tmp_path / "single", tmp_path / "sweep/td_lambda=0.5/seed=0"))
    assert single[-1].keys() == cell[-1].keys()
    for name, number in single[-1].items():
        assert cell[-1][name] == pytest.approx(number, rel=1e-4, abs=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize("seats", ["paranoid", "max_n"])
def test_three_seats_play_and_value_sticks_as_solved(seats: Seats) -> None:
    """With up to three sticks the mover takes them all and wins 2. With four, the seat after it wins."""
    jaxgames.register("sticks", Sticks)
    config = Config(
        env="sticks",
        total_steps=40 * 512,
        num_envs=32,
        rollout_length=16,
        simulations=8,
        seats=seats,
        gamma=1.0,
        random_starts=0.5,
        random_plies=4,
        replay_size=2048,
        num_updates=8,
        minibatch_size=128,
        learning_rate=5e-3,
        ema=0.9,
        hidden_sizes=(32,),
    )
    learner = AlphaZero(config)
    iterate, train_state = jax.jit(learner.iterate), jax.jit(learner.init)(jax.random.key(0))
    for _ in range(40):
        train_state, _ = iterate(train_state)
    left, movers = np.divmod(np.arange(12), 3)
    boards = jax.vmap(Sticks().at)(jnp.asarray(left + 1), jnp.asarray(movers))
    agent = learner.agent(train_state.params)
    actions = np.asarray(agent.act(jax.random.key(0), boards)).reshape(4, 3)
    np.testing.assert_array_equal(actions[:3], [[0] * 3, [1] * 3, [2] * 3])
    values = np.asarray(analysis_of(agent, boards).values)
    own_first = np.stack([np.roll(row, -mover) for row, mover in zip(values, movers, strict=True)])
    np.testing.assert_allclose(own_first[:9], np.tile([2, -1, -1], (9, 1)), atol=0.3)
    np.testing.assert_allclose(own_first[9:], np.tile([-1, 2, -1], (3, 1)), atol=0.4)
