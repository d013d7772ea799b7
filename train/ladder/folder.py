"""The folder of a ladder, from which it can be resumed.

    settings.json    the game, and the settings of the games
    pairs.jsonl      one line per finished pair of agents
    ladder.json      the ratings and scores; ladder.png and ladder.svg beside it are the picture
    lock             held by the process that plays

Every file is written whole or not at all. So a ladder that is killed at any time loses only the pair that it plays.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self, TypedDict

from matplotlib.figure import Figure

from train import plot
from train.driver import stored_config
from train.driver.run_folder import lock_folder, write_whole

SETTINGS, PAIRS, RESULT = "settings.json", "pairs.jsonl", "ladder.json"


class PairResult(NamedTuple):
    """The results of all games of two agents."""

    wins: tuple[int, int]  # of the first and of the second agent
    draws: int  # all other games
    truncated: int  # games that a limit ended; they are among the draws


class Row(TypedDict):
    """One agent in the result of a ladder."""

    agent: str
    elo: float
    elo_interval: list[float | None]  # None for an end that the games do not bound
    games: int
    wins: int
    draws: int
    losses: int


class LadderFolder:
    """The folder of a ladder, reserved for this process until the end of its `with` block."""

    def __init__(self, folder: Path, lock: IO[str]) -> None:
        self.folder = folder
        self.pairs = _read_pairs(folder / PAIRS)
        """The results of the finished pairs, by the names of the agents in alphabetical order."""
        self._lock = lock

    @classmethod
    def open(cls, folder: Path, settings: Mapping[str, Any]) -> "LadderFolder":
        """Returns a new ladder, or the one in the folder if it has the same settings.

        Raises ValueError for a ladder with other settings and for damaged files, BlockingIOError if another process
        plays it, and FileExistsError for the folder of a training run.
        """
        if (folder / "config.json").exists():
            raise FileExistsError(f"{folder} holds a training run: name another folder with --output")
        folder.mkdir(parents=True, exist_ok=True)
        lock = lock_folder(folder)
        try:
            _check_or_write(folder / SETTINGS, settings)
            return cls(folder, lock)
        except BaseException:
            lock.close()
            raise

    def add(self, pair: tuple[str, str], result: PairResult) -> None:
        """Stores the result of a pair, whose names are in alphabetical order."""
        self.pairs[pair] = result
        lines = [json.dumps({"agents": names, **result._asdict()}) for names, result in self.pairs.items()]
        write_whole(self.folder / PAIRS, "".join(f"{line}\n" for line in lines))

    def finish(self, result: Mapping[str, Any], figure: Figure) -> list[Path]:
        """Writes the result and the picture. Returns their paths."""
        write_whole(self.folder / RESULT, json.dumps(result, indent=2) + "\n")
        return [self.folder / RESULT, *plot.save(figure, self.folder / "ladder")]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.close()


def _check_or_write(path: Path, settings: Mapping[str, Any]) -> None:
    """Writes the settings, or raises ValueError if the file has others."""
    if not path.exists():
        write_whole(path, json.dumps(settings, indent=2) + "\n")
        return
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if changed := stored_config.changes(found, settings):
        raise ValueError(
            f"{path.parent} holds a ladder with other settings: {'; '.join(changed)}. Name another folder with --output"
        )


def _read_pairs(path: Path) -> dict[tuple[str, str], PairResult]:
    """Returns the results in the file. Raises ValueError, with the path and the line, for a damaged line."""
    found: dict[tuple[str, str], PairResult] = {}
    lines = path.read_text().splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            first, second = row.pop("agents")
            result = PairResult(**row)
            found[first, second] = result._replace(wins=(result.wins[0], result.wins[1]))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
            raise ValueError(f"{path}, line {number} is not the result of a pair: {error}") from None
    return found
