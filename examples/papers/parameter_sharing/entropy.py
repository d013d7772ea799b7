"""Figure 5: the entropy weight and the length of games against random players, with enough runs to conclude.

    python -m examples.papers.parameter_sharing.entropy --output runs/papers/parameter_sharing/entropy

The study trains one run of 50 iterations with each of the weights 0, 0.005 and 0.01, and finds no effect. Here all
weights are a sweep over several seeds, and the differences from weight 0 have intervals.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Report, command, new_picture, table_of
from examples.papers._intervals import difference, draw_band, exact_p, format_interval, format_p, interval
from examples.papers.parameter_sharing import runs
from examples.papers.parameter_sharing.study import WINDOW, Preset, published, settings_of
from train import plot

DRAWN = {"rounds": "rounds, 150 if truncated", "mean_turns": "turns to win, games won"}
COLUMNS = {
    "entropy weight": "{weight}",
    "rounds, last evaluations": "{last}",
    "difference from the first": "{difference}",
    "p": "{p}",
    "rounds, all evaluations": "{all}",
}
QUICK: dict[str, Any] = {"weights": (0.0, 0.01), "seeds": 2, "iterations": 2, "games": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/parameter_sharing/entropy")
    preset: Preset = "parameter_sharing"
    """The settings of training: ours, or those of the study's code."""
    weights: tuple[float, ...] = (0.0, 0.005, 0.01, 0.03, 0.1)
    """Entropy weights, the first one for comparison."""
    seeds: int = 10
    iterations: int = 50


def report(arguments: Arguments) -> Report:
    """Trains the runs of every weight, and compares the lengths of their games."""
    settings = settings_of(arguments.preset, arguments.iterations, ent_coef=arguments.weights)
    trained = runs.train_all(arguments.output / arguments.preset, settings, arguments.seeds, arguments.games)
    curves = {
        weight: runs.curves_of(run for run in trained.values() if run.config.ent_coef == weight)
        for weight in arguments.weights
    }
    rows = summary(curves)
    return Report({"rows": rows}, table_of(rows, COLUMNS), {f"figure_5_{arguments.preset}": draw(curves)})


def summary(curves: Mapping[float, Any]) -> list[dict[str, Any]]:
    """Returns a row per weight, with means over seeds and their intervals as text.

    "last" are the rounds of the last evaluations of a run, "all" the rounds of all its evaluations.
    """
    last = {weight: np.array(c["rounds"])[:, -WINDOW:].mean(1).tolist() for weight, c in curves.items()}
    every = {weight: np.array(c["rounds"]).mean(1).tolist() for weight, c in curves.items()}
    first, *others = last
    change = {weight: format_interval(difference(last[weight], last[first], np.mean), "{:.2f}") for weight in others}
    p = {weight: format_p(exact_p(last[weight], last[first])) for weight in others}
    return [
        {
            "weight": weight,
            "last": format_interval(interval(last[weight], np.mean), "{:.2f}"),
            "difference": change.get(weight, ""),
            "p": p.get(weight, ""),
            "all": format_interval(interval(every[weight], np.mean), "{:.2f}"),
        }
        for weight in curves
    ]


def draw(curves: Mapping[float, Any]) -> Figure:
    """Returns Figure 5: lengths by steps, medians in their ranges; the study's runs dotted."""
    figure, panels = new_picture(9.6, 4.0, across=len(DRAWN))
    for axes, (column, label) in zip(panels, DRAWN.items(), strict=True):
        for index, (weight, curve) in enumerate(curves.items()):
            color = draw_band(axes, curve["steps"], curve[column], index, f"{weight:g}")
            theirs = published().get(f"entropy {weight:g}")
            if column == "rounds" and theirs is not None:
                within = theirs.steps <= curve["steps"][-1]
                axes.plot(theirs.steps[within], theirs.rounds[within], ":", color=color, label=f"_study, {weight:g}")
        axes.set(xlabel="environment steps", ylabel=label, ylim=(0, None))
        axes.xaxis.set_major_formatter(plot.text_of_tick)
    panels[0].legend(title="entropy weight", fontsize="small")
    return figure


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
