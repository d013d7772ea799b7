"""The picture of a ladder: a panel with all agents, and one with the ratings over the checkpoints of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from train import plot

INCHES_PER_AGENT = 0.28
MAX_NAME = 40  # characters of an agent's name; the beginning of a longer one is left out


def draw(title: str, rows: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Returns the picture: the agents that are not checkpoints by their rating, and the ratings over each run.

    `runs` has the `run`, the `agents` and the `steps` of `checkpoints` in the result of a ladder.
    """
    of_runs = {name for run in runs for name in run["agents"]}
    others = [row for row in reversed(rows) if row["agent"] not in of_runs]  # the highest rating on top
    height = max(3.4, 1.2 + INCHES_PER_AGENT * len(others))
    figure, panels = plot.new_picture(11 if runs else 6.5, height, across=2 if runs else 1)
    for place, row in enumerate(others):
        draw_rating(panels[0], row, place, horizontal=True)
    panels[0].set_yticks(range(len(others)), [shortened(row["agent"]) for row in others], fontsize="small")
    panels[0].set(xlabel="Elo rating, 95 % interval", ylim=(-0.5, len(others) - 0.5))
    row_of = {row["agent"]: row for row in rows}
    for index, run in enumerate(runs):
        style = plot.style_of(index)
        for name, x in zip(run["agents"], run["steps"], strict=True):
            draw_rating(panels[1], row_of[name], x, horizontal=False, color=style["color"])
        elo = [row_of[name]["elo"] for name in run["agents"]]
        panels[1].plot(run["steps"], elo, label=shortened(run["run"]), **style)
    if runs:
        panels[1].set(xlabel=plot.X_LABEL["steps"], ylabel="Elo rating, 95 % interval")
        panels[1].xaxis.set_major_formatter(plot.text_of_tick)
        panels[1].legend(fontsize="small")
    figure.suptitle(title)
    return figure


def draw_rating(
    axes: Any, row: Mapping[str, Any], place: float, *, horizontal: bool, color: Any = plot.COLOURS[0]
) -> None:
    """Draws a rating and its interval at a place of the other axis. An end without a bound is drawn as an arrow."""
    ends = row["elo_interval"]
    below, above = (0.0 if end is None else abs(row["elo"] - end) for end in ends)
    error = {"xerr" if horizontal else "yerr": [[below], [above]]}
    x, y = (row["elo"], place) if horizontal else (place, row["elo"])
    axes.errorbar(x, y, **error, fmt="o", markersize=4, capsize=3, color=color)
    for end, marker in zip(ends, "<>" if horizontal else "v^", strict=True):
        if end is None:
            axes.plot(x, y, marker=marker, markersize=9, fillstyle="none", color=color)


def shortened(name: str) -> str:
    """Returns a name whose beginning is left out if it is long: the end has the run's name and checkpoint."""
    return name if len(name) <= MAX_NAME else "…" + name[1 - MAX_NAME :]
