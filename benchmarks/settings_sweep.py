"""The time of a sweep of settings, compared with the time of its cells as single runs.

    python -m benchmarks.settings_sweep

The sweep is the one of docs/training/sweep.md: three discounts x three lambdas x five seeds of the star game with six
players, with the default settings. Both sides are whole processes: start, compilation, evaluations and checkpoints are
included. The sweep is one process. A few of its cells are also trained as single runs: half of them before the sweep,
half after it. The time of all single runs is the median of these times the number of cells. The process of a single run
does not use a stored compilation. After the first iteration, the metrics of a cell are compared with the metrics of its
single run. Later iterations can differ: rounding changes an action in the end.
"""

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.harness import Command
from train.driver.machine import stamp

COMPARED = ("entropy", "value_loss", "approx_kl")  # metrics of a cell and of its single run


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    env: str = "chinese_checkers(size=2, num_players=6)"
    """The game, with its parameters."""
    gamma: tuple[float, ...] = (0.3, 0.5, 0.99)
    """Values of gamma."""
    gae_lambda: tuple[float, ...] = (0.5, 0.9, 1.0)
    """Values of gae_lambda."""
    seeds: int = 5
    """Runs of every combination of settings."""
    total_steps: int = 400_000
    """Environment steps of each cell."""
    singles: int = 4
    """Cells that are also trained as single runs."""


def measure_settings_sweep(arguments: Arguments) -> dict[str, Any]:
    harness.check_positive(arguments, "seeds", "singles", "total_steps")
    values = itertools.product(arguments.gamma, arguments.gae_lambda, range(arguments.seeds))
    table: list[dict[str, Any]] = [dict(zip(("gamma", "gae_lambda", "seed"), cell, strict=True)) for cell in values]
    chosen = {f"single_{i}": table[i * len(table) // arguments.singles] for i in range(arguments.singles)}
    half = (arguments.singles + 1) // 2
    progress = harness.Progress(arguments.singles + 1, "process")
    common = ["--env", arguments.env, "--total-steps", str(arguments.total_steps)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def train(command: str, words: list[str], run: str) -> float:
            seconds = time_process([command, *common, *words, "--run-dir", str(folder / run)])
            progress.finish(f"{run}: {seconds:.1f} s")
            return seconds

        def train_singles(runs: list[str]) -> list[float]:
            words = {run: [f"--{name.replace('_', '-')}={x}" for name, x in chosen[run].items()] for run in runs}
            return [train("train.ppo", words[run], run) for run in runs]

        before = train_singles([*chosen][:half])
        words = ["--gamma", *map(str, arguments.gamma), "--gae-lambda", *map(str, arguments.gae_lambda)]
        sweep = train("train.sweep", [*words, "--seeds", str(arguments.seeds)], "sweep")
        singles = [*before, *train_singles([*chosen][half:])]
        differences = [
            largest_difference(folder / run, cell_folder(folder / "sweep", cell)) for run, cell in chosen.items()
        ]
    all_singles = statistics.median(singles) * len(table)
    harness.log(f"all single runs {all_singles:.1f} s, sweep {sweep:.1f} s, ratio {sweep / all_singles:.2f}")
    return {
        "cells": len(table),
        "total_steps": arguments.total_steps,
        "single_seconds": [round(seconds, 2) for seconds in singles],
        "all_single_seconds": round(all_singles, 1),
        "sweep_seconds": round(sweep, 1),
        "ratio": round(sweep / all_singles, 3),
        "largest_relative_difference_in_the_first_iteration": max(differences),
        **stamp(),
    }


def time_process(command: Sequence[str]) -> float:
    """Returns the seconds of `python -m command` from start to end. Raises OSError, with its last words, on failure."""
    environment = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    start = time.perf_counter()
    ended = subprocess.run([sys.executable, "-m", *command], env=environment, capture_output=True, text=True)
    if ended.returncode:
        raise OSError(f"{command[0]} ended with status {ended.returncode}: {ended.stderr[-500:]}")
    return time.perf_counter() - start


def cell_folder(sweep: Path, cell: dict[str, Any]) -> Path:
    cells: dict[str, dict[str, Any]] = json.loads((sweep / "sweep.json").read_bytes())["cells"]
    return sweep / next(name for name, settings in cells.items() if cell.items() <= settings.items())


def largest_difference(single: Path, cell: Path) -> float:
    """Returns the largest relative difference of the metrics after the first iteration."""
    first, second = (json.loads((folder / "metrics.jsonl").read_text().splitlines()[0]) for folder in (single, cell))
    return max(abs(first[name] - second[name]) / max(abs(first[name]), 1e-9) for name in COMPARED)


COMMANDS = (Command("settings_sweep", Arguments, measure_settings_sweep),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
