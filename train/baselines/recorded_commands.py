"""Commands that run one after the other, each in its own process, and are not repeated once they are finished.

    records = RecordedCommands(Path("runs/baselines/commands.jsonl"))
    records.run("train.ppo --env minichess --run-dir runs/baselines/minichess").result["steps"]

The file has one line of JSON for every start of a command: its text, its CPU seconds, and its result, which is the last
line of its standard output. A training that was stopped resumes.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from train.agents import LEARNERS
from train.driver.machine import children_cpu_seconds
from train.driver.result_file import ResultFile

TRAININGS = tuple(f"train.{name}" for name in LEARNERS)


class Record(NamedTuple):
    """One start of a command."""

    finished: bool
    cpu_seconds: float | None  # user and system time; None if it was not measured
    result: dict[str, Any]  # empty if the command did not finish


def total_seconds(measured: Iterable[float | None]) -> float | None:
    """Returns the sum of some CPU seconds; None if one of them was not measured."""
    seconds = list(measured)
    return None if None in seconds else sum(filter(None, seconds))


class RecordedCommands:
    """The commands in a file.

    Args:
      path: the file; it is created with the first command.
      folders: parts of the commands that are replaced, such as the folder of the runs, by what replaces them.
    """

    def __init__(self, path: Path, folders: Mapping[str, Path] | None = None) -> None:
        self._path = path
        self._folders = {} if folders is None else folders

    def run(self, text: str, version: str = "") -> Record:
        """Returns the record of a finished command, which runs now unless it has finished before.

        The CPU seconds are the sum over all starts of the command; None if one of them was not measured.

        Args:
          text: the command behind `python -m`.
          version: of what the command depends on beside its text; with another one it runs again.

        Raises ValueError for a command that fails or prints no result, KeyboardInterrupt if it was interrupted.
        """
        for name, folder in self._folders.items():
            if str(folder) == shlex.quote(str(folder)):
                text = text.replace(name, str(folder))
            elif name in text:  # which may stand in quotes
                text = shlex.join(word.replace(name, str(folder)) for word in shlex.split(text))
        file, key = ResultFile(self._path, ("command", "version")), {"command": text, "version": version}
        last = file.get(key)
        if not (last and last["finished"]):
            _start(text, lambda record: file.add(key, record._asdict()))
        starts = [Record(**row) for row in file.all(key)]
        if not starts[-1].finished:
            raise ValueError(f"this command failed, with the reason above: python -m {text}")
        return Record(True, total_seconds(record.cpu_seconds for record in starts), starts[-1].result)


def _start(text: str, store: Callable[[Record], object]) -> None:
    """Runs a command and stores its record."""
    words = shlex.split(text)
    resumes = ["--resume"] if words[0] in TRAININGS else []
    before, lines = children_cpu_seconds(), list[str]()
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}  # the CPU seconds have all compilation
    command = [sys.executable, "-m", *words, *resumes]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    try:
        lines += process.stdout
    finally:  # at Ctrl-C, which the process gets too, it writes a checkpoint
        result = _result(lines) if process.wait() == 0 else None
        store(Record(result is not None, round(children_cpu_seconds() - before, 1), result or {}))
    if process.returncode == 130:
        raise KeyboardInterrupt
    if process.returncode == 0 and result is None:
        raise ValueError(f"the last line that this command prints must be an object of JSON: python -m {text}")


def _result(lines: list[str]) -> dict[str, Any] | None:
    try:
        result = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        return None
    return result if isinstance(result, dict) else None
