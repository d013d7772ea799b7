"""Pictures of how strong the checkpoints of a run are, and of where agents make mistakes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from train.driver.run_folder import RunFolder
from train.plot import Curve, common_settings, draw, new_picture, save, style_of

MEASURES = (  # a panel each
    *("weak_states", "strong_action", "action_weak", "value_mse", "weak_value_mse"),
    *("value_accuracy", "weak_value_accuracy", "agent_states"),
)
MISTAKES = {  # the tables of mistakes, and what their first columns count
    "ply": "plies played, in states that occur",
    "distance": "plies from the start, in all states",
    "share": "share of winning moves, in won states",
}


def draw_checkpoints(run: RunFolder, rows: Sequence[Mapping[str, Any]], output: Path) -> list[Path]:
    """Writes the pictures of a run into a folder, as PNG and SVG. Returns their paths.

    The first one has the measures over the steps of training, with a line for each search. The picture of mistakes of
    the last checkpoint needs a game that has tables of them. `rows` are of `train.strength` for the checkpoints.
    """
    columns = {
        measure: [curve_of(run, rows, search, measure) for search in dict.fromkeys(row["search"] for row in rows)]
        for measure in MEASURES
        if any(row.get(measure) is not None for row in rows)
    }
    pictures = {"figures": draw(columns, title=common_settings([run]), x_scale="linear")}
    if any(f"mistakes_by_{name}" in row for row in rows for name in MISTAKES):
        last = max(map(iteration_of, rows))
        pictures["mistakes"] = mistakes_of(
            {row["search"] or "network alone": row for row in rows if iteration_of(row) == last},
            f"Mistakes of the checkpoint of iteration {last:,}, as a share of the states where one is possible",
        )
    return [path for name, figure in pictures.items() for path in save(figure, output / name)]


def curve_of(run: RunFolder, rows: Sequence[Mapping[str, Any]], search: str, measure: str) -> Curve:
    """Returns the line of a measure over the checkpoints with one search."""
    known = sorted((row for row in rows if row["search"] == search and row.get(measure) is not None), key=iteration_of)
    steps = np.array([iteration_of(row) * run.config.steps_per_iteration for row in known], np.float64)
    return Curve(search or "network alone", steps, np.array([[row[measure] for row in known]], np.float64))


def iteration_of(row: Mapping[str, Any]) -> int:
    """Returns the iteration of a row, whose agent is a text such as runs/first@40."""
    return int(row["agent"].rpartition("@")[2])


def mistakes_of(rows: Mapping[str, Mapping[str, Any]], title: str) -> Figure:
    """Returns the picture of where agents make mistakes; `rows` has their measures by the labels of the lines.

    The y axis is the share of mistakes in the states in which some move is a mistake. A line is left out where its row
    has no such table.
    """
    figure, panels = new_picture(13, 4.2, across=3)
    for axes, (name, label) in zip(panels, MISTAKES.items(), strict=True):
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
        if axes.lines:
            axes.legend(fontsize="x-small")
    figure.suptitle(title)
    return figure
