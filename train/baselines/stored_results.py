"""Results of the docs that are made from recorded commands: docs/results/NAME.json."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import tyro

from jaxgames._checks import check_choice
from jaxgames._files import write_whole
from train.baselines.recipes import RUNS
from train.baselines.recorded_commands import RecordedCommands, total_seconds
from train.driver.machine import commit, stamp

EntryT = TypeVar("EntryT")
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@dataclass(frozen=True, kw_only=True)
class NamedResults:
    """The arguments of a command that stores results by name."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The names of the results; none for all. An unknown name is refused with the list."""
    output: Path = RESULTS
    """The folder of the results."""


def store(
    kind: str,
    entries: Mapping[str, EntryT],
    result_of: Callable[[str, EntryT, RecordedCommands], dict[str, Any]],
    arguments: NamedResults,
) -> dict[str, dict[str, Any]]:
    """Returns the results of the named entries, or of all of them, and writes each to OUTPUT/KIND_NAME.json.

    Raises ValueError for an unknown name, and for a command that fails.
    """
    for name in arguments.names:
        check_choice("name", name, tuple(entries))
    records = RecordedCommands(Path(RUNS) / "commands.jsonl")
    results: dict[str, dict[str, Any]] = {}
    for name in arguments.names or entries:
        results[name] = result_of(name, entries[name], records)
        write(arguments.output / f"{kind}_{name}.json", results[name])
    return results


def write(path: Path, result: Mapping[str, Any]) -> None:
    """Writes a result as JSON, and makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(result, indent=1) + "\n")


def stored_rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file of results."""
    return json.loads(path.read_text(encoding="utf-8"))["rows"]


def provenance(cpu_seconds: Iterable[float | None]) -> dict[str, Any]:
    """Returns where a result is from: the commit at which it is written, the machine, the CPU seconds together."""
    seconds = total_seconds(cpu_seconds)
    return {"commit": commit(), **stamp(), "cpu_seconds": None if seconds is None else round(seconds, 1)}
