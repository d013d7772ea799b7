"""The lines of a picture: columns of the metrics of runs, with seeds together.

    runs = open_runs([Path("runs/a"), Path("runs/b")])
    curves(runs, ["win_rate"], by="steps")      # {"win_rate": [Curve(label="gamma=0.5", x=..., values=...), ...]}

`train.plot.draw` draws them.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from jaxgames.arena import wilson
from train import agents
from train.driver.messages import GAMES, OPPONENT
from train.driver.run_folder import RunFolder
from train.driver.stored_config import format_setting, settings_of

By = Literal["steps", "seconds", "iterations"]
X_COLUMN = {"steps": "steps", "seconds": "seconds", "iterations": "iteration"}  # the column of each `By`
RATES = ("win_rate", "draw_rate", "truncated_rate")  # of the games of an evaluation
MAX_NAMED = 4  # settings in a label
MAX_UNREPORTED_GAP = 0.05  # the largest share of the longest seed that a line leaves out without a remark

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """A line of a panel: a column of one run, or of several seeds."""

    label: str
    """The settings that differ between the lines; "" if there are none."""
    x: Floats  # float64[points], increasing; empty where no run has a number
    values: Floats  # float64[runs, points], finite
    interpolated: bool
    """True if some values are interpolated linearly between values of their run."""
    remark: str
    """The seeds that the line leaves out, or because of which it ends early; "" if there are none."""
    interval: Floats | None = None
    """float64[2, points], the ends of the 95 % intervals of a rate; None for several runs, and for what is no rate."""


class Points(NamedTuple):
    """The numbers of a column in the metrics of a run."""

    folder: Path
    x: Floats  # float64[points]
    y: Floats  # float64[points]
    games: list[int | None]  # of the evaluation at each point; None for a number that is not a rate of games


def open_runs(folders: Iterable[Path]) -> list[RunFolder]:
    """Returns the runs in the folders, each once. In place of a folder without a run: the runs one or two levels below.

    Raises FileNotFoundError if a folder holds no run.
    """
    runs: dict[Path, RunFolder] = {}
    for folder in folders:
        inside: list[Path] = []
        if not (folder / "config.json").exists():
            inside = [path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/config.json")]
        for each in sorted(inside) or [folder]:
            runs.setdefault(each.resolve(), agents.open_run(each))
    return [*runs.values()]


def curves(runs: Sequence[RunFolder], columns: Sequence[str], by: By = "steps") -> dict[str, list[Curve]]:
    """Returns the lines of every column, in the order of the runs. Every column has the same lines.

    Runs that differ only in their seed are one line. It lies where all of them have values: it begins and ends with the
    shortest of them. Where only some of them have a value, the others are interpolated linearly. A run without the
    column is left out. If no run of a line has the column, the line is empty.

    Args:
      runs: from `open_runs` or `train.agents.open_run`.
      columns: names of metrics, such as "win_rate" or "episode_return/seat_0".
      by: what `x` counts: environment steps, seconds of training, or iterations.

    Raises:
      ValueError: a column that no run has, or a row that is damaged.
    """
    if by not in get_args(By):
        raise ValueError(f"by must be one of {', '.join(get_args(By))}, not {by!r}")
    rows = {run.folder: run.rows() for run in runs}
    known = list(dict.fromkeys(name for of_run in rows.values() for row in of_run for name in row))
    for column in columns:
        if column not in known:
            raise ValueError(unknown_column(column, known))
    lines = lines_of(runs)
    return {
        column: [
            curve_of(label, column, [points_of(run.folder, rows[run.folder], column, by) for run in of_line])
            for label, of_line in lines.items()
        ]
        for column in columns
    }


def unknown_column(column: str, known: Sequence[str]) -> str:
    """Returns the message for a column that no run has."""
    if not known:
        return "the runs have no metrics yet"
    hint = "; evaluations add win_rate and others: train with --evaluate-every" if "win_rate" not in known else ""
    return f"no run has the column {column!r}; the columns are {', '.join(known)}{hint}"


def points_of(folder: Path, rows: Sequence[Mapping[str, Any]], column: str, by: By) -> Points:
    """Returns the rows that have a number in the column. Null means that there was nothing to measure.

    Raises ValueError, with the path and the line, for a value that is not a number.
    """
    x: list[float] = []
    y: list[float] = []
    games: list[int | None] = []
    for number, row in enumerate(rows, start=1):
        if row.get(column) is None:
            continue
        place = f"{folder / 'metrics.jsonl'}, line {number}"
        for name in (X_COLUMN[by], column):
            value = row.get(name, "nothing")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{place}: {name} must be a number, not {value!r}")
            if name == X_COLUMN[by] and x and value <= x[-1]:
                raise ValueError(f"{place}: {name} must be more than {x[-1]:g}, its last value, not {value:g}")
        x.append(row[X_COLUMN[by]])
        y.append(row[column])
        games.append(row.get(GAMES) if column in RATES else None)
    return Points(folder, np.array(x, np.float64), np.array(y, np.float64), games)


def curve_of(label: str, column: str, seeds: Sequence[Points]) -> Curve:
    """Returns the line of runs that differ only in their seed."""
    present = [points for points in seeds if points.x.size]
    remarks = [f"{points.folder} has no numbers in {column}" for points in seeds if not points.x.size]
    if not present:
        return Curve(label, np.zeros(0), np.zeros((0, 0)), False, "; ".join(remarks))
    begin, end = max(points.x[0] for points in present), min(points.x[-1] for points in present)
    every_x = np.unique(np.concatenate([points.x for points in present]))
    x = every_x[(begin <= every_x) & (every_x <= end)]
    shortest = next(points.folder for points in present if points.x[-1] == end)
    if not x.size:
        remarks.append(f"{column} has no line: {shortest} ends at {end:g}, before another seed begins at {begin:g}")
    elif end < (1 - MAX_UNREPORTED_GAP) * every_x[-1]:
        remarks.append(f"{shortest} ends at {end:g}, before other seeds; so does the line of {column}")
    values = np.stack([np.interp(x, points.x, points.y) for points in present])
    interpolated = any(not np.isin(x, points.x).all() for points in present)
    interval = interval_of(present[0]) if len(seeds) == 1 else None
    return Curve(label, x, values, interpolated, "; ".join(remarks), interval)


def interval_of(points: Points) -> Floats | None:
    """Returns the 95 % Wilson intervals of the rates, float64[2, points]; None where the games are not known."""
    if not all(points.games):
        return None
    ends = [wilson(round(rate * (games or 0)), games or 0) for rate, games in zip(points.y, points.games, strict=True)]
    return np.array(ends, np.float64).T


# -- labels --------------------------------------------------------------------------------------------------------


def lines_of(runs: Sequence[RunFolder]) -> dict[str, list[RunFolder]]:
    """Returns the runs of every line by its label: the settings that differ, or the folders if these are many."""
    settings = [{"learner": run.learner.name} | settings_of(run.config) for run in runs]
    names = list(dict.fromkeys(name for of_run in settings for name in of_run if name != "seed"))
    differ = [name for name in names if not all_equal(of_run.get(name) for of_run in settings)]
    if "env" in differ:  # many settings have another default for another game
        differ = [name for name in differ if name == "env" or not follows_from("env", name, settings)]
    lines: dict[str, list[RunFolder]] = {}
    for run, of_run in zip(runs, settings, strict=True):
        named = [(name, format_setting(of_run[name])) for name in differ if name in of_run]
        label = ", ".join(text if name == "env" else f"{name}={text}" for name, text in named)
        lines.setdefault(label, []).append(run)
    if len(differ) <= MAX_NAMED:
        return lines
    is_unique = len({run.folder.name for run in runs}) == len(runs)
    return {
        ", ".join(run.folder.name if is_unique else str(run.folder) for run in of_line): of_line
        for of_line in lines.values()
    }


def follows_from(cause: str, name: str, settings: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether all runs with the same value of `cause` have the same value of `name`."""
    values = dict.fromkeys(of_run[cause] for of_run in settings)
    return all(all_equal(of_run.get(name) for of_run in settings if of_run[cause] == value) for value in values)


def all_equal(values: Iterable[Any]) -> bool:
    """Returns whether there are no two different values."""
    listed = list(values)
    return all(value == listed[0] for value in listed)


def common_settings(runs: Sequence[RunFolder]) -> str:
    """Returns the values that identify all of the runs as the title of a picture, without seeds and default values."""
    first, config = runs[0].learner.headline, runs[0].config
    default = {field.name: field.default for field in dataclasses.fields(config)}
    names = [name for name in first if name == "env" or (name != "seed" and first[name] != default.get(name))]
    same = [name for name in names if all_equal(run.learner.headline.get(name) for run in runs)]
    return ", ".join(str(first[name]) if name == "env" else f"{name}={first[name]}" for name in same)


def evaluations_of(runs: Sequence[RunFolder]) -> str:
    """Returns the games of the evaluations in words, such as "100 games against random"; "" if there are none."""
    games = {(row[GAMES], row[OPPONENT]): None for run in runs for row in run.rows() if OPPONENT in row}
    return " or ".join(f"{count:,} games against {opponent}" for count, opponent in games)


def chance_of(runs: Sequence[RunFolder]) -> Fraction | None:
    """Returns the share of games that each of equal players wins; None if the runs differ in it, or if a game is drawn.

    Where games are drawn or truncated, equal players win less, and how much less depends on the players.
    """
    if any(row.get(name, 0) > 0 for run in runs for row in run.rows() for name in ("draw_rate", "truncated_rate")):
        return None
    players = {run.learner.env.num_players for run in runs}
    return Fraction(1, players.pop()) if len(players) == 1 and players != {1} else None
