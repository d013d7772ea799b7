"""benchmarks.throughput measures what its columns say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import throughput
from benchmarks.harness import cores
from benchmarks.throughput import COLUMNS, Arguments, measure_throughput
from jaxgames import make
from train.ppo import Config

ENV = "dots_and_boxes(rows=1, cols=1)"


@pytest.mark.usefixtures("programs")
def test_every_column_is_measured_and_fits_into_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = Config(env=ENV, num_envs=2, rollout_length=8, update_epochs=1, num_minibatches=2, hidden_sizes=(5,))
    monkeypatch.setattr(throughput, "config_for", lambda env: tiny)
    stored = json.loads(json.dumps(measure_throughput(Arguments(env=ENV, batch_sizes=(2,), steps=16, repeats=2))))
    assert stored["env"] == str(make(ENV))
    assert stored["bytes_per_board"] == make(ENV).state_bytes
    (row,) = stored["rows"]
    assert row["boards"] == 2
    assert all(row[column]["steps_per_second"] > 0 for column in COLUMNS)
    assert {"jax", "processor", "cores", "devices", "date"} <= stored.keys()
    shown = capsys.readouterr().err
    assert "[cell 5 of 5" in shown
    assert "| boards | step | no restart | random play | policy | ppo |" in shown


@pytest.mark.slow  # two starts of JAX
@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_boards_are_divided_between_devices() -> None:
    """In a new process, because virtual devices must be requested before JAX starts."""
    sizes = ["--devices", "2", "--batch-sizes", "2", "--steps", "16", "--repeats", "1"]
    command = [sys.executable, "-m", "benchmarks.throughput", "--env", ENV, *sizes, "--columns", "step"]

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"JAX_PLATFORMS": "cpu"}
        root = Path(__file__).parents[2]
        return subprocess.run([*command, *more], cwd=root, env=environment, capture_output=True, text=True)

    done = run("random play")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["devices_used"] == len(result["devices"]) == 2
    assert all(result["rows"][0][column]["steps_per_second"] > 0 for column in ("step", "random play"))
    refused = run("--batch-sizes", "3")
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
def test_bad_input_is_refused_with_the_allowed_values(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_throughput(arguments)
