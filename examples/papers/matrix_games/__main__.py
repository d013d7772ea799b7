"""Repeats the tables and the figure on matrix games of El Kaddouri, Rys and Gao 2024, and draws the dynamics.

    python -m examples.papers.matrix_games --output runs/papers/matrix_games

Two learners play a game against each other, 1,000 runs per cell. The first table has the share of runs that end within
0.05 of a point: those of the study's eight tables, beside its Yes or No, and equilibria and optima that they lack. The
settings are those of the study: step size 0.001, 100,000 steps, temperature from 0.5 to 0.01. The second table has the
basins by leniency in the subsidy game.

The last line on standard output is JSON: the shares with their 95 % Wilson intervals, and figures of the study's errors
that are in no table.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from examples.papers._experiment import Experiment, Report, progress_over, run_experiment
from examples.papers.matrix_games import pictures, tables
from examples.papers.matrix_games.tables import LEARNERS, POINTS, SETTINGS, Setting
from jaxgames._checks import check_int
from train.driver.metrics import rounded
from train.matrix.games import logit_equilibrium, matrix_game
from train.matrix.replicator import Dynamics, Floats, integrate
from train.matrix.tabular import Result, run, share_near

FIGURE_1 = ("prisoners_dilemma", "subsidy", "subsidy_printed", "battle_of_sexes")
FIGURE_RUNS = 200  # of which those with the nearest starts are drawn
FIGURE_LEARNERS = ("lenient κ = 5", "lenient FAQ κ = 5")  # the study's, and the one that follows the field
STARTS = ((0.25, 0.25), (0.8, 0.7), (0.3, 0.8), (0.75, 0.25))  # (x, y) of the four trajectories of a panel
FIRST_TEMPERATURE = 0.5  # of the study's schedule
FIELD = Dynamics(tau=0.1, kappa=5)
QUICK = {"runs": 20, "steps": 40, "grid": 24}


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
    """Runs all learners, and draws the pictures. Raises ValueError for a number that is out of range."""
    check_int("runs", arguments.runs, 1, 1_000_000)
    check_int("steps", arguments.steps, 1, 100_000_000)
    check_int("grid", arguments.grid, 2, 2000)
    shares, of_errors = all_runs(arguments)
    points, leniency = tables.summary(shares), tables.leniency(arguments.grid // 2)
    figures = {
        "dynamics": pictures.draw_fields([matrix_game(name) for name in FIGURE_1], trajectories(arguments), FIELD),
        "basins": pictures.draw_basins(matrix_game("subsidy"), (1, 2, 5, 10), (0, 0.5), arguments.grid),
    }
    result = {"shares": shares, "errors": tables.figures_of_errors() | of_errors}
    return Report(result, f"### All points\n\n{points}\n\n### Leniency in the subsidy game\n\n{leniency}", figures)


def run_setting(arguments: Arguments, setting: Setting, number: int, runs: int) -> Result:
    """Returns the runs of a setting; `number` tells their keys apart."""
    key = jax.random.fold_in(jax.random.key(arguments.seed), number)
    return run(matrix_game(setting.game), LEARNERS[setting.learner], key, runs, arguments.steps, setting.start)


def all_runs(arguments: Arguments) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Returns shares of the runs of all settings, and figures of the study's errors that need runs."""
    shares: list[dict[str, Any]] = []
    of_errors: dict[str, Any] = {"predicted": {}}
    for number, setting in enumerate(progress_over(SETTINGS, unit="settings")):
        result = run_setting(arguments, setting, number, arguments.runs)
        if setting == tables.CONSTANT:
            logit = logit_equilibrium(matrix_game(setting.game), 0.05)
            means = np.asarray(result.policies, np.float64).mean(0)
            distance = max(np.abs(mean - policy).max() for mean, policy in zip(means, logit, strict=True))
            of_errors["distance from the logit equilibrium"] = round(float(distance), 4)
            continue
        if setting.start == "policies":
            of_errors["predicted"][setting.learner] = round(predicted(setting, result), 4)
        for greedy in (False, True) if LEARNERS[setting.learner].kind == "epsilon_greedy" else (False,):
            policies = np.asarray(result.greedy_policies if greedy else result.policies)
            for label, point, _ in POINTS[setting.game]:
                share, interval = share_near(policies, point)
                found = {"point": label, **rounded({"share": share, "interval": interval})}
                shares.append({**setting._asdict(), "greedy": greedy, **found})
    return shares, of_errors


def predicted(setting: Setting, result: Result) -> float:
    """Returns the share of runs that end in the same quarter of the square as the dynamics from their start.

    The dynamics have the learner's leniency and its first temperature.
    """
    learner = LEARNERS[setting.learner]
    dynamics = Dynamics(FIRST_TEMPERATURE, learner.kappa if learner.is_lenient else 1)
    first, last = (np.asarray(policies, np.float64) for policies in (result.trajectory[0], result.policies))
    path = integrate(matrix_game(setting.game), dynamics, (first[:, 0], first[:, 1]), duration=60, num_points=2)
    ends = np.stack([path.row[:, -1, 0], path.column[:, -1, 0]], -1)
    return float(((ends > 0.5) == (last[..., 0] > 0.5)).all(-1).mean())


def trajectories(arguments: Arguments) -> dict[tuple[str, str], Floats]:
    """Returns those that begin nearest to STARTS, float64[starts, points, 2, 2], by learner and game."""
    paths: dict[tuple[str, str], Floats] = {}
    panels = [*itertools.product(FIGURE_LEARNERS, FIGURE_1)]
    for number, (learner, name) in enumerate(progress_over(panels, unit="panels"), len(SETTINGS)):
        result = run_setting(arguments, Setting(name, learner, "policies"), number, FIGURE_RUNS)
        trajectory = np.asarray(result.trajectory, np.float64)  # [points, runs, 2, 2]
        nearest = [int(np.abs(trajectory[0, :, :, 0] - start).max(-1).argmin()) for start in STARTS]
        paths[learner, name] = trajectory[:, nearest].swapaxes(0, 1)
    return paths


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
