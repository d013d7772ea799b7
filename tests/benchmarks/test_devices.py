"""benchmarks.devices: rows are measured in processes that find each other."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import devices
from benchmarks.devices import Arguments, Task, measure_scaling, run_workers
from train.ppo import Config, config_for

TINY = Arguments(
    env="chinese_checkers(size=1, num_players=2)", boards=8, rollout_length=4, repeats=1, virtual_devices=True
)


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers, too, keep what XLA compiled from one run of the tests to the next."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[2] / ".jax_cache"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


ALONE = Task(
    config=Config(
        env="dots_and_boxes(rows=1, cols=1)",
        num_envs=8,
        rollout_length=4,
        update_epochs=1,
        num_minibatches=2,
        hidden_sizes=(5,),
    ),
    devices=1,
    processes=1,
    process_id=0,
    coordinator=None,
    cores=[],
    repeats=1,
)
PAIR = dataclasses.replace(ALONE, config=config_for(TINY.env, num_envs=9, rollout_length=4), processes=2)


def run_no_workers(task: Task, virtual: bool) -> dict[str, Any]:
    """Pretends to run them: 100 steps per second on each device of one process, 75 in each of many processes."""
    speed = 100.0 * task.devices if task.processes == 1 else 75.0 * task.processes
    machine = {"cores": 2, "devices": ["cpu"], "jax": "", "processor": ""}
    return {"steps_per_second": speed, "spread": 0.0, "stamp": machine}


@pytest.mark.parametrize("workers", ["pretended", pytest.param("real", marks=pytest.mark.slow)])
def test_every_row_is_measured_and_fits_into_json(
    workers: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if workers == "pretended":
        monkeypatch.setattr(devices, "run_workers", run_no_workers)
    result = json.loads(json.dumps(measure_scaling(dataclasses.replace(TINY, counts=(1, 2)))))
    rows = [(row["scaling"], row["over"], row["count"], row["boards"]) for row in result["rows"]]
    assert [row for row in rows if row[0] != "all cores"] == [
        ("one", "devices", 1, 8),
        ("strong", "devices", 2, 8),
        ("strong", "processes", 2, 8),
        ("weak", "devices", 2, 16),
        ("weak", "processes", 2, 16),
    ]
    assert result["rows"][0]["cores"] == 1
    assert result["rows"][0]["efficiency"] == 1.0
    assert all(row["steps_per_second"] > 0 and row["efficiency"] > 0 for row in result["rows"])
    assert {"jax", "processor", "cores", "devices"} <= result.keys()
    assert f"[row {len(rows)} of {len(rows)}, " in capsys.readouterr().err
    if workers == "pretended":
        assert [row["efficiency"] for row in result["rows"][-2:]] == [1.0, 0.75]  # 200 and 150 over 2 * 100


def test_rows_with_more_devices_than_jax_sees_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(devices, "run_workers", run_no_workers)
    rows = measure_scaling(dataclasses.replace(TINY, counts=(1, 2), virtual_devices=False))["rows"]
    assert [row["scaling"] for row in rows] == ["one"]
    assert "JAX sees 1 of the 2 devices: rows with more are left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((1, 2, 3), "num_envs must be a multiple of the run's 3 devices, not 8"),
        ((1, 4), "the steps of a minibatch must be a multiple of the run's 4 devices, not 2"),
    ],
)
def test_count_that_does_not_divide_the_boards_is_refused_before_anything_is_measured(
    counts: tuple[int, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(devices, "run_workers")
    with pytest.raises(ValueError, match=message):
        measure_scaling(dataclasses.replace(TINY, counts=counts))


WORKER = """#!{}
import json, os, sys, time
from pathlib import Path

written = Path("{}")
number = json.loads(os.environ["JAXGAMES_SCALING_TASK"])["process_id"]
if number == 1:
    sys.stderr.write(1_000_000 * ".")
    written.touch()
start = time.monotonic()
while not written.exists():
    if time.monotonic() > start + 60:
        sys.exit("the other worker could not write")
    time.sleep(0.01)
if number == 1 and {}:
    sys.exit("\\nlast line")
print("{{}}")
"""


@pytest.mark.parametrize("fails", [False, True])
def test_worker_that_writes_much_blocks_no_other_and_its_last_line_is_reported(
    fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker"
    worker.write_text(WORKER.format(sys.executable, tmp_path / "written", fails))
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    if fails:
        with pytest.raises(ValueError, match=r"^2 processes of 1 devices: process 1: last line$"):
            run_workers(PAIR, virtual=True)
    else:
        assert run_workers(PAIR, virtual=True) == {}
