"""Metrics on the host: plain numbers, as they are stored, and the lines about them that a run writes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from jaxgames import arena
from jaxgames._progress import format_seconds
from train.driver.commands import format_interval
from train.driver.learner import Config, Learner, log

OPPONENT, GAMES = "evaluation_opponent", "evaluation_games"  # columns of the metrics, beside the results of the games
NEXT_OPPONENT = "greedy"  # of evaluations in which the random agent is beaten
NEXT_RATES = {f"{name}/{NEXT_OPPONENT}": name for name in ("win_rate", "draw_rate")}  # columns of the games against it
DIGITS = 6  # of a number in single precision, which has seven of which the last one is uncertain


def to_floats(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Returns scalars on any device as floats, and arrays as float64 arrays on the host, in the same order.

    Numbers in single precision are rounded to six digits, except for whole numbers: 0.67, not 0.6699999868869781.
    """
    values = [_decimal(np.asarray(value)) for value in jax.device_get([*metrics.values()])]
    return {name: value if value.ndim else float(value) for name, value in zip(metrics, values, strict=True)}


def _decimal(value: NDArray[Any]) -> NDArray[np.float64]:
    exact = value.astype(np.float64)
    if value.dtype.itemsize > 4 or value.dtype.kind != "f":
        return exact
    six_digits = np.array([float(f"{number:.{DIGITS}g}") for number in exact.ravel()]).reshape(exact.shape)
    return np.where(exact == np.round(exact), exact, six_digits)


def rounded(value: Any, digits: int = 4) -> Any:
    """Returns numbers as they are printed: floats with `digits` decimals, None for NaN and infinity.

    Mappings, lists and tuples are rounded entry by entry; all other values are returned as they are.
    """
    if isinstance(value, Mapping):
        return {name: rounded(entry, digits) for name, entry in value.items()}  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, list | tuple):
        return [rounded(entry, digits) for entry in value]  # pyright: ignore[reportUnknownVariableType]  # of any type
    if isinstance(value, float):
        return round(value, digits) if math.isfinite(value) else None
    return value


def log_start(learner: Learner, folder: object, devices: int) -> None:
    """Logs what a run learns, for how long, and where."""
    config = learner.config
    named = ", ".join(str(value) for name, value in learner.headline.items() if name != "seed")
    log(f"{named}: {config.num_iterations:,} iterations of {config.steps_per_iteration:,} steps")
    total = config.num_iterations * config.steps_per_iteration
    if total != config.total_steps:
        log(f"total_steps {config.total_steps:,} is rounded up to whole iterations: {total:,} steps")
    log(f"run folder {folder}; devices: {devices}")


def log_evaluations(learner: Learner, opponent: str, games: int) -> None:
    """Logs against whom a run is evaluated, in how many games, and how many games equal players win."""
    players = learner.env.num_players
    equal = f"; equal players win {100 / players:.0f} %, less where games are drawn" if players > 1 else ""
    log(f"evaluations: {games:,} games against {opponent}, on one of {players} seats, drawn for each game{equal}")


def format_row(row: Mapping[str, Any], config: Config, num_runs: int = 1, shown: Sequence[str] = ()) -> str:
    """Returns a row of metrics as a line of text: its evaluation, if it has one, and the numbers among `shown`.

    Metrics of `num_runs` runs are arrays; the line has their means, and the games of all of them.
    """
    row = {name: mean_over_runs(value) for name, value in row.items()}
    left = (config.num_iterations * config.steps_per_iteration - row["steps"]) * num_runs / row["steps_per_second"]
    parts = [f"{row['steps']:>12,.0f} steps"]
    if "win_rate" in row:
        row[GAMES] *= num_runs
        parts.append(format_wins(row))
        if NEXT_RATES.keys() <= row.keys():
            of_next = {name: row[column] for column, name in NEXT_RATES.items()}
            parts.append(format_wins({**row, **of_next, OPPONENT: NEXT_OPPONENT}))
        parts += [f"{row['mean_turns']:.1f} turns to win"] if math.isfinite(row["mean_turns"]) else []
    parts += [f"{name} {row[name]:.4f}" for name in shown if math.isfinite(row[name])]
    return "   ".join([*parts, f"{row['steps_per_second']:,.0f} steps/s", f"{format_seconds(left)} left"])


def format_wins(row: Mapping[str, Any]) -> str:
    """Returns the result of an evaluation, such as "won 46, drawn 2 of 100 against random (37-56 %)".

    Draws are left out where there are none.
    """
    games, drawn = row[GAMES], row.get("draw_rate", 0.0)
    wins, draws = round(row["win_rate"] * games), f", drawn {round(drawn * games):,}" if drawn else ""
    interval = format_interval(arena.wilson(wins, games))
    return f"won {wins:,}{draws} of {games:,} against {row[OPPONENT]} ({interval})"


def mean_over_runs(value: Any) -> Any:
    """Returns the mean of the finite entries of an array over runs; all other values are returned as they are."""
    if not getattr(value, "ndim", 0):
        return value
    finite = value[np.isfinite(value)]
    return float(finite.mean()) if finite.size else math.nan
