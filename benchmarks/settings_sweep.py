"""The time of a sweep of settings, compared with the time of its cells as single runs.

    python -m benchmarks.settings_sweep

The table is that of docs/training/sweep.md: three discounts x three lambdas x five seeds of the star game with six
players, with the default settings. Both sides are whole processes: start, compilation, evaluations and checkpoints are
included. The sweep is one process. A few of its cells are also trained as single runs: half of them before the sweep,
half after it. The time of all single runs is the median of these times the number of cells. The process of a single run
does not use a stored compilation. After the first iteration, the metrics of a cell are compared with those of its
single run. Later iterations can differ: rounding changes an action in the end.
"""

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


def main() -> None:
    """The command `python -m benchmarks.settings_sweep`."""
    harness.run_command("settings_sweep", harness.parse_arguments("settings_sweep", Arguments), measure_settings_sweep)


def measure_settings_sweep(arguments: Arguments) -> dict[str, Any]:
    """Returns the times of a sweep and of some of its cells as single runs, and logs them as a table."""
    if min(arguments.seeds, arguments.singles, arguments.total_steps) < 1:
        raise ValueError("seeds, singles and total_steps must be positive")
    table = [
        {"gamma": gamma, "gae_lambda": gae_lambda, "seed": seed}
        for gamma in arguments.gamma
        for gae_lambda in arguments.gae_lambda
        for seed in range(arguments.seeds)
    ]
    chosen = [table[index * len(table) // arguments.singles] for index in range(arguments.singles)]
    half = (arguments.singles + 1) // 2
    progress = harness.Progress(arguments.singles + 1, "process")
    common = ["--env", arguments.env, "--total-steps", str(arguments.total_steps)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def single(cell: dict[str, Any]) -> float:
            words = [f"--{name.replace('_', '-')}={value}" for name, value in cell.items()]
            seconds = time_process(["train.ppo", *common, *words, "--run-dir", str(single_folder(folder, cell))])
            progress.finish(f"single run: {seconds:.1f} s")
            return seconds

        before = [single(cell) for cell in chosen[:half]]
        words = ["--gamma", *map(str, arguments.gamma), "--gae-lambda", *map(str, arguments.gae_lambda)]
        words += ["--seeds", str(arguments.seeds), "--run-dir", str(folder / "sweep")]
        sweep = time_process(["train.sweep", *common, *words])
        progress.finish(f"sweep of {len(table)} cells: {sweep:.1f} s")
        singles = [*before, *(single(cell) for cell in chosen[half:])]
        differences = [
            largest_difference(single_folder(folder, cell), cell_folder(folder / "sweep", cell)) for cell in chosen
        ]
    of_all = statistics.median(singles) * len(table)
    header = ["cells", "steps of a cell", "seconds of a single run", "all single runs", "sweep", "ratio"]
    row = [len(table), f"{arguments.total_steps:,}", *(f"{x:.1f}" for x in (statistics.median(singles), of_all, sweep))]
    harness.log(harness.markdown_table(header, [[*map(str, row), f"{sweep / of_all:.2f}"]]))
    return {
        "cells": len(table),
        "total_steps": arguments.total_steps,
        "single_seconds": [round(seconds, 2) for seconds in singles],
        "all_single_seconds": round(of_all, 1),
        "sweep_seconds": round(sweep, 1),
        "ratio": round(sweep / of_all, 3),
        "largest_relative_difference_in_the_first_iteration": max(differences),
        **harness.stamp(),
    }


def time_process(command: Sequence[str]) -> float:
    """Returns the seconds of `python -m command` from start to end. Raises OSError, with its last words, on failure."""
    environment = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    start = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", *command], env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - start
    if ended.returncode:
        raise OSError(f"{command[0]} ended with status {ended.returncode}: {ended.stderr[-500:]}")
    return seconds


def single_folder(folder: Path, cell: dict[str, Any]) -> Path:
    """Returns the run folder of a cell's single run."""
    return folder / "_".join(f"{name}={value}" for name, value in cell.items())


def cell_folder(sweep: Path, cell: dict[str, Any]) -> Path:
    """Returns the run folder of a cell in the folder of a sweep."""
    cells: dict[str, dict[str, Any]] = json.loads((sweep / "sweep.json").read_bytes())["cells"]
    return sweep / next(name for name, settings in cells.items() if cell.items() <= settings.items())


def largest_difference(single: Path, cell: Path) -> float:
    """Returns the largest relative difference of the metrics after the first iteration."""
    first, second = (json.loads((folder / "metrics.jsonl").read_text().splitlines()[0]) for folder in (single, cell))
    return max(abs(first[name] - second[name]) / max(abs(first[name]), 1e-9) for name in COMPARED)


if __name__ == "__main__":
    main()
