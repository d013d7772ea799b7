"""Cells of a table in a file, one line of JSON each, so that a command that was stopped resumes.

A cell is a named tuple of all that its result depends on. Every finished cell is one line. Several commands may write
to one file.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

CellT = TypeVar("CellT", bound=tuple[Any, ...])  # a named tuple of texts and numbers


def stored(path: Path, kind: type[CellT]) -> dict[CellT, dict[str, Any]]:
    """Returns the cells of a file with their results. A last line that is not finished is left out.

    Args:
      path: the file; without one, there are no cells.
      kind: the class of the cells.

    Raises ValueError for a line that is no such cell.
    """
    found: dict[CellT, dict[str, Any]] = {}
    make: Any = kind  # a named tuple, which pyright cannot ask for
    for number, line in enumerate(path.read_text().split("\n")[:-1] if path.exists() else (), start=1):
        try:
            row = json.loads(line)
            found[make(*(row.pop(name) for name in make._fields))] = row
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number} is no cell: remove the line or the file") from error
    return found


def store(path: Path, cell: tuple[Any, ...], result: Mapping[str, Any]) -> None:
    """Adds a cell with its results to a file, in the place of a last line that is not finished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
    fields: Any = cell  # a named tuple
    with path.open("a") as file:
        file.write(json.dumps(fields._asdict() | dict(result)) + "\n")


def computed_once(path: Path, cell: tuple[Any, ...], compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the results of a cell in the types of JSON: from the file, or computed and then stored there.

    A result with the name of a field of the cell is left out. Raises ValueError if a line of the file is no such cell.
    """
    found = stored(path, type(cell)).get(cell)
    if found is None:
        fields: Any = cell  # a named tuple
        found = {name: value for name, value in compute().items() if name not in fields._fields}
        found = json.loads(json.dumps(found))
        store(path, cell, found)
    return found
