"""Pictures of how strong the checkpoints of a run are, over the games of its self-play."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from train.curves import common_settings
from train.driver.run_folder import RunFolder
from train.plot import MAX_MARKERS, save, style_of, text_of_tick

SELF_PLAY = (  # panels of metrics: title, y axis, and the columns whose sum is a line, by its label
    (
        "winners in self-play",
        "share of games",
        {
            "first player": ("episode_win_rate/seat_0",),
            "second player": ("episode_win_rate/seat_1",),
            "draws": ("episode_draw_rate", "episode_truncated_rate"),
        },
    ),
    ("values in self-play", "accuracy", {"values": ("self_play_value_accuracy",)}),
    ("length of self-play", "plies", {"games": ("episode_length",)}),
)
MEASURED = (  # panels of measures: title, y axis, and the measure that is a line for each search, by its label
    ("final states that are won", "share", {"": "weak_states"}),
    ("values", "mean squared error", {"all states": "value_mse", "weak states": "weak_value_mse"}),
    ("values", "accuracy", {"all states": "value_accuracy", "weak states": "weak_value_accuracy"}),
    ("actions", "share of best actions", {"all states": "strong_action", "weak states": "action_weak"}),
    ("states", "agent to move", {"": "agent_states"}),
)
MISTAKES = {  # the tables of mistakes, and what their first columns count
    "ply": "plies played, in states that occur",
    "distance": "plies from the start, in all states",
    "share": "share of winning moves, in won states",
}
LINEAR_UP_TO = 1000  # games; the axis is logarithmic from there on


class Line(NamedTuple):
    """A line of a panel."""

    label: str
    x: Sequence[float]  # games of self-play
    y: Sequence[float]


def draw_checkpoints(run: RunFolder, rows: Sequence[Mapping[str, Any]], output: Path) -> list[Path]:
    """Writes the pictures of a run into a folder, as PNG and SVG. Returns their paths.

    The picture of mistakes needs a game that has tables of them.

    Args:
      run: its metrics give the panels of self-play.
      rows: of `train.strength` for its checkpoints, with `agent`, `search` and the measures.

    Raises ValueError for a run without metrics.
    """
    games = games_played(run)
    panels = [
        (title, label, [line for name, of in lines.items() for line in lines_of_metrics(run.rows(), games, name, of)])
        for title, label, lines in SELF_PLAY
    ]
    panels += [
        (title, label, [line for name, of in lines.items() for line in lines_of_rows(rows, games, name, of)])
        for title, label, lines in MEASURED
    ]
    pictures = {"figures": draw(panels, common_settings([run]))}
    if any(f"mistakes_by_{name}" in row for row in rows for name in MISTAKES):
        last = max(map(iteration_of, rows))
        pictures["mistakes"] = mistakes_of(
            {row["search"] or "network alone": row for row in rows if iteration_of(row) == last},
            f"Mistakes of the checkpoint of iteration {last:,}, as a share of the states where one is possible",
        )
    return [path for name, figure in pictures.items() for path in save(figure, output / name)]


def games_played(run: RunFolder) -> Mapping[int, float]:
    """Returns the games of self-play until the end of each iteration, by iteration; 0 for iteration 0.

    An iteration has as many games as its steps divided by the mean length of its games. Of an iteration in which no
    game ended, the length before counts.

    Raises ValueError for a run without metrics.
    """
    games, total, steps, length = {0: 0.0}, 0.0, 0, None
    for row in run.rows():
        length = row.get("episode_length") or length
        if length is not None:
            total += (row["steps"] - steps) / length
            steps = row["steps"]
        games[row["iteration"]] = total
    if length is None:
        raise ValueError(f"{run.folder} has no metrics of finished games yet: train it first")
    return games


def lines_of_metrics(
    metrics: Sequence[Mapping[str, Any]], games: Mapping[int, float], label: str, columns: Sequence[str]
) -> list[Line]:
    """Returns the line of the sum of some metrics; none if the first of them was never logged."""
    known = [row for row in metrics if row.get(columns[0]) is not None]
    values = [sum(row.get(column) or 0.0 for column in columns) for row in known]
    return [Line(label, [games[row["iteration"]] for row in known], values)] if known else []


def lines_of_rows(rows: Sequence[Mapping[str, Any]], games: Mapping[int, float], label: str, column: str) -> list[Line]:
    """Returns a line of a measure for each search that has it."""
    lines: list[Line] = []
    for search in dict.fromkeys(row["search"] for row in rows):
        known = [row for row in rows if row["search"] == search and row.get(column) is not None]
        if known := sorted(known, key=iteration_of):
            name = ", ".join(filter(None, (label, search or "network alone")))
            lines.append(Line(name, [games[iteration_of(row)] for row in known], [row[column] for row in known]))
    return lines


def iteration_of(row: Mapping[str, Any]) -> int:
    """Returns the iteration of a row, whose agent is a text such as runs/first@40."""
    return int(row["agent"].rpartition("@")[2])


def draw(panels: Sequence[tuple[str, str, Sequence[Line]]], title: str) -> Figure:
    """Returns the picture of panels, each a title, the label of the y axis and lines: four in a row."""
    figure = Figure(figsize=(18, 8.5), layout="constrained")
    last = max(line.x[-1] for *_, lines in panels for line in lines)
    for axes, (name, y_label, lines) in zip(figure.subplots(2, 4).flat, panels, strict=True):
        for index, line in enumerate(lines):
            marked = max(1, len(line.x) // MAX_MARKERS)
            axes.plot(line.x, line.y, label=line.label, markevery=marked, **style_of(index))
        if lines:
            axes.legend(fontsize="x-small")
        else:
            axes.text(0.5, 0.5, "not logged by this run", ha="center", va="center", transform=axes.transAxes)
        axes.set(title=name, ylabel=y_label, xlabel="games of self-play")
        axes.set_xscale("symlog", linthresh=LINEAR_UP_TO, linscale=0.5)
        axes.xaxis.set_major_formatter(text_of_tick)
        axes.set_xlim(0, 1.2 * last)
        axes.set_xticks([0, *(10**power for power in range(3, 9) if 10**power <= last)], minor=False)
        axes.grid(alpha=0.3)
        if y_label in ("accuracy", "share of games"):
            axes.set_ylim(-0.02, 1.02)
    figure.suptitle(title)
    return figure


def mistakes_of(rows: Mapping[str, Mapping[str, Any]], title: str) -> Figure:
    """Returns the picture of where agents make mistakes; `rows` has their measures by the labels of the lines.

    The y axis is the share of mistakes in the states in which some move is a mistake. A line is left out where its row
    has no such table.
    """
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(1, 3), MISTAKES.items(), strict=True):
        for index, (agent, row) in enumerate(rows.items()):
            table = row.get(f"mistakes_by_{name}")
            if table is None:  # not a measure of this game
                continue
            known = [at for at, decisive in enumerate(table["decisive"]) if decisive]
            x = [table[name][at] for at in known]
            y = [table["mistakes"][at] / table["decisive"][at] for at in known]
            axes.plot(x, y, label=agent, **style_of(index))
        axes.set(xlabel=label, ylabel="mistakes")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend(fontsize="x-small")
    figure.suptitle(title)
    return figure
