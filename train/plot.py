"""The learning curve of a run as a picture.

python -m train.plot runs/first
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import matplotlib as mpl
import tyro
from matplotlib.figure import Figure

from train.driver.run_folder import RunFolder
from train.ppo import PPO

mpl.use("Agg")


@dataclass(frozen=True)
class Arguments:
    run_dir: Annotated[Path, tyro.conf.Positional]
    """The folder of a run of train.ppo."""


def main() -> None:
    """The command `python -m train.plot`."""
    arguments = tyro.cli(Arguments, prog="python -m train.plot", description="Draw a run's learning curve.")
    try:
        run = RunFolder.open(arguments.run_dir, PPO)
        print(learning_curve(run))
    except (ValueError, OSError) as error:
        sys.exit(f"train.plot: {error}")


def learning_curve(run: RunFolder) -> Path:
    """Writes learning_curve.png into the run's folder: win rate and turns to win against steps."""
    rows = [row for row in run.rows() if row.get("win_rate") is not None]
    if not rows:
        raise ValueError(f"{run.folder} has no evaluations to draw: train with --evaluate-every")
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes: Any = figure.subplots()
    axes.set(
        title=f"{run.config.env}, {run.config.sharing}", xlabel="environment steps", ylabel="win rate", ylim=(0, 1.02)
    )
    axes.plot([row["steps"] for row in rows], [row["win_rate"] for row in rows], color="C0", marker="o", markersize=3)
    axes.yaxis.label.set_color("C0")
    axes.set_xscale("log")
    axes.grid(alpha=0.3)
    won = [row for row in rows if row["mean_turns"] is not None]
    right = axes.twinx()
    right.plot([row["steps"] for row in won], [row["mean_turns"] for row in won], color="C1", marker="s", markersize=3)
    right.set_ylabel("turns to win")
    right.yaxis.label.set_color("C1")
    right.set_ylim(bottom=0)
    path = run.folder / "learning_curve.png"
    figure.savefig(path, dpi=150)
    return path


if __name__ == "__main__":
    main()
