"""Runs of several processes: equal to those of one, however they are started; and when one stops, fails or is lost."""

import dataclasses
import functools
import json
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers import toy_learner
from tests.helpers.stored_runs import (
    ROOT,
    TIMEOUT,
    arguments_of,
    ends,
    environment,
    equal_checkpoints,
    last_train_state,
    metrics_of,
    signal_when_training,
    start,
    train_in,
)
from tests.helpers.toy_learner import ToyLearner
from tests.train.ppo.test_ppo import CONFIG as ON_STAR
from train.driver.learner import Learner
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import PPO

STAR = dataclasses.replace(ON_STAR, total_steps=4 * ON_STAR.steps_per_iteration, anneal_lr=False)
SETTINGS = Settings(checkpoint_every=2, evaluate_every=2, evaluation_games=8)
TOY = toy_learner.Config()
ENDLESS = toy_learner.Config(total_steps=10**7)  # until a signal comes
UNSEEN = Settings(checkpoint_every=2, evaluate_every=0)
COMMAND = "tests.helpers.toy_learner"


def pair(*arguments: str, command: str = COMMAND, **variables: str) -> list[subprocess.Popen[str]]:
    """Two processes of one run on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    together = ["--coordinator", where, "--processes", "2", "--join-timeout", str(TIMEOUT), "--process-id"]
    return [start(command, [*arguments, *together, str(number)], **variables) for number in (0, 1)]


def slurm(*arguments: str, **variables: str) -> list[subprocess.Popen[str]]:
    """Two tasks of `srun --ntasks 2`, all on this machine, with the same command.

    JAX takes the port 61440 + the number of the job, and Linux gives these ports only to those who ask for them.
    """
    job: dict[str, Any] = {"JOB_ID": random.randrange(4096), "NTASKS": 2, "STEP_NUM_NODES": 1}
    job |= {"STEP_NODELIST": "127.0.0.1", "STEP_NUM_TASKS": 2, "STEP_TASKS_PER_NODE": 2}
    tasks = [job | {"PROCID": number, "LOCALID": number} for number in (0, 1)]
    of_tasks = [{f"SLURM_{name}": str(value) for name, value in task.items()} for task in tasks]
    together = [*arguments, "--distributed", "--join-timeout", str(TIMEOUT)]
    return [start(COMMAND, together, **of_task, **variables) for of_task in of_tasks]


@pytest.mark.slow  # two starts of JAX each; tests/train/test_runs.py divides PPO over devices
@pytest.mark.parametrize(
    ("learner", "start_two", "devices"),
    [
        (PPO(STAR), functools.partial(pair, command="train.ppo"), 1),
        (ToyLearner(TOY), slurm, 2),
    ],
)
def test_run_of_two_processes_continues_that_of_one_and_equals_it(
    learner: Learner, start_two: Any, devices: int, tmp_path: Path
) -> None:
    """On some of the devices of each process. Process 0 alone prints the result."""
    config, arguments = learner.config, arguments_of(learner.config, SETTINGS, tmp_path / "two")
    short = dataclasses.replace(config, total_steps=2 * config.steps_per_iteration)
    train_in(tmp_path / "two", type(learner)(short), SETTINGS)
    three_devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    running = start_two(*arguments, "--devices", str(devices), "--resume", **three_devices)
    (status, out, err), (other_status, other_out, other_err) = ends(running)
    assert (status, other_status) == (0, 0), err + other_err
    assert other_out == ""
    result = json.loads(out)  # one line of JSON and nothing else
    assert f"devices: {2 * devices}, processes: 2" in err
    for each in (err, other_err):
        assert f"--run-dir {tmp_path / 'two'} --resume" in each
    one = train_in(tmp_path / "one", learner, SETTINGS)
    assert {name for name in one if one[name] != result[name]} <= {"run_dir", "seconds", "steps_per_second"}
    of_one, of_two = (jax.tree.leaves(last_train_state(tmp_path / name)) for name in ("one", "two"))
    for a, b in zip(of_one, of_two, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)  # sums are taken in another order
    for row, other in zip(metrics_of(tmp_path / "one"), metrics_of(tmp_path / "two"), strict=True):
        assert row.keys() == other.keys()
        for name, value in row.items():
            close = pytest.approx(value, rel=1e-3, abs=1e-5) if isinstance(value, float) else value
            assert other[name] == close, name


@pytest.mark.slow  # two starts of JAX
@pytest.mark.parametrize("victim", [0, 1])  # process 0 is the leader, which writes the folder
def test_lost_process_ends_the_run_which_one_process_resumes(
    victim: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    running = pair(*arguments_of(ENDLESS, UNSEEN, folder))
    signal_when_training(folder, running, 0, signal.SIGCONT)  # changes nothing: it only waits for iterations
    with pytest.raises(BlockingIOError, match=f"in use by process {running[0].pid} on {socket.gethostname()}"):
        RunFolder.open(folder, ToyLearner).lock()
    running[victim].send_signal(signal.SIGKILL)
    ended = ends(running)
    assert ended[victim][0] == -signal.SIGKILL
    status, out, err = ended[1 - victim]
    assert status != 0
    assert out == ""
    assert f"continue with: python -m tests.helpers.toy_learner --run-dir {folder} --resume" in err

    done = int(last_train_state(folder).iteration)
    assert done >= 6
    run = RunFolder.open(folder, ToyLearner)
    run.lock()  # the lock of a killed process is free
    run.truncate_metrics(done)
    run.close()
    assert [row["iteration"] for row in metrics_of(folder)] == list(range(1, done + 1))
    of_one = dataclasses.replace(ENDLESS, total_steps=done * ENDLESS.steps_per_iteration)
    train_in(tmp_path / "one", ToyLearner(of_one), UNSEEN)
    assert metrics_of(folder) == metrics_of(tmp_path / "one")
    assert equal_checkpoints(folder, tmp_path / "one")


@pytest.mark.slow  # two starts of JAX each
@pytest.mark.parametrize(
    ("options", "message"), [((), "holds a run already: add --resume"), (("--resume",), "2.npz is damaged")]
)
def test_refusal_or_failure_of_process_0_ends_both(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train_in(folder, ToyLearner(toy_learner.Config(total_steps=8)), UNSEEN)
    (folder / "checkpoints" / "2.npz").write_bytes(b"")
    ended = ends(pair(*arguments_of(TOY, UNSEEN, folder), *options))
    assert [(status != 0, out) for status, out, _ in ended] == [(True, "")] * 2
    for _, _, err in ended[: 1 if options else 2]:  # a refusal is printed by both
        assert message in err.splitlines()[-1]


@pytest.mark.slow  # a start of JAX
def test_process_without_a_launcher_is_told_which_there_are(tmp_path: Path) -> None:
    """In a shell of Slurm, too: `salloc` and `sbatch` set variables, but only `srun` starts tasks."""
    arguments = ["--distributed", "--join-timeout", "9", "--run-dir", str(tmp_path / "run")]
    ((status, _, err),) = ends([start(COMMAND, arguments, SLURM_JOB_ID="7", SLURM_NTASKS="2")])
    assert status != 0
    assert "--distributed finds the processes that srun of Slurm" in err


FAILS = """
import jax
from train.driver import processes

jax.distributed.initialize = lambda *args, **options: None
jax.distributed.is_initialized = lambda: True
processes.join(processes.Processes(2, 1, "127.0.0.1:9000", join_timeout=9))
processes.abandon("train.ppo: its own error", 3)
"""


def test_failing_process_ends_at_once_with_its_own_error() -> None:
    """Before that it says for which processes it waits, and where."""
    child = [sys.executable, "-c", FAILS]
    done = subprocess.run(child, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=TIMEOUT)
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("process 1 waits up to 9 s for the other 1: ")
    assert "127.0.0.1:9000" in first
    assert (done.returncode, last) == (3, "train.ppo: its own error")


@pytest.mark.slow  # two starts of JAX each; test_loop.py signals a run of one process
@pytest.mark.parametrize(("start_two", "signalled"), [(pair, (1,)), (slurm, (0, 1))])
def test_signal_to_one_process_or_all_stops_both_with_a_checkpoint(
    start_two: Any, signalled: tuple[int, ...], tmp_path: Path
) -> None:
    """In the same iteration, and nothing is lost. A scheduler's second process may have stopped with the first one."""
    folder = tmp_path / "run"
    running = start_two(*arguments_of(ENDLESS, UNSEEN, folder))
    signal_when_training(folder, running, signalled[0], signal.SIGTERM)
    for number in signalled[1:]:
        running[number].send_signal(signal.SIGTERM)
    (status, out, err), (other_status, _, other_err) = ended = ends(running)
    assert (status, other_status) == (130, 130), err + other_err
    assert "stopping after this iteration" in ended[signalled[0]][2]
    assert f"stopped; continue with: python -m tests.helpers.toy_learner --run-dir {folder} --resume" in err
    done = int(last_train_state(folder).iteration)
    assert json.loads(out)["steps"] == done * ENDLESS.steps_per_iteration
    assert [row["iteration"] for row in metrics_of(folder)] == list(range(1, done + 1))
