"""--distributed finds the processes in the variables that a launcher sets, and the run is that of --coordinator."""

import json
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of
from tests.helpers.stored_runs import (
    ROOT,
    TIMEOUT,
    arguments_of,
    ends,
    environment,
    last_train_state,
    metrics_of,
    signal_when_training,
    start,
    train_in,
)
from tests.helpers.toy_learner import ToyLearner
from train.driver import processes
from train.driver.loop import Settings
from train.driver.processes import Processes

TOY = toy_learner.Config()
ENDLESS = toy_learner.Config(total_steps=10**7)  # until a signal comes
SETTINGS = Settings(checkpoint_every=2, evaluate_every=2, evaluation_games=8)
UNSEEN = Settings(checkpoint_every=2, evaluate_every=0)
COMMAND = "tests.helpers.toy_learner"
FIRST_PORT, NUM_PORTS = 61440, 4096  # of the ports from which JAX takes one by the number of the job


def job_with_free_port() -> int:
    """A number of a job whose port is free on this machine; equal to the port, counted from FIRST_PORT."""
    while True:
        job = random.randrange(NUM_PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", FIRST_PORT + job))
            except OSError:
                continue
            return job


def slurm(job: int, process: int, count: int = 2) -> dict[str, str]:
    """The variables of a task of `srun --ntasks count`, all on this machine."""
    numbers = {"JOB_ID": job, "NTASKS": count, "PROCID": process, "LOCALID": process, "STEP_NUM_NODES": 1}
    of_step = {"STEP_NODELIST": "127.0.0.1", "STEP_NUM_TASKS": count, "STEP_TASKS_PER_NODE": count}
    return {f"SLURM_{name}": str(value) for name, value in (numbers | of_step).items()}


def open_mpi(job: int, process: int, count: int = 2) -> dict[str, str]:
    """The variables of a process of `mpirun -n count` of Open MPI 4, all on this machine."""
    numbers = {"SIZE": count, "RANK": process, "LOCAL_RANK": process, "LOCAL_SIZE": count}
    where = {"OMPI_MCA_orte_hnp_uri": f"{job * 2**12}.0;tcp://127.0.0.1:34911"}
    return where | {f"OMPI_COMM_WORLD_{name}": str(value) for name, value in numbers.items()}


def pair(launcher: Any, *arguments: str, **variables: str) -> list[subprocess.Popen[str]]:
    """Two processes of one run, as the launcher starts them: with the same command."""
    job = job_with_free_port()
    together = [*arguments, "--distributed", "--join-timeout", str(TIMEOUT)]
    return [start(COMMAND, together, **launcher(job, number), **variables) for number in (0, 1)]


@pytest.mark.slow  # two starts of JAX each
@pytest.mark.parametrize("launcher", [slurm, open_mpi])
def test_run_of_a_launcher_equals_that_of_one_process(launcher: Any, tmp_path: Path) -> None:
    """tests/train/driver/test_processes.py shows the same of --coordinator. Process 0 alone prints the result."""
    running = pair(launcher, *arguments_of(TOY, SETTINGS, tmp_path / "two"))
    (status, out, err), (other_status, other_out, other_err) = ends(running)
    assert (status, other_status) == (0, 0), err + other_err
    assert other_out == ""
    result = json.loads(out)  # one line of JSON and nothing else
    assert "devices: 2, processes: 2" in err
    for each in (err, other_err):
        assert f"continue with: python -m tests.helpers.toy_learner --run-dir {tmp_path / 'two'} --resume" in each
    one = train_in(tmp_path / "one", ToyLearner(TOY), SETTINGS)
    assert {name for name in one if one[name] != result[name]} <= {"run_dir", "seconds", "steps_per_second"}
    assert metrics_of(tmp_path / "two") == metrics_of(tmp_path / "one")


@pytest.mark.slow  # four starts of JAX
def test_run_of_a_launcher_equals_that_of_a_coordinator(tmp_path: Path) -> None:
    """On two devices of each of the two processes. On a CPU, every process has all of its devices."""
    virtual = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"}
    arguments = [*arguments_of(TOY, SETTINGS, tmp_path / "found"), "--devices", "2"]
    (status, _, err), (other_status, _, other_err) = ends(pair(slurm, *arguments, **virtual))
    assert (status, other_status) == (0, 0), err + other_err
    assert "devices: 4, processes: 2" in err
    by_hand = [*arguments_of(TOY, SETTINGS, tmp_path / "named"), "--devices", "2", "--processes", "2"]
    by_hand += ["--coordinator", f"127.0.0.1:{FIRST_PORT + job_with_free_port()}", "--process-id"]
    named = ends([start(COMMAND, [*by_hand, str(number)], **virtual) for number in (0, 1)])
    assert [status for status, _, _ in named] == [0, 0], named
    assert metrics_of(tmp_path / "found") == metrics_of(tmp_path / "named")


@pytest.mark.slow  # two starts of JAX; tests/train/driver/test_processes.py signals one of two processes
def test_signal_of_a_scheduler_to_all_processes_stops_them_with_a_checkpoint(tmp_path: Path) -> None:
    """One gets it some milliseconds later; it may already have stopped with the other."""
    folder = tmp_path / "run"
    running = pair(slurm, *arguments_of(ENDLESS, UNSEEN, folder))
    signal_when_training(folder, running, 0, signal.SIGTERM)
    running[1].send_signal(signal.SIGTERM)
    (status, out, err), (other_status, _, other_err) = ends(running)
    assert (status, other_status) == (130, 130), err + other_err
    done = int(last_train_state(folder).iteration)
    assert json.loads(out)["steps"] == done * ENDLESS.steps_per_iteration
    assert f"stopped; continue with: python -m tests.helpers.toy_learner --run-dir {folder} --resume" in err


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raised",
    [
        ValueError("coordinator_address should be defined."),  # nothing was detected
        RuntimeError("jobs must be indexed"),  # by JAX's detection of Kubernetes
        KeyError("OMPI_COMM_WORLD_SIZE"),
    ],
)
def test_missing_launcher_is_refused_with_those_that_are_known(
    raised: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def initialize(*rendezvous: Any, **options: Any) -> None:
        assert rendezvous == ()
        assert {"initialization_timeout", "heartbeat_timeout_seconds"} == options.keys()
        raise raised

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # `join` replaces it
    message = error_of(toy_learner.main, "--run-dir", tmp_path / "run", "--distributed")
    for part in (
        "srun of Slurm",
        "mpirun of Open MPI 4",
        "TPU pod",
        "Kubernetes",
        "--coordinator HOST:PORT",
        str(raised),
    ):
        assert part in message
    assert not (tmp_path / "run").exists()


def test_error_of_a_failed_connection_is_not_that_of_a_missing_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    def initialize(*rendezvous: Any, **options: Any) -> None:
        raise jax.errors.JaxRuntimeError("DEADLINE_EXCEEDED")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # `join` replaces it
    with pytest.raises(jax.errors.JaxRuntimeError, match="DEADLINE_EXCEEDED"):
        processes.join(Processes(distributed=True))


@pytest.mark.parametrize("named", [{"coordinator": "a:1", "processes": 2}, {"processes": 2}, {"process_id": 1}])
def test_processes_are_found_or_named_but_not_both(named: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="leave it out, or leave out --coordinator, --processes and --process-id"):
        Processes(distributed=True, **named)


NOT_STARTED = """
from train.driver import processes
processes.join(processes.Processes(distributed=True, join_timeout=9))
"""


@pytest.mark.slow  # a start of JAX; its detection is replaced above
def test_python_without_a_launcher_detects_nothing() -> None:
    """In a shell of Slurm, too: `salloc` and `sbatch` set variables, but only `srun` starts tasks."""
    child = [sys.executable, "-c", NOT_STARTED]
    allocated = environment(SLURM_JOB_ID="7", SLURM_NTASKS="2")
    done = subprocess.run(child, cwd=ROOT, env=allocated, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert "--distributed finds the processes that srun of Slurm" in done.stderr.splitlines()[-1]
