"""The benchmark measures what its columns say; how fast is not a test's business."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.throughput import (
    COLUMNS,
    Arguments,
    Playing,
    at_random,
    cores,
    element,
    measure,
    play_loop,
    recorded_actions,
)
from jaxgames import auto_reset, make

ENV = "chinese_checkers(size=1, num_players=2, max_rounds=3)"


def test_every_column_is_measured_and_fits_into_json() -> None:
    result = measure(Arguments(env=ENV, batch_sizes=(2,), steps=16, repeats=2))
    stored = json.loads(json.dumps(result))
    assert stored["env"] == str(make(ENV))
    assert stored["bytes_per_board"] == make(ENV).state_bytes
    (row,) = stored["rows"]
    assert row["boards"] == 2
    assert all(row[column]["steps_per_second"] > 0 for column in COLUMNS)
    assert {"jax", "processor", "cores", "devices"} <= stored.keys()


def test_the_loop_plays_what_single_steps_play_and_reads_what_it_wrote() -> None:
    """With the keys that it draws; the last mask and view are of the boards before the last step."""
    env, batch, length = make(ENV), 4, 40
    restarting, playing = auto_reset(env), Playing(env)
    key, begin = jax.random.key(7), jax.random.split(jax.random.key(0), batch)
    loop = jax.jit(play_loop(playing, batch, length, at_random))
    boards, (view, mask), checksum = loop(key, jax.vmap(playing.init)(begin), None)

    @jax.jit
    def single(boards: Any, key: jax.Array) -> Any:
        action_key, step_key = jax.random.split(key)
        written = jax.vmap(restarting.observe)(boards), jax.vmap(restarting.legal_action_mask)(boards)
        action, _ = at_random(None, action_key, *written, boards.current_player)
        after = jax.vmap(restarting.step)(boards, action, jax.random.split(step_key, batch))
        read = sum((element(array, action) for array in written), start=jnp.float32(0))
        return after, written, read, boards.rewards.sum()

    written: Any = ()
    expected = jax.vmap(restarting.init)(begin)
    reads: list[float] = []
    paid, ends = 0.0, 0
    for step_key in jax.random.split(key, length):
        expected, written, read, rewards = single(expected, step_key)
        reads.append(float(read))
        paid += float(rewards)
        ends += int((expected.terminated | expected.truncated).sum())
    assert ends > batch
    jax.tree.map(np.testing.assert_array_equal, boards.board, expected.board)
    np.testing.assert_array_equal(boards.rewards, expected.rewards)
    np.testing.assert_array_equal(view, written[0])
    np.testing.assert_array_equal(mask, written[1])
    assert sum(reads) > length  # a legal action and more in each
    assert float(checksum) == pytest.approx(paid + sum(reads[:-1]), rel=1e-4)  # what is written last nobody reads


def test_recorded_actions_are_legal_when_replayed() -> None:
    env = auto_reset(make(ENV))
    actions = recorded_actions(make(ENV), 2, 30)
    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(5), 2))
    for action in actions:
        assert mask(boards)[[0, 1], action].all()
        boards = step(boards, action)


@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_boards_are_spread_over_devices() -> None:
    """In a process of its own: virtual devices must be asked for before JAX starts."""
    words = ["--env", ENV, "--devices", "2", "--batch-sizes", "2", "--steps", "16", "--repeats", "1", "--columns"]
    command = [sys.executable, "-m", "benchmarks.throughput", *words]

    def run(*columns: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        root = Path(__file__).parents[2]
        return subprocess.run([*command, *columns], cwd=root, env=environment, capture_output=True, text=True)

    done = run("step", "random play")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["devices_used"] == len(result["devices"]) == 2
    assert all(result["rows"][0][column]["steps_per_second"] > 0 for column in ("step", "random play"))
    refused = run("step", "--batch-sizes", "3")
    assert "batch sizes must be multiples of devices = 2, not 3" in refused.stderr


@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_every_device_plays_games_of_its_own() -> None:
    """From the same positions, with keys of its own."""
    program = f"""
import jax
from benchmarks.throughput import REPLICATED, ROWS, Playing, at_random, over_devices, play_loop, provide
from jaxgames import make

provide(2)
playing = Playing(make({ENV!r}))
boards = jax.vmap(playing.init)(jax.random.split(jax.random.key(0), 6))
loop = play_loop(playing, 3, 5, at_random)
spread, arguments = over_devices(loop, (boards, None), (ROWS, REPLICATED), 2)
ended, *_ = jax.jit(spread)(jax.random.key(1), *arguments)
assert len(ended.rewards.sharding.device_set) == 2
assert (ended.board.board[:3] != ended.board.board[3:]).any()
"""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], cwd=root, env=environment, check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(env=ENV, columns=("steps",)), "columns must be among step"),
        (Arguments(env=ENV, batch_sizes=(0,)), "must be positive"),
        (Arguments(env="chess"), "the games are"),
        (Arguments(env=ENV, columns=("step",), devices=0), "devices must be positive"),
        (Arguments(env=ENV, columns=("step",), devices=1000), "devices must be at most"),
        (Arguments(env=ENV, devices=2), "ppo is measured on one device"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(arguments)
