"""The picture of a ladder: a panel with all agents, and one with the ratings over the checkpoints of runs."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from train import plot
from train.ladder.ratings import Row

INCHES_PER_AGENT = 0.28
MAX_NAME = 40  # characters of an agent's name; the beginning of a longer one is left out


def draw(title: str, rows: Sequence[Row], runs: Mapping[str, tuple[Sequence[str], Sequence[int]]]) -> Figure:
    """Returns the picture: the agents that are not checkpoints by their rating, and the ratings over each run.

    `runs` has the names and the environment steps of every run's checkpoints, by the text of the run.
    """
    of_runs = {name for names, _ in runs.values() for name in names}
    others = [row for row in rows if row["agent"] not in of_runs]
    height = max(3.4, 1.2 + INCHES_PER_AGENT * len(others))
    figure = Figure(figsize=(11 if runs else 6.5, height), layout="constrained")
    panels: list[Any] = [*figure.subplots(1, 2 if runs else 1, squeeze=False, sharey=False)[0]]
    draw_agents(panels[0], others)
    if runs:
        draw_runs(panels[1], {row["agent"]: row for row in rows}, runs)
    figure.suptitle(title)
    return figure


def draw_agents(axes: Any, rows: Sequence[Row]) -> None:
    """Draws a point per agent with its interval, the highest rating on top."""
    places = range(len(rows))[::-1]
    for place, row in zip(places, rows, strict=True):
        draw_rating(axes, row, place, horizontal=True)
    axes.set_yticks(list(places), [shortened(row["agent"]) for row in rows], fontsize="small")
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_xlabel("Elo rating, 95 % interval")
    axes.grid(alpha=0.3)


def draw_runs(axes: Any, row_of: Mapping[str, Row], runs: Mapping[str, tuple[Sequence[str], Sequence[int]]]) -> None:
    """Draws a line per run, the rating over environment steps, with intervals."""
    for index, (run, (names, steps)) in enumerate(runs.items()):
        style = plot.style_of(index)
        for name, x in zip(names, steps, strict=True):
            draw_rating(axes, row_of[name], x, horizontal=False, color=style["color"])
        axes.plot(steps, [row_of[name]["elo"] for name in names], label=shortened(run), **style)
    axes.set(xlabel=plot.X_LABEL["steps"], ylabel="Elo rating, 95 % interval")
    axes.xaxis.set_major_formatter(plot.text_of_tick)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def draw_rating(axes: Any, row: Row, place: float, *, horizontal: bool, color: Any = plot.COLOURS[0]) -> None:
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
