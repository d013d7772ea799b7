"""Many processes of one run: how they connect, agree and end together (docs/training/cluster.md).

Process 0 is the leader: only the leader reads and writes the run folder, evaluates and logs. The others need no access
to the folder. All processes run the same programs on arrays that are divided over the devices of all processes. So each
process must call the same collectives in the same order. Therefore all common decisions pass through this module.

A process of many can end in three ways:

    all are done, or refuse to start     `leave`: waits for the others, then ends as a single process does
    it fails                             `abandon`: prints its own error and exits at once, without waiting
    another process is lost              a collective raises (then `abandon`), or JAX's runtime aborts the process with
                                         its own message, at the latest HEARTBEAT_TIMEOUT seconds after the loss
"""

import json
import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from train.bounds import Count, check_values

HEARTBEAT_TIMEOUT = 30  # seconds until a silent process counts as lost; a broken connection is noticed at once

LAUNCHERS = "srun of Slurm, mpirun of Open MPI 4, a TPU pod, or an indexed Job of Kubernetes"  # those that JAX detects


@dataclass(frozen=True)
class Processes:
    """How the processes of a run find each other."""

    processes: Count[int] = 1
    """Processes of the run. Start each with the same command except for --process-id. All use process 0's options."""
    process_id: int = 0
    """The number of this process, from 0."""
    coordinator: str | None = None
    """HOST:PORT where the processes connect: the host of process 0, and any free port on it."""
    distributed: bool = False
    """Lets JAX find the processes that Slurm, Open MPI, a TPU pod or Kubernetes started, instead of --coordinator."""
    join_timeout: Count[int] = 300
    """Seconds that processes wait for each other at the start."""

    def __post_init__(self) -> None:
        check_values(vars(self), Processes)
        by_hand = self.coordinator, self.processes, self.process_id
        host, _, port = (self.coordinator or "").rpartition(":")
        is_address = bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16
        fit = is_address and self.processes > 1 and 0 <= self.process_id < self.processes and not self.distributed
        if by_hand != (None, 1, 0) and not fit:
            raise ValueError(
                "by hand, and without --distributed, several processes are named by --coordinator HOST:PORT of process "
                "0, such as 10.0.0.1:9000, --processes from 2 and --process-id from 0 to processes - 1, not by "
                f"coordinator = {self.coordinator!r}, processes = {self.processes}, process_id = {self.process_id}"
            )

    @property
    def are_many(self) -> bool:
        return self.processes > 1 or self.distributed


def join(settings: Processes) -> None:
    """Waits until all processes are connected; JAX aborts after `join_timeout` seconds. Call it before JAX starts.

    With `distributed`, JAX detects them where one of the LAUNCHERS started the processes.

    Raises ValueError if JAX detects none. Raises it in every process if one has fewer devices than another.
    """
    by_hand = [settings.coordinator, settings.processes, settings.process_id]
    timeout, rendezvous = settings.join_timeout, list[Any](() if settings.distributed else by_hand)
    waiting = f"JAX looks for the processes that the launcher started, and waits up to {timeout} s for all of them"
    if rendezvous:
        waiting = (
            f"process {settings.process_id} waits up to {timeout} s for the other {settings.processes - 1}: each must "
            f"be started, and must reach process 0 at {settings.coordinator}"
        )
    print(waiting, file=sys.stderr, flush=True)
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1)  # only for the result: gloo prints, too
    os.dup2(2, 1)
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM
    try:
        jax.distributed.initialize(
            *rendezvous, initialization_timeout=timeout, heartbeat_timeout_seconds=HEARTBEAT_TIMEOUT
        )
    except jax.errors.JaxRuntimeError:
        raise  # they were found, and could not connect
    except (ValueError, KeyError, RuntimeError) as error:
        if rendezvous or jax.distributed.is_initialized():
            raise
        raise ValueError(
            f"--distributed finds the processes that {LAUNCHERS} started, and found none here (JAX: {error}); "
            "otherwise name them with --coordinator HOST:PORT, --processes and --process-id"
        ) from error
    counts = sorted(Counter(device.process_index for device in jax.devices()).items())
    if len({count for _, count in counts}) > 1:
        leave()
        seen = ", ".join(f"process {process} sees {count}" for process, count in counts)
        raise ValueError(
            f"every process must see the same number of devices, but {seen}; CUDA_VISIBLE_DEVICES can hide GPUs"
        )


def leave() -> None:
    """Waits until all processes call this, then disconnects. It does nothing in a single process."""
    if jax.distributed.is_initialized():
        jax.distributed.shutdown()


def abandon(message: str, status: int = 1) -> None:
    """Ends this process at once, so that the others notice its loss. It does nothing in a single process.

    The message is the last line on standard error.
    """
    if jax.distributed.is_initialized():
        print(message, file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(status)  # a usual exit waits for the others


def is_leader() -> bool:
    """Returns whether this is process 0."""
    return jax.process_index() == 0


def log(text: str) -> None:
    """Prints a line on standard error, in process 0 only; standard output is kept for the result."""
    if is_leader():
        print(f"{text}\n", end="", file=sys.stderr, flush=True)  # one write, because other threads write too


def broadcast_from_leader(message: Any) -> Any:
    """Returns the message of process 0, in every process. Messages are JSON."""
    encoded = np.frombuffer(json.dumps(message).encode(), np.uint8)
    length = int(multihost_utils.broadcast_one_to_all(np.int32(encoded.size)))  # all send equally many bytes
    return json.loads(bytes(multihost_utils.broadcast_one_to_all(np.resize(encoded, length))))


def any_process(flag: bool) -> bool:
    """Returns whether the flag is set in any process. All processes get the same result."""
    return bool(multihost_utils.process_allgather(np.array(flag)).any())
