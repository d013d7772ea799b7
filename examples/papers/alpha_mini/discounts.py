"""Win rates of White by gamma and lambda, after training against a random opponent: the study's Table 1.

    python -m examples.papers.alpha_mini.discounts --output runs/papers/alpha_mini/discounts
    python -m examples.papers.alpha_mini.discounts --network "alpha_mini(channels=32, hidden_sizes=[64, 64])" \\
        --learning-rate 1.6e-4 --output runs/papers/alpha_mini/discounts_narrow
    python -m examples.papers.alpha_mini.discounts --settings ours --output runs/papers/alpha_mini/discounts_ours

The nine pairs and the seeds are one sweep (`train.sweep`): one program. "study" has the settings of the preset
`alpha_mini`: 50,000 steps, learning rate 0.00001. "ours" has the network and settings of the recipe of minichess, for
the same steps. A network of 1/16 of the width learns with 16 times the learning rate.

Each trained policy plays greedily against a random player, as in the study. A stopped command continues.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.papers._experiment import Column, Report, new_picture, progress_over, run_experiment, table_of, train_all
from examples.papers.alpha_mini import runs
from train import plot
from train.driver.commands import text_of_rate
from train.sweep import Sweep, sweep_of

THEIRS = {  # Table 1: the win rate by gamma and lambda
    (0.1, 1.0): 0.866,
    (0.3, 1.0): 0.966,
    (0.5, 1.0): 0.902,
    (0.7, 1.0): 0.415,
    (0.9, 1.0): 0.556,
    (0.3, 0.99): 0.948,
    (0.3, 0.9): 0.853,
    (0.3, 0.5): 0.691,
    (0.3, 0.0): 0.687,
}
COLUMNS: dict[str, Column] = {
    "gamma": "{gamma}",
    "lambda": "{gae_lambda}",
    "win rate, median (range)": lambda row: format_range([runs.win_rate(run) for run in row["runs"]]),
    "neither wins": lambda row: median_of(row, lambda run: (run["drawn"] + run["truncated"]) / run["games"]),
    "(r + 60) / 120": lambda row: median_of(row, lambda run: runs.rate_from_reward(run["mean_reward"])),
    "the study": lambda row: f"{THEIRS[row['gamma'], row['gae_lambda']]:.3f}",
}
QUICK: dict[str, Any] = {"network": runs.NARROW, "total_steps": 2_000, "seeds": 1, "games": 50, "pairs": 2}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/discounts")
    settings: runs.Kind = "study"
    total_steps: int = 50_000
    """Environment steps of each run; 50,000 in the study."""
    seeds: int = 3
    """Runs of each pair."""
    games: int = 1_000
    """Games of each run's evaluation; 10,000 in the study."""
    pairs: int = len(THEIRS)
    """The number of pairs, in the order of Table 1."""


def report(arguments: Arguments) -> Report:
    sweep, folder = sweep_for(arguments), arguments.output / "sweep"
    train_all(sweep, folder)
    results: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for name, learner in progress_over(sweep.cells.items(), unit="runs"):
        play = functools.partial(runs.play_random, str(folder / name), runs.WHITE, arguments.games)
        result = arguments.once({"run": name, "num_games": arguments.games}, play)
        results.setdefault(pair_of(learner.config), []).append(result)
    rows = [{"gamma": pair[0], "gae_lambda": pair[1], "runs": of_pair} for pair, of_pair in results.items()]
    return Report(rows, table(rows), {"discounts": draw(results)})


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown table of the study's pairs, in its order."""
    row_of = {(row["gamma"], row["gae_lambda"]): row for row in rows}
    return table_of((row_of[pair] for pair in THEIRS if pair in row_of), COLUMNS)


def format_range(rates: Sequence[float]) -> str:
    """Returns the median of several runs with their range, such as "0.966 (0.965-0.990)"."""
    return text_of_rate(float(np.median(rates)), (min(rates), max(rates)))


def median_of(row: Mapping[str, Any], measure: Callable[[dict[str, Any]], float]) -> str:
    return f"{np.median([measure(run) for run in row['runs']]):.3f}"


def sweep_for(arguments: Arguments) -> Sweep:
    """Returns the sweep over the pairs of Table 1: the runs of the whole product that are such pairs."""
    pairs = list(THEIRS)[: arguments.pairs]
    settings = arguments.settings_of_runs() | {"total_steps": arguments.total_steps}
    varied: dict[str, tuple[Any, ...]] = {name: (value,) for name, value in settings.items()}
    for name, values in zip(("gamma", "gae_lambda"), zip(*pairs, strict=True), strict=True):
        varied[name] = tuple(dict.fromkeys(values))
    whole = sweep_of("ppo", varied, arguments.seeds)
    kept = {name: learner for name, learner in whole.cells.items() if pair_of(learner.config) in pairs}
    return dataclasses.replace(whole, cells=kept)


def pair_of(config: Any) -> tuple[float, float]:
    return config.gamma, config.gae_lambda


def draw(results: Mapping[tuple[float, float], Sequence[dict[str, Any]]]) -> Figure:
    """Returns win rates by gamma with lambda 1, and by lambda with gamma 0.3: ours with ranges, theirs as rings."""
    figure, panels = new_picture(9, 3.6, across=2, sharey=True)
    ours, theirs = ({"color": plot.style_of(index)["color"]} for index in (0, 1))
    for axes, name, place, fixed in ((panels[0], "gamma", 0, 1.0), (panels[1], "lambda", 1, 0.3)):
        pairs = sorted(pair for pair in results if pair[1 - place] == fixed)
        x = [pair[place] for pair in pairs]
        of_pairs = [[runs.win_rate(result) for result in results[pair]] for pair in pairs]
        medians = np.array([np.median(each) for each in of_pairs])
        ranges = [medians - [min(each) for each in of_pairs], [max(each) for each in of_pairs] - medians]
        axes.errorbar(x, medians, yerr=ranges, fmt="o-", capsize=3, label="ours", **ours)
        axes.plot(x, [THEIRS[pair] for pair in pairs], "o--", fillstyle="none", label="the study", **theirs)
        axes.set(xlabel=name, ylim=(0, 1.02), title=f"{'lambda' if place == 0 else 'gamma'} = {fixed}")
    panels[0].set_ylabel("win rate against a random player")
    panels[0].legend()
    return figure


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
