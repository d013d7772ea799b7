"""Commands that run one after the other, each in its own process, and are not repeated once they are finished.

    RecordedCommands().run("train.ppo --env minichess --run-dir runs/baselines/minichess").result["steps"]

The file has one line of JSON for every start of a command: its text, its CPU seconds, and its result, which is the last
line of its standard output. A training that was stopped resumes.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from train.agents import LEARNERS
from train.driver.commands import children_cpu_seconds, commit, stamp
from train.driver.result_file import ResultFile
from train.driver.tables import tables_in

RUNS = "runs/baselines"  # the folder of runs and positions in the commands
TRAININGS = tuple(f"train.{name}" for name in LEARNERS)


class Record(NamedTuple):
    """One start of a command."""

    finished: bool
    cpu_seconds: float | None  # user and system time; None if it was not measured
    result: Any  # an object or a list; empty if the command did not finish
    tables: Sequence[Mapping[str, Any]] = ()  # that it printed, as `tables_in` has them


def total_seconds(measured: Iterable[float | None]) -> float | None:
    """Returns the sum of some CPU seconds; None if one of them was not measured."""
    seconds = list(measured)
    return None if None in seconds else sum(filter(None, seconds))


def provenance(cpu_seconds: Iterable[float | None]) -> dict[str, Any]:
    """Returns where a result is from: the commit at which it is written, the machine, the CPU seconds together."""
    seconds = total_seconds(cpu_seconds)
    return {"commit": commit(), **stamp(), "cpu_seconds": None if seconds is None else round(seconds, 1)}


class RecordedCommands:
    """The commands in a file, which is created with the first command."""

    def __init__(self, path: Path = Path(RUNS) / "commands.jsonl") -> None:
        self._path = path

    def run(self, text: str, version: str | None = "") -> Record:
        """Returns the record of a finished command, which runs now unless it has finished before.

        The CPU seconds are the sum over all starts of the command; None if one of them was not measured.

        Args:
          text: the command behind `python -m`.
          version: of what the command depends on beside its text; with another one it runs again.

        Raises ValueError for a command that fails or prints no result, KeyboardInterrupt if it was interrupted.
        """
        file, key = ResultFile(self._path, ("command", "version")), {"command": text, "version": version}
        last = file.get(key)
        if not (last and last["finished"]):
            print(f"-- {text}", file=sys.stderr, flush=True)
            record, status = _start(text)
            file.add(key, record._asdict())
            if status == 130:
                raise KeyboardInterrupt
            if status == 0 and not record.finished:
                raise ValueError(f"the last line that this command prints must be JSON: python -m {text}")
        starts = [Record(**row) for row in file.all(key)]
        if not starts[-1].finished:
            raise ValueError(f"this command failed, with the reason above: python -m {text}")
        return starts[-1]._replace(cpu_seconds=total_seconds(record.cpu_seconds for record in starts))


def _start(text: str) -> tuple[Record, int]:
    """Runs a command; returns its record and its exit status, 130 where it was interrupted."""
    words = shlex.split(text)
    resumes = ["--resume"] if words[0] in TRAININGS else []
    before, lines, stopped = children_cpu_seconds(), list[str](), False
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}  # the CPU seconds have all compilation
    command = [sys.executable, "-m", *words, *resumes]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        lines += process.stdout
    except KeyboardInterrupt:  # which the process gets too: it writes a checkpoint
        stopped = True
    status = process.wait()
    try:
        result = json.loads(lines[-1]) if status == 0 else None
    except (IndexError, json.JSONDecodeError):
        result = None
    finished, seconds = isinstance(result, (dict, list)), round(children_cpu_seconds() - before, 1)
    return Record(finished, seconds, result if finished else {}, tables_in("".join(lines))), 130 if stopped else status
