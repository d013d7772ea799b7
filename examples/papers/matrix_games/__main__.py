"""Repeats the tables and the figure on matrix games of El Kaddouri, Rys and Gao 2024, and draws the dynamics.

    python -m examples.papers.matrix_games --output runs/papers/matrix_games

Two learners play a game against each other, 1,000 runs per cell. The first table has the share of runs that end within
0.05 of a point: those of the study's eight tables, beside its Yes or No, and equilibria and optima that they lack. The
settings are those of the study: step size 0.001, 100,000 steps, temperature from 0.5 to 0.01. Two more tables have the
basins by leniency in the subsidy game, and mean policies in biased rock-paper-scissors. Then each error of the study is
named, with the figures that show it.

The output folder gets tables.md, four pictures, and cells.json, the shares with their 95 % Wilson intervals. The last
line on standard output is JSON: the errors, the pictures, and the seconds.
"""

import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from examples.papers._experiment import Experiment, Report, command
from examples.papers.matrix_games import pictures, tables
from examples.papers.matrix_games.tables import LEARNERS, SETTINGS, TABLES, Setting
from jaxgames._checks import check_int
from jaxgames._progress import Progress
from train.driver.commands import MAX_SEED
from train.matrix.games import matrix_game
from train.matrix.replicator import Dynamics, Floats, integrate
from train.matrix.tabular import Result, run, share_near

FIGURE_1 = ("prisoners_dilemma", "subsidy", "subsidy_printed", "battle_of_sexes")
FIGURE_RUNS = 200  # of which those with the nearest starts are drawn
FIGURE_LEARNERS = ("lenient κ = 5", "lenient FAQ κ = 5")  # the study's, and the one that follows the field
STARTS = ((0.25, 0.25), (0.8, 0.7), (0.3, 0.8), (0.75, 0.25))  # (x, y) of the four trajectories of a panel
FIRST_TEMPERATURE = 0.5  # of the study's schedule
FIELD = Dynamics(tau=0.1, kappa=5)
SIMPLEX = ("Boltzmann", "lenient κ = 5", "FAQ")
QUICK = {"runs": 20, "steps": 40, "grid": 24}
BARS = ("subsidy", "prisoners_dilemma", "battle_of_sexes")


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/matrix_games")
    runs: int = 1000
    """Runs per learner, game and start."""
    steps: int = 100_000
    """Steps per run."""
    grid: int = 120
    """Cells of a map of basins along each side; the table of basins has half as many."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    """Runs all learners, draws the pictures, and checks the study.

    Raises ValueError for a number of runs, steps or cells, or a seed, that is out of range.
    """
    check_int("runs", arguments.runs, 1, 1_000_000)
    check_int("steps", arguments.steps, 1, 100_000_000)
    check_int("grid", arguments.grid, 2, 2000)
    check_int("seed", arguments.seed, 0, MAX_SEED)
    began, began_cpu = time.perf_counter(), time.process_time()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with Progress(total=len(SETTINGS) + len(FIGURE_1) * len(FIGURE_LEARNERS) + 4, unit="parts") as bar:
        data = _all_runs(arguments, bar)
        paths = _pictures(arguments, data, bar)
    findings = tables.findings(data.shares, data.constant, data.predicted)
    texts = ["### All points", tables.summary(data.shares)]
    texts += ["### Leniency in the subsidy game", tables.leniency(arguments.grid // 2)]
    texts += ["### Mean policies in biased rock-paper-scissors", tables.means(data.means)]
    texts += ["### Errors of the study", tables.findings_text(findings)]
    (arguments.output / "cells.json").write_text(json.dumps(tables.as_json(data.shares), indent=1))
    result = {
        "errors": [finding._asdict() for finding in findings],
        "pictures": [str(path) for path in paths],
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(time.process_time() - began_cpu, 1),
    }
    return Report(result, "\n\n".join(texts))


# -- runs ----------------------------------------------------------------------------------------------------------


def _run(arguments: Arguments, setting: Setting, number: int, runs: int) -> Result:
    """Returns the runs of a setting; `number` tells their keys apart."""
    key = jax.random.fold_in(jax.random.key(arguments.seed), number)
    game = matrix_game(setting.game)
    return run(game, LEARNERS[setting.learner], key, runs, arguments.steps, setting.start)


class RunData(NamedTuple):
    """The parts of all runs that the tables and pictures need."""

    shares: dict[tuple[tables.Row, str], Any]
    simplex: dict[str, Floats]  # by learner, the row player's policies of the first run of rock-paper-scissors
    constant: list[Floats]  # mean policies at the end of the runs of CONSTANT
    means: dict[str, Floats]  # by learner, the row player's mean policy in the second half of rock-paper-scissors
    predicted: dict[str, float]  # by learner, the share of runs of `subsidy` that end where the dynamics do


def _all_runs(arguments: Arguments, bar: Any) -> RunData:
    data = RunData({}, {}, [], {}, {})
    for number, setting in enumerate(SETTINGS):
        bar.describe(f"{setting.game}, {setting.learner}")
        result = _run(arguments, setting, number, arguments.runs)
        if setting == tables.CONSTANT:
            data.constant.extend(np.asarray(result.policies, np.float64).mean(0))
        elif setting.game == "biased_rps":
            trajectory = np.asarray(result.trajectory[:, :, 0], np.float64)  # [points, runs, 3]
            data.means[setting.learner] = trajectory[len(trajectory) // 2 :].mean((0, 1))
            if setting.learner in SIMPLEX:
                data.simplex[setting.learner] = trajectory[:, 0]
        if setting.start == "policies":
            data.predicted[setting.learner] = _predicted(setting, result)
        columns = {column.label: column for each in TABLES if each.game == setting.game for column in each.columns}
        for row in tables.rows_of(setting.game):
            if row.setting == setting:
                policies = np.asarray(result.greedy_policies if row.greedy else result.policies)
                for label, column in columns.items():
                    data.shares[row, label] = share_near(policies, column.point)
        bar.update()
    return data


def _predicted(setting: Setting, result: Result) -> float:
    """Returns the share of runs that end in the same quarter of the square as the dynamics from their start.

    The dynamics have the learner's leniency and its first temperature.
    """
    learner = LEARNERS[setting.learner]
    dynamics = Dynamics(FIRST_TEMPERATURE, learner.kappa if learner.is_lenient else 1)
    first, last = (np.asarray(policies, np.float64) for policies in (result.trajectory[0], result.policies))
    path = integrate(matrix_game(setting.game), dynamics, (first[:, 0], first[:, 1]), duration=60, num_points=2)
    ends = np.stack([path.row[:, -1, 0], path.column[:, -1, 0]], -1)
    return float(((ends > 0.5) == (last[..., 0] > 0.5)).all(-1).mean())


# -- pictures --------------------------------------------------------------------------------------------------------


def _pictures(arguments: Arguments, data: RunData, bar: Any) -> list[Path]:
    """Writes the four pictures. Returns their paths."""
    paths: dict[tuple[str, str], Floats] = {}
    for number, (learner, name) in enumerate(itertools.product(FIGURE_LEARNERS, FIGURE_1), len(SETTINGS)):
        bar.describe(f"trajectories, {name}, {learner}")
        result = _run(arguments, Setting(name, learner, "policies"), number, FIGURE_RUNS)
        paths[learner, name] = _nearest(np.asarray(result.trajectory, np.float64))
        bar.update()
    subsidy = matrix_game("subsidy")
    draw = {
        "dynamics": lambda: pictures.draw_fields([matrix_game(name) for name in FIGURE_1], paths, FIELD),
        "basins": lambda: pictures.draw_basins(subsidy, (1, 2, 5, 10), (0, 0.5), arguments.grid),
        "rps": lambda: pictures.draw_simplex(matrix_game("biased_rps"), data.simplex, tables.PRINTED_RPS.point[0]),
        "shares": lambda: pictures.draw_shares(_bars(data.shares)),
    }
    saved: list[Path] = []
    for name, figure in draw.items():
        bar.describe(f"picture, {name}")
        saved.append(pictures.save(figure(), arguments.output / f"matrix_games_{name}.png"))
        bar.update()
    return saved


def _nearest(trajectory: Floats) -> Floats:
    """Returns the trajectories that begin nearest to STARTS, float64[starts, points, 2, 2], of [points, runs, 2, 2]."""
    first = trajectory[0, :, :, 0]  # float64[runs, 2]
    nearest = [int(np.abs(first - start).max(-1).argmin()) for start in STARTS]
    return trajectory[:, nearest].swapaxes(0, 1)


def _bars(shares: tables.Shares) -> list[dict[str, Any]]:
    """Returns the entries of the bar chart: greedy policies of epsilon-greedy learners, policies of all others."""
    entries: list[dict[str, Any]] = []
    for (row, label), (share, interval) in shares.items():
        is_greedy = LEARNERS[row.setting.learner].kind == "epsilon_greedy"
        if row.setting.game in BARS and row.greedy == is_greedy:
            game = f"{row.setting.game}, start: {row.setting.start}"
            entry = {"game": game, "learner": row.setting.learner, "point": label}
            entries.append(entry | {"share": share, "interval": interval})
    return entries


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
