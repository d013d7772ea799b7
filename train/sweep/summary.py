"""The table of a sweep: medians and ranges over seeds of the last evaluation of every setting."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from train.driver.learner import Learner
from train.driver.messages import GAMES, OPPONENT
from train.driver.run_folder import RunFolder
from train.driver.stored_config import format_setting
from train.driver.tables import markdown

COLUMNS = ("win_rate", "mean_turns", "mean_reward", "episode_length")  # of the table; summary.json has every metric
DIGITS = 8  # of a median


def summarise(folder: Path, varied: Sequence[str], cells: Mapping[str, Learner]) -> dict[str, Any]:
    """Returns the content of summary.json, in JSON's types.

    "varied" are the settings with more than one value, "evaluation" the games of the last evaluations in words. "rows"
    has a row per combination of settings: "settings", "seeds", and for every metric of the last evaluation, or the last
    iteration where there is none, {"median", "lowest", "highest"}.
    """
    by_settings: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for name, learner in cells.items():
        rows = RunFolder(folder / name, learner).rows()
        rows = [row for row in rows if row["iteration"] <= learner.config.num_iterations]
        last = ([row for row in rows if "win_rate" in row] or rows)[-1]
        settings = {each: getattr(learner.config, each) for each in varied}
        by_settings.setdefault(name.rpartition("/")[0], (settings, []))[1].append(last)
    rows, games = list[dict[str, Any]](), dict[str, None]()
    for settings, of_seeds in by_settings.values():
        games |= dict.fromkeys(f"{row[GAMES]:,} games against {row[OPPONENT]}" for row in of_seeds if OPPONENT in row)
        metrics = [name for name in of_seeds[0] if name not in ("iteration", GAMES, OPPONENT)]
        numbers = {name: median_and_range([row.get(name) for row in of_seeds]) for name in metrics}
        rows.append({"settings": settings, "seeds": len(of_seeds), **numbers})
    return {"varied": [*varied], "rows": rows, "evaluation": " or ".join(games)}


def median_and_range(values: Sequence[float | None]) -> dict[str, float | None]:
    """Returns the median, the lowest and the highest of the values that are not None."""
    present = [value for value in values if value is not None]
    if not present:
        return dict.fromkeys(("median", "lowest", "highest"))
    median = float(f"{np.median(present):.{DIGITS}g}")  # the mean of two numbers has digits that mean nothing
    return {"median": median, "lowest": min(present), "highest": max(present)}


def table(summary: Mapping[str, Any]) -> str:
    """Returns the Markdown table: a row per combination of settings, "median (lowest to highest)" in each column."""
    varied, rows, games = summary["varied"], summary["rows"], summary["evaluation"]
    columns = [name for name in COLUMNS if name in rows[0]]
    cells = [
        [
            *(format_setting(row["settings"][name]) for name in varied),
            row["seeds"],
            *(format_median_and_range(row[name]) for name in columns),
        ]
        for row in rows
    ]
    note = f"; win_rate, mean_turns and mean_reward in {games}" if games else ""
    text = markdown([*varied, "seeds", *columns], cells, padded=True)
    return f"{text}\n\nMedian (lowest to highest) of the seeds{note}."


def format_median_and_range(numbers: Mapping[str, float | None]) -> str:
    """Returns a median and its range in words."""
    if numbers["median"] is None:
        return "none"
    return "{median:.4g} ({lowest:.4g} to {highest:.4g})".format(**numbers)
