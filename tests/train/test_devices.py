"""A run over four devices, and over two processes, learns what it learns on one; and what happens when one is lost."""

import contextlib
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers.stored_runs import last_of, rows, words
from train import devices, loop, processes
from train.loop import Settings
from train.policy import Sharing
from train.ppo import Config, Learner
from train.run import Run

ROOT = Path(__file__).parents[2]
CONFIG = Config(
    env="chinese_checkers(size=1, num_players=2, max_rounds=5)",
    sharing="shared",
    total_steps=4 * 16 * 8,
    num_boards=16,
    rollout_length=8,
    epochs=2,
    minibatches=2,
    hidden=(8,),
    anneal=False,
    seed=3,
)
ENDLESS = dataclasses.replace(CONFIG, total_steps=10**6 * 16 * 8)  # until a signal comes
SETTINGS = Settings(checkpoint_every=2, evaluate_every=2, evaluation_games=8)
UNSEEN = Settings(checkpoint_every=2, evaluate_every=0)
HANGS = 300  # seconds after which a test that waits gives up


def close(a: Any, b: Any) -> None:
    """Up to the order in which sums are taken."""
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def environment(**more: str) -> dict[str, str]:
    """Of a process of its own."""
    paths = {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".jax_cache")}
    return os.environ | paths | {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1"} | more


def leaves(runner: Any) -> list[np.ndarray]:
    return jax.tree.leaves(jax.device_get(runner._replace(key=jax.random.key_data(runner.key))))


# -- four devices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", ["shared", "independent", pytest.param("shared_encoder", marks=pytest.mark.slow)])
def test_four_devices_learn_what_one_learns_and_only_sums_travel(sharing: Sharing, tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, sharing=sharing, rollout_length=64)  # rows enough for tiles of a seat on each
    iterations = 3
    words = [json.dumps(dataclasses.asdict(config)), str(tmp_path), str(iterations)]
    program = [sys.executable, str(Path(__file__).with_name("four_devices.py")), *words]
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    four = environment(XLA_FLAGS=flags)
    done = subprocess.run(program, env=four, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr

    found = json.loads((tmp_path / "found.json").read_text())
    assert found["boards_of_devices"] == [config.num_boards // 4]
    assert found["devices_of_boards"] == [4]
    learner = Learner(config)
    runner = jax.jit(learner.init)(jax.random.key(config.seed))
    num_parameters = sum(leaf.size for leaf in jax.tree.leaves(runner.params))
    assert {name for name, _ in found["collectives"]} == {"all-reduce"}  # no rows are brought together
    largest = max(numbers for _, numbers in found["collectives"])
    assert num_parameters <= largest <= num_parameters + 10  # a gradient, and some means

    iterate = jax.jit(learner.iterate)
    told_by_four = dict(np.load(tmp_path / "metrics.npz"))
    for iteration in range(iterations):
        runner, told = iterate(runner)
        assert told.keys() == told_by_four.keys()
        for name, number in told.items():
            np.testing.assert_allclose(told_by_four[name][iteration], number, rtol=1e-3, atol=1e-5, err_msg=name)
    last = np.load(tmp_path / "last.npz").values()
    for a, b in zip(leaves(runner), last, strict=True):
        assert a.dtype == b.dtype
        close(a, b)


def test_boards_or_steps_that_cannot_be_divided_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="devices must be at most 1, the devices that JAX sees, not 2"):
        devices.mesh_for(CONFIG, 2)
    assert devices.mesh_for(CONFIG, 0).size == 1
    four = jax.local_devices() * 4
    monkeypatch.setattr(jax, "local_devices", lambda process: four)
    with pytest.raises(ValueError, match="num_boards must be a multiple of the run's 4 devices, not 14"):
        devices.mesh_for(dataclasses.replace(CONFIG, num_boards=14), 4)
    with pytest.raises(ValueError, match="the steps of a minibatch must be a multiple of the run's 4 devices, not 25"):
        devices.mesh_for(dataclasses.replace(CONFIG, minibatches=5), 4)


# -- two processes ---------------------------------------------------------------------------------------------


class Pair:
    """Two processes of one run on this machine, or only those `started`."""

    def __init__(self, *options: str, started: tuple[int, ...] = (0, 1), join_timeout: int = HANGS) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{free.getsockname()[1]}"
        together = ["--coordinator", where, "--processes", "2", "--join-timeout", str(join_timeout), "--process-id"]
        self.processes = [
            subprocess.Popen(
                [sys.executable, "-m", "train.ppo", *options, *together, str(number)],
                cwd=ROOT,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in started
        ]

    def signalled(self, folder: Path, which: int, number: signal.Signals) -> None:
        """Sends a signal to one of them once there is a checkpoint and a later iteration that is in none."""
        deadline = time.monotonic() + HANGS
        metrics = folder / "metrics.jsonl"
        while not (metrics.exists() and metrics.read_text().count("\n") > 6):
            if any(process.poll() is not None for process in self.processes) or time.monotonic() > deadline:
                for process in self.processes:
                    process.kill()
                pytest.fail(f"no run to interrupt: {[process.communicate() for process in self.processes]}")
            time.sleep(0.002)
        self.processes[which].send_signal(number)

    def ended(self) -> list[tuple[int, str, str]]:
        """Exit status, standard output and standard error of each."""
        deadline = time.monotonic() + HANGS
        ends: list[tuple[int, str, str]] = []
        try:
            for process in self.processes:
                out, err = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
                ends.append((process.returncode, out, err))
        finally:
            for process in self.processes:
                process.kill()
        return ends


@pytest.mark.parametrize("begun", [0, pytest.param(2, marks=pytest.mark.slow)])
def test_two_processes_learn_what_one_learns(begun: int, tmp_path: Path) -> None:
    """From the start or what one has begun. Process 0 prints the result; its metrics are those of one process."""
    options = words(CONFIG, SETTINGS, tmp_path / "two")
    if begun:
        short = dataclasses.replace(CONFIG, total_steps=begun * CONFIG.steps_per_iteration)
        loop.train(Run.create(tmp_path / "two", short), SETTINGS)
        options.append("--resume")
    (status, out, err), (other_status, other_out, other_err) = Pair(*options).ended()
    assert status == 0, err
    assert other_status == 0, other_err
    assert other_out == ""
    result = json.loads(out)  # one line of JSON and nothing else
    one = loop.train(Run.create(tmp_path / "one", CONFIG), SETTINGS)
    assert {name for name in one if one[name] != result[name]} <= {"run_dir", "seconds", "steps_per_second"}
    of_one, of_two = (jax.tree.leaves(last_of(tmp_path / name)) for name in ("one", "two"))
    for a, b in zip(of_one, of_two, strict=True):
        close(a, b)
    for row, other in zip(rows(tmp_path / "one"), rows(tmp_path / "two"), strict=True):
        assert row.keys() == other.keys()
        numbers = [[np.nan if value is None else value for value in line.values()] for line in (row, other)]
        np.testing.assert_allclose(*numbers, rtol=1e-3, atol=1e-5)


class StopAfter:
    """A `train.loop.Stop` for a run that does so many iterations: it is asked after each."""

    def __init__(self, iterations: int) -> None:
        self.left = iterations

    def __bool__(self) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("victim", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_a_lost_process_ends_the_run_which_goes_on_with_one(
    victim: int, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    pair = Pair(*words(ENDLESS, UNSEEN, folder))
    pair.signalled(folder, victim, signal.SIGKILL)
    ends = pair.ended()
    assert ends[victim][0] == -signal.SIGKILL
    status, out, err = ends[1 - victim]
    assert status != 0
    assert out == ""
    assert "a process of the run was lost after iteration" in err.splitlines()[-1]
    assert f"--run-dir {folder} --resume" in err.splitlines()[-1]

    done = int(last_of(folder).iteration)
    assert done >= 6
    monkeypatch.setattr(loop, "stop_signal", lambda: contextlib.nullcontext(StopAfter(3)))
    loop.train(Run.open(folder), UNSEEN)
    assert f"going on after iteration {done}" in capfd.readouterr().err
    assert int(last_of(folder).iteration) == done + 3
    assert [row["iteration"] for row in rows(folder)] == list(range(1, done + 4))


def test_a_signal_to_one_process_stops_both_with_a_checkpoint(tmp_path: Path) -> None:
    """In the same iteration, and nothing is lost."""
    folder = tmp_path / "run"
    pair = Pair(*words(ENDLESS, UNSEEN, folder))
    pair.signalled(folder, 1, signal.SIGTERM)
    (status, out, err), (other_status, _, other_err) = pair.ended()
    assert (status, other_status) == (130, 130), err + other_err
    assert "stopping after this iteration" in other_err
    assert f"go on with: python -m train.ppo --run-dir {folder} --resume" in err
    assert "lost" not in err + other_err
    done = int(last_of(folder).iteration)
    assert json.loads(out)["steps"] == done * ENDLESS.steps_per_iteration
    assert [row["iteration"] for row in rows(folder)] == list(range(1, done + 1))


@pytest.mark.slow
def test_what_process_0_refuses_ends_all(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", CONFIG).close()
    for status, out, err in Pair(*words(CONFIG, SETTINGS, tmp_path / "run")).ended():
        assert (status, out) == (1, "")
        assert f"{tmp_path / 'run'} holds a run already: add --resume" in err
        assert "lost" not in err


def test_a_process_that_finds_no_other_says_so(tmp_path: Path) -> None:
    ((status, _, err),) = Pair(*words(CONFIG, SETTINGS, tmp_path / "run"), started=(1,), join_timeout=2).ended()
    assert status != 0
    assert "process 1 did not find the other 1 within 2 s" in err.splitlines()[-1]
    assert "at 127.0.0.1:" in err.splitlines()[-1]


FAILS = """
import sys
import jax
from train import processes

jax.distributed.initialize = lambda *args, **options: None
processes.join("train.ppo", "127.0.0.1:9000", 2, 1, timeout=9)
processes.abandon(eval(sys.argv[1]))
"""


@pytest.mark.parametrize(
    ("error", "last"),
    [
        ("ValueError('an error of its own')", "train.ppo: an error of its own"),
        ("KeyboardInterrupt()", ""),
        ("jax.errors.JaxRuntimeError('RESOURCE_EXHAUSTED: 9 GB')", "train.ppo: RESOURCE_EXHAUSTED: 9 GB"),
        ("ValueError('UNKNOWN: Gloo AllGather failed')", "train.ppo: a process of the run was lost"),
    ],
)
def test_the_last_line_is_the_true_cause(error: str, last: str) -> None:
    """Its own error, or that another was lost where the error may come of that."""
    child = [sys.executable, "-c", FAILS, error]
    done = subprocess.run(child, env=environment(), capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 1
    assert (done.stderr.splitlines() or [""])[-1] == last


@pytest.mark.slow
def test_a_checkpoint_that_cannot_be_read_is_the_last_line(tmp_path: Path) -> None:
    """In the process that reads it; the other says how to go on."""
    folder = tmp_path / "run"
    short = dataclasses.replace(CONFIG, total_steps=2 * CONFIG.steps_per_iteration)
    loop.train(Run.create(folder, short), UNSEEN)
    for part in (folder / "checkpoints" / "2").rglob("*"):
        if part.is_file():
            part.write_bytes(b"")
    (status, _, err), (other_status, _, other_err) = Pair(*words(CONFIG, UNSEEN, folder), "--resume").ended()
    assert status != 0
    assert other_status != 0
    assert "lost" not in err
    assert "a process of the run was lost before an iteration; go on with" in other_err.splitlines()[-1]


def test_processes_with_unequal_devices_are_refused() -> None:
    processes.check_devices([0, 0, 1, 1])
    with pytest.raises(ValueError, match="every process must see as many devices, but process 0 sees 1, process 1 se"):
        processes.check_devices([0, 1, 1, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"devices": -1}, "devices must be at least 0, not -1"),
        ({"processes": 0}, "processes must be at least 1, not 0"),
        ({"processes": 2}, "2 processes need a coordinator: HOST:PORT"),
        (
            {"processes": 2, "process_id": 2, "coordinator": "a:1"},
            "process_id must be from 0 to processes - 1 = 1, not 2",
        ),
        ({"process_id": -1}, "process_id must be from 0 to processes - 1 = 0, not -1"),
        ({"coordinator": "localhost:9000"}, "a coordinator needs processes = 2 or more"),
        ({"processes": 2, "coordinator": "localhost"}, "must be HOST:PORT, such as 10.0.0.1:9000, not 'localhost'"),
        ({"processes": 2, "coordinator": "localhost:99999"}, "must be HOST:PORT"),
        ({"join_timeout": 0}, "join_timeout must be at least 1, not 0"),
    ],
)
def test_wrong_flags_are_refused_with_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**options)
