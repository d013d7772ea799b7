"""The scaling benchmark measures every line of its table; how fast is not a test's business."""

import dataclasses
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scaling
from benchmarks.scaling import Arguments, Task, measure, workers
from train.ppo import config_for

TINY = Arguments(
    env="chinese_checkers(size=1, num_players=2)", boards=8, rollout_length=4, repeats=1, virtual_devices=True
)


@pytest.fixture(autouse=True)
def compiled_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers, too, keep what XLA compiled from one run of the tests to the next."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[2] / ".jax_cache"))
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def test_the_line_of_one_device_fits_into_json() -> None:
    result = measure(dataclasses.replace(TINY, counts=(1,)))
    stored = json.loads(json.dumps(result))
    assert [row["scaling"] for row in stored["rows"]] == ["one", "all cores"][: len(os.sched_getaffinity(0))]
    assert all(row["steps_per_second"] > 0 and row["efficiency"] > 0 for row in stored["rows"])
    assert stored["rows"][0]["cores"] == 1
    assert {"jax", "processor", "cores", "devices"} <= stored.keys()


@pytest.mark.slow
def test_every_line_is_measured() -> None:
    rows = measure(dataclasses.replace(TINY, counts=(1, 2)))["rows"]
    measured = [(row["scaling"], row["over"], row["count"], row["boards"]) for row in rows]
    assert [line for line in measured if line[0] != "all cores"] == [
        ("one", "devices", 1, 8),
        ("strong", "devices", 2, 8),
        ("strong", "processes", 2, 8),
        ("weak", "devices", 2, 16),
        ("weak", "processes", 2, 16),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"counts": (2, 4)}, "counts must be positive and begin with 1"),
        ({"repeats": 0}, "repeats be positive"),
        ({"over": ("hosts",)}, "over must be among devices, processes, not hosts"),
        ({"env": "chess"}, "the games are"),
        ({"counts": (1, 2, 3)}, "num_envs must be a multiple of the run's 3 devices, not 8"),
        ({"counts": (1, 4)}, "the steps of a minibatch must be a multiple of the run's 4 devices, not 2"),
    ],
)
def test_bad_input_is_refused_with_what_is_allowed(
    changes: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is measured."""
    monkeypatch.delattr(scaling, "workers")
    with pytest.raises(ValueError, match=message):
        measure(dataclasses.replace(TINY, **changes))


PAIR = Task(
    config=config_for(TINY.env, num_envs=9, rollout_length=4),
    devices=1,
    processes=2,
    process_id=0,
    coordinator=None,
    cores=[],
    repeats=1,
)


def test_an_error_of_the_workers_is_told() -> None:
    pair = dataclasses.replace(PAIR, coordinator=f"127.0.0.1:{scaling.free_port()}")
    with pytest.raises(ValueError, match="num_envs must be a multiple of the run's 2 devices, not 9"):
        workers(pair, virtual=True)


WORKER = """#!{}
import json, os, sys, time
from pathlib import Path

said = Path("{}")
if json.loads(os.environ["JAXGAMES_SCALING_TASK"])["process_id"] == 1:
    sys.stderr.write(1_000_000 * ".")
    said.touch()
begin = time.monotonic()
while not said.exists():
    if time.monotonic() > begin + 60:
        sys.exit("the other worker could not speak")
    time.sleep(0.01)
print("{{}}")
"""


def test_a_worker_that_says_much_need_not_wait_for_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / "worker"
    worker.write_text(WORKER.format(sys.executable, tmp_path / "said"))
    worker.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(worker))
    assert workers(PAIR, virtual=True) == {}
