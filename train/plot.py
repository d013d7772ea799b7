"""Draws the learning curve of a run: win rate and turns to win, by environment steps.

    python -m train.plot runs/first

The picture is learning_curve.png in the folder of the run.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib as mpl
import tyro
from matplotlib.figure import Figure

from train import agents
from train.driver.run_folder import RunFolder

mpl.use("Agg")


@dataclass(frozen=True)
class Arguments:
    run_dir: Annotated[Path, tyro.conf.Positional]
    """The folder of a run."""


def main() -> None:
    """The command `python -m train.plot`."""
    arguments = tyro.cli(Arguments, prog="python -m train.plot", description="Draw a run's learning curve.")
    try:
        print(learning_curve(agents.open_run(arguments.run_dir)))
    except (ValueError, OSError) as error:
        sys.exit(f"train.plot: {error}")


def learning_curve(run: RunFolder) -> Path:
    """Writes learning_curve.png into the run's folder and returns its path.

    Raises ValueError for a run that was never evaluated, or whose metrics are damaged.
    """
    evaluations = [row for row in run.rows() if row.get("win_rate") is not None]
    if not evaluations:
        raise ValueError(f"{run.folder} has no evaluations to draw: train with --evaluate-every")
    for row in evaluations:
        for name in ("steps", "win_rate", "mean_turns"):
            value = row.get(name, "nothing")
            if not isinstance(value, int | float) and not (name == "mean_turns" and value is None):
                place = f"{run.folder / 'metrics.jsonl'}, iteration {row['iteration']}"
                raise ValueError(f"{place}: {name} must be a number, not {value!r}")
    title = ", ".join(str(setting) for name, setting in run.learner.summary.items() if name != "seed")
    path = run.folder / "learning_curve.png"
    draw(evaluations, title).savefig(path, dpi=150)
    return path


def draw(evaluations: list[dict[str, Any]], title: str) -> Figure:
    """Returns the picture of the win rate (left axis) and the turns to win (right axis).

    Args:
      evaluations: rows of metrics.jsonl with steps, win_rate and mean_turns; mean_turns is None where no game was won.
      title: the text above the picture.
    """
    figure = Figure(figsize=(7, 4), layout="constrained")
    left: Any = figure.subplots()
    left.set(title=title, xlabel="environment steps", ylabel="win rate", ylim=(0, 1.02), xscale="log")
    left.plot(*_points(evaluations, "win_rate"), color="C0", marker="o", markersize=3)
    left.yaxis.label.set_color("C0")
    left.grid(alpha=0.3)
    right = left.twinx()
    right.plot(*_points(evaluations, "mean_turns"), color="C1", marker="s", markersize=3)
    right.set_ylabel("turns to win")
    right.yaxis.label.set_color("C1")
    right.set_ylim(bottom=0)
    return figure


def _points(evaluations: list[dict[str, Any]], name: str) -> tuple[list[float], list[float]]:
    """Returns steps and values of the rows that have a value."""
    rows = [row for row in evaluations if row[name] is not None]
    return [row["steps"] for row in rows], [row[name] for row in rows]


if __name__ == "__main__":
    main()
