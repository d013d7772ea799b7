"""The table and the picture of a sweep: medians and ranges over seeds of the last evaluation of every setting."""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from jaxgames import arena
from jaxgames._files import write_whole
from train import plot
from train.curves import chance_of
from train.driver.learner import Learner
from train.driver.messages import GAMES, OPPONENT
from train.driver.run_folder import RunFolder
from train.driver.stored_config import format_setting
from train.driver.tables import markdown

COLUMNS = ("win_rate", "mean_turns", "mean_reward", "episode_length")  # of the table; summary.json has every metric
DIGITS = 8  # of a median
DRAWN = ("win_rate", "mean_turns", "episode_length")  # a panel each


@dataclass(frozen=True)
class Summary:
    """The numbers of a finished sweep."""

    varied: list[str]
    """The settings with more than one value."""
    rows: list[dict[str, Any]]
    """A row per combination of settings: "settings", "seeds", and for every metric {"median", "lowest", "highest"}."""
    evaluation: str
    """The games of the last evaluations in words; "" if there were none."""
    games: int | None = None
    """The games of a last evaluation; None if there were none."""
    chance: float | None = None
    """The win rate of equal players; None where games are drawn or cut off."""


def summarise(folder: Path, varied: Sequence[str], cells: Mapping[str, Learner]) -> Summary:
    """Returns the medians and ranges over seeds of the last evaluation, or the last iteration where there is none."""
    by_settings: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for name, learner in cells.items():
        settings = {each: getattr(learner.config, each) for each in varied}
        row = last_evaluation(RunFolder(folder / name, learner))
        by_settings.setdefault(name.rpartition("/")[0], (settings, []))[1].append(row)
    rows: list[dict[str, Any]] = []
    games: dict[str, int] = {}
    for settings, of_seeds in by_settings.values():
        games |= {f"{row[GAMES]:,} games against {row[OPPONENT]}": row[GAMES] for row in of_seeds if OPPONENT in row}
        metrics = [name for name in of_seeds[0] if name not in ("iteration", GAMES, OPPONENT)]
        numbers = {name: median_and_range([row.get(name) for row in of_seeds]) for name in metrics}
        rows.append({"settings": settings, "seeds": len(of_seeds), **numbers})
    chance = chance_of([RunFolder(folder / name, learner) for name, learner in cells.items()]) if games else None
    return Summary(
        list(varied),
        rows,
        " or ".join(games),
        min(games.values(), default=None),
        None if chance is None else float(chance),
    )


def last_evaluation(run: RunFolder) -> dict[str, Any]:
    """Returns the last row of metrics that has an evaluation, or without one the last row."""
    rows = [row for row in run.rows() if row["iteration"] <= run.config.num_iterations]
    evaluated = [row for row in rows if "win_rate" in row]
    return (evaluated or rows)[-1]


def median_and_range(values: Sequence[float | None]) -> dict[str, float | None]:
    """Returns the median, the lowest and the highest of the values that are not None."""
    present = [value for value in values if value is not None]
    if not present:
        return dict.fromkeys(("median", "lowest", "highest"))
    median = float(f"{np.median(present):.{DIGITS}g}")  # the mean of two numbers has digits that mean nothing
    return {"median": median, "lowest": min(present), "highest": max(present)}


def write(folder: Path, summary: Summary) -> str:
    """Writes summary.json, summary.md, summary.png and summary.svg. Returns the table."""
    text = table(summary)
    write_whole(folder / "summary.json", json.dumps(dataclasses.asdict(summary), indent=2) + "\n")
    write_whole(folder / "summary.md", text + "\n")
    draw(summary, folder / "summary")
    return text


def table(summary: Summary) -> str:
    """Returns the Markdown table: a row per combination of settings, "median (lowest to highest)" in each column."""
    columns = [name for name in COLUMNS if name in summary.rows[0]]
    rows = [
        [
            *(format_setting(row["settings"][name]) for name in summary.varied),
            row["seeds"],
            *(format_median_and_range(row[name]) for name in columns),
        ]
        for row in summary.rows
    ]
    text = markdown([*summary.varied, "seeds", *columns], rows, padded=True)
    games = f"; win_rate, mean_turns and mean_reward in {summary.evaluation}" if summary.evaluation else ""
    return f"{text}\n\nMedian (lowest to highest) of the seeds{games}."


def short_rows(summary: Summary) -> list[dict[str, Any]]:
    """Returns the rows with the columns of the table only."""
    names = ("settings", "seeds", *COLUMNS)
    return [{name: row[name] for name in names if name in row} for row in summary.rows]


def format_median_and_range(numbers: Mapping[str, float | None]) -> str:
    """Returns a median and its range in words."""
    if numbers["median"] is None:
        return "none"
    return "{median:.4g} ({lowest:.4g} to {highest:.4g})".format(**numbers)


# -- the picture ---------------------------------------------------------------------------------------------------


def draw(summary: Summary, stem: Path) -> None:
    """Writes the picture as PNG and SVG: heat maps for two varied settings, else medians with their ranges."""
    columns = [name for name in DRAWN if name in summary.rows[0]] or [
        name for name in summary.rows[0] if name not in ("settings", "seeds")
    ][:1]
    columns = columns[:1] + [name for name in columns[1:] if changes(summary, name)]
    figure = Figure(figsize=(max(6.0, 4.2 * len(columns)), 3.8), layout="constrained")
    if summary.evaluation:
        equal = "" if summary.chance is None else f"; equal players win {100 * summary.chance:.0f} %"
        figure.suptitle(f"evaluations: {summary.evaluation}{equal}", fontsize="medium")
    panels: list[Any] = [*figure.subplots(1, len(columns), squeeze=False)[0]]
    for axes, column in zip(panels, columns, strict=True):
        draw_panel(figure, axes, summary, column)
    plot.save(figure, stem)


def changes(summary: Summary, column: str) -> bool:
    """Returns whether a column differs between the runs by more than `plot.MIN_CHANGE`, as in `train.plot`."""
    ends = [row[column][end] for row in summary.rows for end in ("lowest", "highest") if row[column][end] is not None]
    return bool(ends) and max(ends) - min(ends) > plot.MIN_CHANGE * max(ends)


def draw_panel(figure: Figure, axes: Any, summary: Summary, column: str) -> None:
    """Draws a metric of all settings."""
    medians = np.array([number_or_nan(row[column]["median"]) for row in summary.rows])
    title = plot.Y_LABEL.get(column, column.replace("_", " "))
    axes.set_title(f"{title}: median" if has_all_pairs(summary) else f"{title}: median, lowest to highest")
    if not has_all_pairs(summary):
        lowest, highest = (
            np.array([number_or_nan(row[column][name]) for row in summary.rows]) for name in ("lowest", "highest")
        )
        labels = [", ".join(format_setting(value) for value in row["settings"].values()) for row in summary.rows]
        places = np.arange(len(labels))
        axes.errorbar(places, medians, yerr=(medians - lowest, highest - medians), fmt="o", capsize=3)
        axes.set_xticks(places, labels, rotation=30 if len(labels) > 4 else 0)
        axes.set_xlabel(", ".join(summary.varied))
        if column == "win_rate":
            draw_limits(axes, summary, places, medians)
        axes.grid(alpha=0.3)
        return
    down, across = (
        list(dict.fromkeys(format_setting(row["settings"][name]) for row in summary.rows)) for name in summary.varied
    )
    grid = medians.reshape(len(down), len(across))
    image = axes.imshow(grid, aspect="auto")
    for (row, place), value in np.ndenumerate(grid):
        background = image.cmap(image.norm(value))[:3]
        color = "black" if sum(background) > 1.5 else "white"
        axes.text(place, row, "none" if math.isnan(value) else f"{value:.3g}", ha="center", va="center", color=color)
    axes.set_yticks(range(len(down)), down)
    axes.set_xticks(range(len(across)), across)
    axes.set(ylabel=summary.varied[0], xlabel=summary.varied[1])
    figure.colorbar(image, ax=axes)


def draw_limits(axes: Any, summary: Summary, places: np.ndarray, medians: np.ndarray) -> None:
    """Draws what differences of win rates can mean: 95 % intervals of the games of one evaluation, and chance."""
    axes.set_ylim(0, 1)
    if summary.games is not None:
        low, high = np.transpose([arena.wilson(rate * summary.games, summary.games) for rate in medians])
        axes.vlines(places, low, high, color="0.85", linewidth=6, zorder=0, label=f"95 %, {summary.games:,} games")
        axes.legend(fontsize="small")
    if summary.chance is not None:
        axes.axhline(summary.chance, color="0.4", linestyle=":", linewidth=1)


def has_all_pairs(summary: Summary) -> bool:
    """Returns whether two settings are varied, and every value of one was combined with every value of the other."""
    if len(summary.varied) != 2:
        return False
    values = [{format_setting(row["settings"][name]) for row in summary.rows} for name in summary.varied]
    return len(summary.rows) == len(values[0]) * len(values[1])


def number_or_nan(value: float | None) -> float:
    return math.nan if value is None else value
