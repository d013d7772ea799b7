"""Many processes: how those of one run find each other, agree, and end together.

    python -m train.ppo ... --coordinator HOST:PORT --processes 2 --process-id 0        on HOST
    python -m train.ppo ... --coordinator HOST:PORT --processes 2 --process-id 1        anywhere else

Process 0 leads: it alone reads and writes the run's folder, evaluates and says how it goes; the others need not even
see the folder. All of them run the same programs on arrays that lie divided over the devices of all, so each must come
to the same collectives in the same order: what decides about them is asked here.

When a process is lost the others cannot go on. Either a collective raises, or JAX's runtime aborts the process from a
thread of its own, where no Python can speak. A companion process holds the last words (`set_exit_message`)
and says them.
A process that fails by itself says its own error instead.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

HEARTBEAT_TIMEOUT = 30  # seconds without a sign of life from a process; a broken connection is noticed at once
MAX_MESSAGE_BYTES = 1 << 16  # bytes that process 0 can tell at once
# How an error of JAX, of whatever type, begins that may come of the loss of another process: with another status.
PEER_FAILURE = re.compile("(?!RESOURCE_EXHAUSTED|INVALID_ARGUMENT|UNKNOWN: Failed to start)[A-Z_]+: ")

_companion: subprocess.Popen[str] | None = None  # of a process of many
_program = ""  # that the process runs; its messages begin with it
_stdout = 1  # a copy of it


def check_rendezvous(coordinator: str | None, processes: int, process_id: int) -> None:
    """Raises ValueError unless all three fit together."""
    if not 0 <= process_id < processes:
        raise ValueError(f"process_id must be from 0 to processes - 1 = {processes - 1}, not {process_id}")
    if coordinator is None and processes > 1:
        raise ValueError(f"{processes} processes need a coordinator: HOST:PORT of process 0")
    if coordinator is not None and processes == 1:
        raise ValueError("a coordinator needs processes = 2 or more: how many belong to the run")
    if coordinator is not None:
        host, _, port = coordinator.rpartition(":")
        if not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
            raise ValueError(f"coordinator must be HOST:PORT, such as 10.0.0.1:9000, not {coordinator!r}")


def join(program: str, coordinator: str, processes: int, process_id: int, timeout: int) -> None:
    """Waits until all processes of the run are there; aborts after `timeout` seconds. Before any use of JAX.

    Raises ValueError, in every process, where one sees fewer devices than another.
    """
    global _companion, _program, _stdout
    _program = program
    _companion = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("last_words.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C on the terminal is not meant for it
    )
    set_exit_message(
        f"process {process_id} did not find the other {processes - 1} within {timeout} s: "
        f"has each been started, and can it reach process 0 at {coordinator}?"
    )
    sys.stdout.flush()
    _stdout = os.dup(1)
    os.dup2(2, 1)  # gloo prints; standard output is kept for the result
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM
    jax.distributed.initialize(
        coordinator, processes, process_id, initialization_timeout=timeout, heartbeat_timeout_seconds=HEARTBEAT_TIMEOUT
    )
    set_exit_message("a process of the run was lost")
    try:
        check_devices([device.process_index for device in jax.devices()])
    except ValueError:
        leave()
        raise


def check_devices(process_of_device: Sequence[int]) -> None:
    """Raises ValueError unless as many devices belong to each process."""
    counts = sorted(Counter(process_of_device).items())
    if len({count for _, count in counts}) > 1:
        seen = ", ".join(f"process {process} sees {count}" for process, count in counts)
        raise ValueError(f"every process must see as many devices, but {seen}; CUDA_VISIBLE_DEVICES can hide GPUs")


def leave() -> None:
    """Waits for the others to come here too, and parts from them; nothing for a single process."""
    global _companion
    if _companion is not None:
        jax.distributed.shutdown()
        set_exit_message("")
        _companion.communicate()
        _companion = None
        sys.stdout.flush()
        os.dup2(_stdout, 1)


def abandon(error: BaseException, status: int = 1) -> None:
    """Ends this process at once without waiting for the others, which cannot go on; nothing for a single process.

    The error is the last that it says, unless it may come of the loss of another process: then the last words are.
    """
    if _companion is None:
        return
    if isinstance(error, (ValueError, OSError, jax.errors.JaxRuntimeError)):
        print(f"{_program}: {error}", file=sys.stderr)
    elif not isinstance(error, KeyboardInterrupt):
        traceback.print_exception(error)
    if not PEER_FAILURE.match(str(error)):
        set_exit_message("")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def is_leader() -> bool:
    """Whether this is process 0."""
    return jax.process_index() == 0


def broadcast_from_leader(note: Any) -> Any:
    """What process 0 calls this with, in every process; JSON."""
    words = json.dumps(note).encode()
    if len(words) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a note of {len(words)} bytes is longer than {MAX_MESSAGE_BYTES}")
    page = np.zeros(MAX_MESSAGE_BYTES, np.uint8)
    page[: len(words)] = np.frombuffer(words, np.uint8)
    return json.loads(bytes(multihost_utils.broadcast_one_to_all(page)).rstrip(b"\0"))


def any_process(flag: bool) -> bool:
    """Whether the flag is up in any process; the same answer in all."""
    return bool(multihost_utils.process_allgather(np.array(flag)).any())


def set_exit_message(text: str) -> None:
    """Sets the last words: what is said on standard error if this process ends before `leave`; nothing if empty."""
    if _companion is not None and _companion.stdin is not None:
        with contextlib.suppress(BrokenPipeError):  # without its companion a process ends in silence, but only then
            _companion.stdin.write((f"{_program}: {text}" if text else "") + "\n")
            _companion.stdin.flush()
