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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tqdm import tqdm

from examples.papers._experiment import Report, ResultCache, command, train_all
from examples.papers.alpha_mini import games, runs
from train import plot
from train.driver.commands import check_games
from train.driver.tables import markdown
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
QUICK: dict[str, Any] = {
    "network": runs.NARROW,
    "total_steps": 2_000,
    "seeds": 1,
    "games": 50,
    "pairs": 2,
}


@dataclass(frozen=True)
class Arguments(runs.TrainingArguments):
    output: Path = Path("runs/papers/alpha_mini/discounts")
    """The folder of the sweep, for the table and the picture too."""
    settings: runs.Kind = "study"
    """study: the preset alpha_mini. ours: the recipe of minichess."""
    total_steps: int = 50_000
    """Environment steps of each run; 50,000 in the study."""
    seeds: int = 3
    """Runs of each pair."""
    games: int = 1_000
    """Games of each run's evaluation; 10,000 in the study."""
    pairs: int = len(THEIRS)
    """The number of pairs, in the order of Table 1."""


def report(arguments: Arguments) -> Report:
    """Trains and evaluates the runs of each pair."""
    check_games(arguments.games, 0)
    sweep = sweep_for(arguments)
    train_all(sweep, arguments.output / "sweep")
    results = evaluate_all(arguments, sweep)
    rows = [{"gamma": gamma, "gae_lambda": of, "runs": of_pair} for (gamma, of), of_pair in results.items()]
    return Report(rows, table(results), {"discounts": draw(results)})


def sweep_for(arguments: Arguments) -> Sweep:
    """Returns the sweep over the pairs of Table 1: the runs of the whole product that are such pairs."""
    settings = arguments.settings_of_runs()
    pairs = list(THEIRS)[: arguments.pairs]
    varied = runs.singles(settings | {"total_steps": arguments.total_steps})
    varied |= {"gamma": tuple(dict.fromkeys(gamma for gamma, _ in pairs))}
    varied |= {"gae_lambda": tuple(dict.fromkeys(of for _, of in pairs))}
    whole = sweep_of("ppo", varied, arguments.seeds)
    kept = {name: learner for name, learner in whole.cells.items() if pair_of(learner.config) in pairs}
    return dataclasses.replace(whole, cells=kept)


def pair_of(config: Any) -> tuple[float, float]:
    """Returns gamma and lambda of a run."""
    return config.gamma, config.gae_lambda


def evaluate_all(arguments: Arguments, sweep: Sweep) -> dict[tuple[float, float], list[dict[str, Any]]]:
    """Returns the results of the runs of each pair, as White against a random player; plays those that are missing."""
    cache = ResultCache(arguments.output / "cells.jsonl")
    results: dict[tuple[float, float], list[dict[str, Any]]] = {}
    for name, learner in tqdm(sweep.cells.items(), unit=" runs", disable=None):
        play = functools.partial(games.play_random, str(arguments.output / "sweep" / name), runs.WHITE, arguments.games)
        result = cache.once({"run": name, "num_games": arguments.games}, play)
        results.setdefault(pair_of(learner.config), []).append(result)
    return results


def rates(of_runs: Sequence[dict[str, Any]]) -> list[float]:
    """Returns the win rates of runs."""
    return [games.win_rate(result) for result in of_runs]


def table(results: Mapping[tuple[float, float], Sequence[dict[str, Any]]]) -> str:
    """Returns the Markdown table: our median and range over seeds beside the study's single run."""
    header = ("gamma", "lambda", "win rate, median (range)", "neither wins", "(r + 60) / 120", "the study")
    rows: list[tuple[object, ...]] = []
    for (gamma, of), theirs in THEIRS.items():
        of_pair = results.get((gamma, of))
        if of_pair is None:
            continue
        neither = np.median([(each["drawn"] + each["truncated"]) / each["games"] for each in of_pair])
        estimate = np.median([games.rate_from_reward(each["mean_reward"]) for each in of_pair])
        ours = games.format_range(rates(of_pair))
        rows.append((gamma, of, ours, f"{neither:.3f}", f"{estimate:.3f}", f"{theirs:.3f}"))
    return markdown(header, rows)


def draw(results: Mapping[tuple[float, float], Sequence[dict[str, Any]]]) -> Figure:
    """Returns win rates by gamma with lambda 1, and by lambda with gamma 0.3: ours with ranges, theirs as rings."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels: Any = figure.subplots(1, 2, sharey=True)
    for axes, name, place, fixed in ((panels[0], "gamma", 0, 1.0), (panels[1], "lambda", 1, 0.3)):
        pairs = sorted(pair for pair in results if pair[1 - place] == fixed)
        x = [pair[place] for pair in pairs]
        of_pairs = [rates(results[pair]) for pair in pairs]
        medians = np.array([np.median(each) for each in of_pairs])
        ranges = [medians - [min(each) for each in of_pairs], [max(each) for each in of_pairs] - medians]
        axes.errorbar(x, medians, yerr=ranges, fmt="o-", capsize=3, label="ours", **colour(0))
        theirs = [THEIRS[pair] for pair in pairs]
        axes.plot(x, theirs, "o--", fillstyle="none", label="the study", **colour(1))
        axes.set(xlabel=name, ylim=(0, 1.02), title=f"{'lambda' if place == 0 else 'gamma'} = {fixed}")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("win rate against a random player")
    panels[0].legend()
    return figure


def colour(index: int) -> dict[str, Any]:
    """Returns the colour of a line, as in the other pictures."""
    return {"color": plot.style_of(index)["color"]}


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
