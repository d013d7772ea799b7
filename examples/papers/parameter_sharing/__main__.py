"""Compares three ways of sharing parameters between six seats, as Adhikari and Gu 2024 (arXiv:2405.18733) do.

    python -m examples.papers.parameter_sharing --output runs/papers/parameter_sharing

As in the study, the game is Chinese Checkers with N = 2 and six players, and PPO learns by self-play, with 100
iterations of 4,000 environment steps. After every iteration, the sampled policy plays 30 games in seat 0 against five
uniformly random opponents, at most 150 rounds each. Unlike in the study, there are several seeds.

There are two presets: `parameter_sharing_paper` has the study's network and settings, `parameter_sharing` has ours.
docs/papers/parameter_sharing.md has the results. A command that was stopped continues when it is repeated.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from examples.papers._quick import shortened
from examples.papers.parameter_sharing import comparison, runs
from examples.papers.parameter_sharing.published import GAMES, MODES, Preset, settings_of
from train import plot
from train.models.policy import Sharing

QUICK: dict[str, Any] = {"modes": ("shared",), "seeds": 2, "games": 2, "iterations": 2}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/papers/parameter_sharing")
    """The folder of the runs, which other commands read, for the tables and the pictures too."""
    presets: tuple[Preset, ...] = ("parameter_sharing", "parameter_sharing_paper")
    """The settings of training: ours, and those of the study."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    seeds: int = 5
    """Runs of each way of sharing."""
    games: int = GAMES
    """Games of an evaluation; 30 in the study."""
    iterations: int = 100
    """Iterations of each run, of 4,000 steps each."""
    quick: bool = False
    """Tries everything with small numbers."""


def main() -> None:
    """The command `python -m examples.papers.parameter_sharing`."""
    prog = "python -m examples.papers.parameter_sharing"
    arguments = shortened(tyro.cli(Arguments, prog=prog, description=__doc__), QUICK)
    results = {preset: train(arguments, preset) for preset in arguments.presets}
    print(comparison.table(results))
    summary: dict[str, Any] = {}
    for preset, curves in results.items():
        rows = comparison.differences(curves)
        print(f"\n{preset}\n\n{comparison.table_of_differences(rows)}")
        plot.save(comparison.draw(curves, preset), arguments.output / f"figure_2_{preset}")
        summary[preset] = {
            mode: {name: comparison.finite(found) for name, found in comparison.reached(c).items()}
            for mode, c in curves.items()
        }
    (arguments.output / "figure_2.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary))


def train(arguments: Arguments, preset: Preset) -> dict[str, dict[str, Any]]:
    """Returns the curves by mode: steps [iterations], and every column of the evaluations [seeds][iterations].

    Trains the runs that are not finished. Ends the program if a signal stops the training.
    """
    settings = settings_of(preset, arguments.iterations, sharing=arguments.modes)
    found = runs.train_all(arguments.output / preset, settings, arguments.seeds, arguments.games)
    return {
        mode: runs.curves_of(run for run in found.values() if run.config.sharing == mode) for mode in arguments.modes
    }


if __name__ == "__main__":
    main()
