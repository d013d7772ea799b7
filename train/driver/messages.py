"""The lines that a run writes on standard error: what it will do, how far it is, and how it plays."""

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgames import arena
from jaxgames._progress import Progress, format_seconds
from train.driver import processes
from train.driver.commands import format_interval
from train.driver.learner import Config, Learner

OPPONENT, GAMES = "evaluation_opponent", "evaluation_games"  # columns of the metrics, beside the results of the games
NEXT_OPPONENT = "greedy"  # of evaluations in which the random agent is beaten
NEXT_RATES = {f"{name}/{NEXT_OPPONENT}": name for name in ("win_rate", "draw_rate")}  # columns of the games against it


def log(text: str) -> None:
    """Prints a line on standard error, in process 0 only; standard output is kept for the result."""
    if processes.is_leader():
        print(f"{text}\n", end="", file=sys.stderr, flush=True)  # one write, because other threads write too


def log_start(learner: Learner, folder: object, devices: int) -> None:
    """Logs what a run learns, for how long, and where."""
    config = learner.config
    named = ", ".join(str(value) for name, value in learner.headline.items() if name != "seed")
    log(f"{named}: {config.num_iterations:,} iterations of {config.steps_per_iteration:,} steps")
    total = config.num_iterations * config.steps_per_iteration
    if total != config.total_steps:
        log(f"total_steps {config.total_steps:,} is rounded up to whole iterations: {total:,} steps")
    log(f"run folder {folder}; devices: {devices}, processes: {jax.process_count()}")


def log_evaluations(learner: Learner, opponent: str, games: int, seat: int | None) -> None:
    """Logs against whom a run is evaluated, in how many games, and how many games equal players win."""
    players = learner.env.num_players
    where = f"on seat {seat}" if seat is not None else f"on one of {players} seats, drawn for each game"
    if players > 1:
        where += f"; equal players win {100 / players:.0f} %, less where games are drawn"
    log(f"evaluations: {games:,} games against {opponent}, {where}")


def format_row(row: Mapping[str, Any], config: Config, num_runs: int = 1, shown: Sequence[str] = ()) -> str:
    """Returns a row of metrics as a line of text: its evaluation, if it has one, and the numbers among `shown`.

    Metrics of `num_runs` runs are arrays; the line has their means.
    """
    speed = mean_over_runs(row["steps_per_second"])
    left = (config.num_iterations * config.steps_per_iteration - row["steps"]) * num_runs / speed
    parts = [f"{row['steps']:>12,.0f} steps"]
    if "win_rate" in row:
        parts.append(format_wins(row, num_runs))
        if NEXT_RATES.keys() <= row.keys():
            of_next = {name: row[column] for column, name in NEXT_RATES.items()}
            parts.append(format_wins({**row, **of_next, OPPONENT: NEXT_OPPONENT}))
        turns = mean_over_runs(row["mean_turns"])
        parts += [f"{turns:.1f} turns to win"] if math.isfinite(turns) else []
    means = {name: mean_over_runs(row[name]) for name in shown}
    parts += [f"{name} {mean:.4f}" for name, mean in means.items() if math.isfinite(mean)]
    return "   ".join([*parts, f"{speed:,.0f} steps/s", f"{format_seconds(left)} left"])


def format_wins(row: Mapping[str, Any], num_runs: int = 1) -> str:
    """Returns the result of an evaluation, such as "won 46, drawn 2 of 100 against random (37-56 %)".

    Draws are left out where there are none.
    """
    won, drawn, games = mean_over_runs(row["win_rate"]), mean_over_runs(row.get("draw_rate", 0.0)), row[GAMES]
    if num_runs > 1:
        draws = f", drawn {100 * drawn:.1f} %" if drawn else ""
        return f"won {100 * won:.1f} %{draws} of {num_runs} x {games:,} against {row[OPPONENT]}"
    wins, draws = round(won * games), f", drawn {round(drawn * games):,}" if drawn else ""
    interval = format_interval(arena.wilson(wins, games))
    return f"won {wins:,}{draws} of {games:,} against {row[OPPONENT]} ({interval})"


def show(bar: Progress, text: str, row: Mapping[str, Any]) -> None:
    """Writes a line above the bar, and the win rate beside it, where the row has one."""
    if "win_rate" in row:
        drawn = mean_over_runs(row.get("draw_rate", 0.0))
        draws = f", draws {drawn:.3f}" if drawn else ""
        bar.describe(f"win rate {mean_over_runs(row['win_rate']):.3f}{draws}")
    bar.write(text)


def mean_over_runs(value: Any) -> float:
    """Returns the mean of the finite entries of an array over runs; a number itself."""
    values = np.ravel(value)
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")
