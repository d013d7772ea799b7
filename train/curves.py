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

Floats = NDArray[np.float64]


class Curve(NamedTuple):
    """A line of a panel: a column of one run, or of several seeds."""

    label: str
    """The settings that differ between the lines; "" if there are none."""
    x: Floats  # float64[points], increasing; empty where no run has a number
    values: Floats  # float64[runs, points], finite
    interval: Floats | None = None
    """float64[2, points], the ends of the 95 % intervals of a rate; None for several runs, and for what is no rate."""


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
            hint = "" if "win_rate" in known else "; evaluations add win_rate and others: train with --evaluate-every"
            listed = f"no run has the column {column!r}; the columns are {', '.join(known)}{hint}"
            raise ValueError(listed if known else "the runs have no metrics yet")
    lines = lines_of(runs)
    return {
        column: [
            curve_of(label, column, X_COLUMN[by], {run.folder: rows[run.folder] for run in of_line})
            for label, of_line in lines.items()
        ]
        for column in columns
    }


def curve_of(label: str, column: str, x_column: str, rows: Mapping[Path, Sequence[Mapping[str, Any]]]) -> Curve:
    """Returns the line of runs that differ only in their seed, from the rows of each run's metrics by its folder."""
    seeds = [points for folder, of_run in rows.items() if (points := points_of(folder, of_run, column, x_column)).size]
    if not seeds:
        return Curve(label, np.zeros(0), np.zeros((0, 0)))
    every_x = np.unique(np.concatenate([x for x, _ in seeds]))
    common = (every_x >= max(x[0] for x, _ in seeds)) & (every_x <= min(x[-1] for x, _ in seeds))
    values = np.stack([np.interp(every_x[common], x, y) for x, y in seeds])
    return Curve(label, every_x[common], values, interval_of(column, *rows.values()) if len(rows) == 1 else None)


def points_of(folder: Path, rows: Sequence[Mapping[str, Any]], column: str, x_column: str) -> Floats:
    """Returns float64[2, points], x and y of the rows with a number; null means that there was nothing to measure.

    Raises ValueError, with the path and the line, for a value that is not a number, and for an x that does not grow.
    """
    points: list[tuple[float, float]] = []
    for number, row in enumerate(rows, start=1):
        if row.get(column) is None:
            continue
        place = f"{folder / 'metrics.jsonl'}, line {number}"
        for name in (x_column, column):
            value = row.get(name, "nothing")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{place}: {name} must be a number, not {value!r}")
        if points and row[x_column] <= points[-1][0]:
            raise ValueError(f"{place}: {x_column} must be more than {points[-1][0]:g}, its last value")
        points.append((row[x_column], row[column]))
    return np.array(points, np.float64).reshape(-1, 2).T


def interval_of(column: str, rows: Sequence[Mapping[str, Any]]) -> Floats | None:
    """Returns the 95 % Wilson intervals of a rate, float64[2, points]; None where the games are not known."""
    measured = [row for row in rows if row.get(column) is not None]
    if column not in RATES or not all(row.get(GAMES) for row in measured):
        return None
    return np.array([wilson(round(row[column] * row[GAMES]), row[GAMES]) for row in measured], np.float64).T


# -- labels --------------------------------------------------------------------------------------------------------


def lines_of(runs: Sequence[RunFolder]) -> dict[str, list[RunFolder]]:
    """Returns the runs of every line by its label: the settings that differ, or the folders if these are many."""
    settings = [{"learner": run.learner.name} | settings_of(run.config) for run in runs]
    names = list(dict.fromkeys(name for of_run in settings for name in of_run if name != "seed"))
    differ = [name for name in names if not all_equal(of_run.get(name) for of_run in settings)]
    lines: dict[str, list[RunFolder]] = {}
    for run, of_run in zip(runs, settings, strict=True):
        named = [(name, format_setting(of_run[name])) for name in differ if name in of_run]
        label = ", ".join(text if name == "env" else f"{name}={text}" for name, text in named)
        lines.setdefault(label, []).append(run)
    if len(differ) <= MAX_NAMED:
        return lines
    return {", ".join(str(run.folder) for run in of_line): of_line for of_line in lines.values()}


def all_equal(values: Iterable[Any]) -> bool:
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
