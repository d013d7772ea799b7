"""Compares three ways of sharing parameters between six seats, as Adhikari & Gu 2024 (arXiv:2405.18733) do.

    python -m examples.papers.parameter_sharing --output runs/parameter_sharing

As in the paper, the game is Chinese Checkers with N = 2 and six players, truncated after 150 rounds. PPO learns by
self-play, with 100 iterations of 4,000 environment steps. The encoder is 64-64 with a policy and a value head. After
every iteration, the sampled policy plays 30 games in seat 0 against five uniformly random opponents. Unlike in the
paper, there are five seeds, and tanh instead of ReLU. docs/papers/parameter_sharing.md lists all differences.

The three ways and five seeds are a sweep (`train.sweep`). `--resume` continues one that was stopped.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from matplotlib.figure import Figure

from train import agents, plot
from train.curves import Curve
from train.driver.loop import Settings
from train.models.policy import Sharing
from train.ops.sharding import provide_cores
from train.sweep import run_sweep, sweep_of

MODES: tuple[Sharing, ...] = ("shared", "shared_encoder", "independent")
MEASURES = ("steps to 0.9", "steps to 0.9 five times", "steps to 1.0", "turns to win")
# From the published logs, in the order of MEASURES. Steps are those of the first evaluation that reaches the rate.
# Turns are the logs' mean of the last ten evaluations plus the winning turn; a truncated game counts as 150 in them.
PAPER = {
    "shared": (48_000, 48_000, 52_000, 20.7),
    "shared_encoder": (60_000, 60_000, 76_000, 26.3),
    "independent": (172_000, 200_000, 200_000, 47.2),
}
SETTINGS: dict[str, tuple[Any, ...]] = {
    "env": ("chinese_checkers(size=2, num_players=6, max_rounds=150)",),
    "num_envs": (20,),
    "rollout_length": (200,),
    "update_epochs": (10,),
    "num_minibatches": (16,),
    "learning_rate": (3e-4,),
    "gae_lambda": (0.8,),
    "clip_coef": (0.3,),
    "ent_coef": (0.03,),
    "hidden_sizes": ((64, 64),),
}


@dataclass(frozen=True)
class Arguments:
    output: Path = Path("runs/parameter_sharing")
    """The folder of the sweep, for the table and the picture too."""
    modes: tuple[Sharing, ...] = MODES
    """The ways of sharing."""
    seeds: int = 5
    """Runs of each way of sharing."""
    games: int = 30
    """Games of an evaluation; 30 in the paper."""
    iterations: int = 100
    """Iterations of each run, of 4,000 steps each."""
    resume: bool = False
    """Continues the sweep in the folder."""


def main() -> None:
    """The command `python -m examples.papers.parameter_sharing`."""
    arguments = tyro.cli(Arguments, prog="python -m examples.papers.parameter_sharing", description=__doc__)
    provide_cores(0)
    results = train(arguments)
    print(table(results))
    plot.save(draw(results), arguments.output / "parameter_sharing")
    print(json.dumps({mode: {name: finite(reached(r)[name]) for name in MEASURES} for mode, r in results.items()}))


def train(arguments: Arguments) -> dict[str, dict[str, Any]]:
    """Trains all seeds of all modes. Returns steps [iterations], win_rate and mean_turns [seeds][iterations] by mode.

    Ends the program if a signal stops the training.
    """
    steps = {"total_steps": (4000 * arguments.iterations,)}
    sweep = sweep_of("ppo", SETTINGS | steps | {"sharing": arguments.modes}, arguments.seeds)
    settings = Settings(
        run_dir=arguments.output,
        resume=arguments.resume,
        evaluate_every=1,
        evaluation_games=arguments.games,
        evaluation_seat=0,
        devices=0,
    )
    if not run_sweep(sweep, settings)["finished"]:
        raise SystemExit(130)
    results: dict[str, dict[str, Any]] = {mode: {"win_rate": [], "mean_turns": []} for mode in arguments.modes}
    for name in sweep.cells:
        run = agents.open_run(arguments.output / name)
        of_mode, rows = results[run.config.sharing], run.rows()
        of_mode["steps"] = [row["steps"] for row in rows]
        for column in ("win_rate", "mean_turns"):
            of_mode[column].append([row[column] for row in rows])
    return results


def reached(result: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Returns the median, the lowest and the highest value over seeds of every measure; infinite if never reached."""
    steps = result["steps"]
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for rates, turns in zip(result["win_rate"], result["mean_turns"], strict=True):
        high = [rate >= 0.9 for rate in rates]
        in_a_row = [all(high[i : i + 5]) and i + 5 <= len(high) for i in range(len(high))]
        full = [rate >= 1.0 for rate in rates]
        for name, flags in zip(MEASURES, (high, in_a_row, full), strict=False):
            values[name].append(float(steps[flags.index(True)]) if any(flags) else float("inf"))
        won = [turn for turn in turns[-10:] if turn is not None]
        values["turns to win"].append(float(np.mean(won)) if won else float("inf"))
    return {name: (float(np.median(v)), min(v), max(v)) for name, v in values.items()}


def finite(numbers: tuple[float, ...]) -> list[float | None]:
    """Returns the numbers for JSON, which has no infinity: None stands for a rate that was never reached."""
    return [number if np.isfinite(number) else None for number in numbers]


def table(results: Mapping[str, Any]) -> str:
    """Returns the Markdown table: our median and range over seeds beside the paper's single run."""
    lines = ["| sharing | measure | ours, median (range) | paper |", "|---|---|---|---|"]
    for mode, result in results.items():
        for name, theirs in zip(MEASURES, PAPER[mode], strict=True):
            ours, low, high = reached(result)[name]
            form = "{:.1f} ({:.1f}-{:.1f})" if name == "turns to win" else "{:,.0f} ({:,.0f}-{:,.0f})"
            lines.append(f"| {mode} | {name} | {form.format(ours, low, high)} | {theirs:,} |")
    return "\n".join(lines)


def draw(results: Mapping[str, Any]) -> Figure:
    """Returns win rate and turns to win by steps: medians in their ranges, and the paper's figures dotted."""
    columns: dict[str, list[Curve]] = {}
    for column in ("win_rate", "mean_turns"):
        for mode, result in results.items():
            values = np.array(result[column], np.float64)
            shown = np.isfinite(values).all(0)
            curve = Curve(mode, np.array(result["steps"], np.float64)[shown], values[:, shown], False, "")
            columns.setdefault(column, []).append(curve)
    figure = plot.draw(
        columns, title="dotted: the paper's steps to 0.9, and its last ten evaluations", x_scale="linear"
    )
    left, right, *_ = figure.axes
    for index, mode in enumerate(results):
        left.axvline(PAPER[mode][0], color=plot.style_of(index)["color"], linestyle=":")
        right.axhline(PAPER[mode][3], color=plot.style_of(index)["color"], linestyle=":")
    return figure


if __name__ == "__main__":
    main()
