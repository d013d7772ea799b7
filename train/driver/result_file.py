"""Results in a file, one line of JSON each, so that a command that was stopped resumes.

    file = ResultFile(Path("runs/ladder/pairs.jsonl"), key=("agents",), settings={"games": 400})
    file.get({"agents": ["first", "greedy"]})                   # None, or what was added under this key
    file.add({"agents": ["first", "greedy"]}, {"wins": [3, 5]})

Each line has the columns of the key, which are all that the result depends on, and the columns of the result. With
settings, the first line of the file has them. A last line that is not finished is left out. Several commands may write
to one file.
"""

import fcntl
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from train.driver.learner import changes


class ResultFile:
    """The results in a file, by their keys."""

    def __init__(self, path: Path, key: Sequence[str], settings: Mapping[str, Any] | None = None) -> None:
        """
        Args:
          path: the file; it is created with the first result.
          key: the names of the columns of a key.
          settings: what all results depend on; None if the keys have it all.

        Raises ValueError for a line without the columns of the key, and for a file with other settings.
        """
        self.path, self._key, self._settings = path, tuple(key), settings
        self._results: dict[str, list[dict[str, Any]]] = {}
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
                if number > 1 or settings is None:
                    self._keep(row)
                elif changed := changes(row["settings"], settings):
                    other = "; ".join(changed)
                    raise ValueError(f"{path} has other settings: {other}. Name another place with --output")
            except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeError, RecursionError) as error:
                raise ValueError(
                    f"{path}, line {number} is not a result of this command: remove the line or the file"
                ) from error

    def _keep(self, row: dict[str, Any]) -> None:
        key = {name: row.pop(name) for name in self._key}
        self._results.setdefault(json.dumps(key, sort_keys=True), []).append(row)

    def all(self, key: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the results that were added under a key, without the columns of the key, the first one first."""
        return self._results.get(json.dumps({name: key[name] for name in self._key}, sort_keys=True), [])

    def get(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Returns the last result that was added under a key, without the columns of the key; None if there is none."""
        return next(reversed(self.all(key)), None)

    def add(self, key: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
        """Adds a result, in the place of a last line that is not finished. Returns it in JSON's types.

        A column of the result with the name of one of the key is left out.
        """
        line = json.dumps({name: key[name] for name in self._key} | {**result, **key})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # another writer may be in the middle of its line
            file.seek(0)
            end = file.read().rfind(b"\n") + 1
            file.truncate(end)
            first = [json.dumps({"settings": self._settings})] if end == 0 and self._settings is not None else []
            file.write("".join(f"{each}\n" for each in (*first, line)).encode())
        row = json.loads(line)
        self._keep(row)
        return row

    def once(self, key: Mapping[str, Any], compute: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Returns the result under a key in JSON's types: from the file, or computed and then added."""
        stored = self.get(key)
        return self.add(key, compute()) if stored is None else stored
