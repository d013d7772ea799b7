"""The benchmark measures what its columns say; how fast is not a test's business."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from benchmarks.throughput import COLUMNS, MEASURES, Arguments, cores, measure, recorded_actions
from jaxgames import auto_reset, make

ENV = "chinese_checkers(size=1, num_players=2, max_rounds=3)"


def test_every_column_is_measured_and_fits_into_json() -> None:
    result = measure(Arguments(env=ENV, batch_sizes=(2,), columns=("step", "random play"), steps=16, repeats=2))
    stored = json.loads(json.dumps(result))
    assert stored["env"] == str(make(ENV))
    assert stored["bytes_per_board"] == make(ENV).state_bytes
    (row,) = stored["rows"]
    assert row["boards"] == 2
    assert all(row[column]["steps_per_second"] > 0 for column in ("step", "random play"))
    assert {"jax", "processor", "cores", "devices"} <= stored.keys()
    assert set(COLUMNS) == set(MEASURES)


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
