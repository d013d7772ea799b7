"""Commands that run one after the other, each in a process of its own, and are not repeated once they are finished.

    records = RecordedCommands(Path("runs/baselines/commands.jsonl"))
    records.run("train.ppo --env minichess --run-dir runs/baselines/minichess").result["steps"]

The file has one line of JSON for every start of a command: its text, its CPU seconds, and its result, which is the last
line of its standard output. A training that was stopped resumes.
"""

import json
import resource
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jaxgames.baselines.cards import total_seconds
from train.agents import LEARNERS

TRAININGS = tuple(f"train.{name}" for name in LEARNERS)


@dataclass(frozen=True)
class Record:
    """One start of a command."""

    command: str  # behind `python -m`, with the folders that were replaced
    version: str  # of what the command depends on beside its text
    finished: bool
    cpu_seconds: float | None  # user and system time; None in a line written by hand, for a run that was not measured
    result: dict[str, Any]  # empty if the command did not finish


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

        The CPU seconds are those of all starts of the command; None if those of one were not measured.

        Args:
          text: the command behind `python -m`.
          version: of what the command depends on beside its text; with another one it runs again.

        Raises ValueError for a command that fails or prints no result, KeyboardInterrupt if it was interrupted.
        """
        for name, folder in self._folders.items():
            text = text.replace(name, shlex.quote(str(folder)))
        starts = [record for record in self._records() if (record.command, record.version) == (text, version)]
        if not (starts and starts[-1].finished):
            starts.append(self._start(text, version))
        if not starts[-1].finished:
            raise ValueError(f"this command failed, with the reason above: python -m {text}")
        seconds = total_seconds(record.cpu_seconds for record in starts)
        return Record(text, version, True, seconds, starts[-1].result)

    def _start(self, text: str, version: str) -> Record:
        """Runs a command and stores its record."""
        words = shlex.split(text)
        resumes = ["--resume"] if words[0] in TRAININGS else []
        before, lines = _cpu_seconds(), list[str]()
        process = subprocess.Popen([sys.executable, "-m", *words, *resumes], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            lines += process.stdout
        finally:  # at Ctrl-C, which the process gets too, it writes a checkpoint
            result = _result(lines) if process.wait() == 0 else None
            seconds = round(_cpu_seconds() - before, 1)
            record = Record(text, version, result is not None, seconds, result or {})
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(json.dumps(asdict(record)) + "\n")
        if process.returncode == 130:
            raise KeyboardInterrupt
        if process.returncode == 0 and result is None:
            raise ValueError(f"the last line that this command prints must be an object of JSON: python -m {text}")
        return record

    def _records(self) -> list[Record]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [Record(**json.loads(line)) for line in lines]


def _result(lines: list[str]) -> dict[str, Any] | None:
    """Returns the object of JSON in the last line of an output, or None."""
    try:
        found = json.loads(lines[-1])
    except (IndexError, json.JSONDecodeError):
        return None
    return found if isinstance(found, dict) else None


def _cpu_seconds() -> float:
    """Returns the CPU seconds of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
