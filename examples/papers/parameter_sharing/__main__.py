"""Compares three ways of sharing parameters between six seats, as Adhikari and Gu 2024 (arXiv:2405.18733) do.

    python -m examples.papers.parameter_sharing --output runs/papers/parameter_sharing

As in the study, the game is Chinese Checkers with N = 2 and six players, and PPO learns by self-play, with 100
iterations of 4,000 environment steps. After every iteration, the sampled policy plays 30 games in seat 0 against five
uniformly random opponents, at most 150 rounds each. Unlike in the study, there are several seeds.

There are two presets: `parameter_sharing` has our settings, `parameter_sharing_code` the settings of the study's code.
docs/papers/parameter_sharing.md has the results.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from examples.papers._experiment import Report, run_experiment, table_of
from examples.papers.parameter_sharing import runs, study
from examples.papers.parameter_sharing.study import MODES, Preset, settings_of
from train.models.policy import Sharing

QUICK: dict[str, Any] = {"modes": ("shared",), "seeds": 2, "games": 2, "iterations": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing")
    presets: tuple[Preset, ...] = ("parameter_sharing", "parameter_sharing_code")
    """The settings of training: ours, and the settings of the study's code."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    minibatches: int | None = None
    """Minibatches of an epoch. None: those of the preset."""


def report(arguments: Arguments) -> Report:
    results = {preset: train(arguments, preset) for preset in arguments.presets}
    texts = [study.table(results)]
    figures: dict[str, Figure] = {}
    summary: dict[str, Any] = {}
    for preset, curves in results.items():
        if len(curves) > 1:
            texts.append(f"{preset}\n\n{table_of(study.differences(curves), study.DIFFERENCES)}")
        figures[f"figure_2_{preset}"] = study.draw(curves, preset)
        summary[preset] = {
            mode: {name: study.finite(value) for name, value in study.reached(c).items()} for mode, c in curves.items()
        }
    return Report(summary, "\n\n".join(texts), figures)


def train(arguments: Arguments, preset: Preset) -> dict[str, dict[str, Any]]:
    """Returns the curves by mode: steps [iterations], and every column of the evaluations [seeds][iterations].

    Trains the runs that are not finished. Ends the program if a signal stops the training.
    """
    given: dict[str, Any] = {} if arguments.minibatches is None else {"num_minibatches": (arguments.minibatches,)}
    curves: dict[str, dict[str, Any]] = {}
    for mode in arguments.modes:
        settings = settings_of(preset, arguments.iterations, mode, **given)
        folder = arguments.output / preset / mode
        curves[mode] = runs.curves_of(runs.train_all(folder, settings, arguments.seeds, arguments.games))
    return curves


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
