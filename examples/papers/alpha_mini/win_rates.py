"""Win rates of one network as White and as Black against a random player, under king capture and under standard rules.

    python -m examples.papers.alpha_mini.win_rates --output runs/papers/alpha_mini/win_rates

The study has "near (97 %)" for its agent of White (abstract, section 7), and no figure of Black. Each of RUNS is
trained with its settings, and then plays greedily on each seat. Under standard rules training begins with the
parameters of the run under king capture and has three stages: it learns to mate, and learns on twice without an entropy
bonus, in smaller steps. A second table has the reasons for draws. A stopped command continues.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers._experiment import Column, Experiment, Report, progress_over, run_experiment, table_of, train
from examples.papers.alpha_mini import runs
from train.driver.loop import Settings
from train.ppo import PPO, config_for

STANDARD: dict[str, Any] = {"env": "minichess", "gamma": 0.99, "opponents": ("random",)}
FINAL = STANDARD | {"total_steps": 2_000_000, "learning_rate": 5e-4, "ent_coef": 0.0}
RUNS: dict[str, dict[str, Any]] = {  # changes of the game's recipe
    "minichess_king_capture": {"env": "minichess(rules=king_capture, reward=material)", "total_steps": 800_000},
    "minichess_mate": STANDARD | {"total_steps": 4_000_000, "ent_coef": 0.01},
    "minichess_standard": FINAL,
    "minichess_standard_again": FINAL,
}
FIRST = {  # runs that begin with the parameters of another one
    "minichess_mate": "minichess_king_capture",
    "minichess_standard": "minichess_mate",
    "minichess_standard_again": "minichess_standard",
}
SEATS = {"White": runs.WHITE, "Black": runs.BLACK}
THEIRS = {("minichess_king_capture", "White"): 0.97}
PLAYER: dict[str, Column] = {"run": "{run}", "seat": "{seat}"}
COLUMNS: dict[str, Column] = {
    **PLAYER,
    "win rate": lambda row: runs.format_rate(row["won"], row["games"]),
    **{name: lambda row, name=name: f"{row[name] / row['games']:.4f}" for name in ("lost", "drawn", "truncated")},
    "plies": "{mean_length:.1f}",
    "mean reward": "{mean_reward:.3f}",
    "(r + 60) / 120": lambda row: (
        f"{runs.rate_from_reward(row['mean_reward']):.4f}" if is_king_capture(row["run"]) else ""
    ),
    "the study": lambda row: THEIRS.get((row["run"], row["seat"]), ""),
}
QUICK: dict[str, Any] = {
    **{"total_steps": 2_000, "games": 50, "runs": ("minichess_king_capture", "minichess_mate")},
    "network": runs.TINY,
}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/alpha_mini/win_rates")
    runs: tuple[str, ...] = tuple(RUNS)
    """The runs that play; those that they begin with are trained too."""
    seeds: int = 1
    """Runs of each kind."""
    games: int = 10_000
    """Games on each seat; 10,000 in the study."""
    total_steps: int | None = None
    """Environment steps of every run, in place of its own."""
    network: str | None = None
    """A network for every run, in place of its own."""


def report(arguments: Arguments) -> Report:
    rows = [row for name in arguments.runs for seed in range(arguments.seeds) for row in rows_of(arguments, name, seed)]
    return Report(rows, tables(rows))


def rows_of(arguments: Arguments, run: str, seed: int) -> list[dict[str, Any]]:
    """Returns the results of a run on both seats, after the rest of its training."""
    folder = trained(arguments, run, seed)
    rows: list[dict[str, Any]] = []
    for name, seat in progress_over(SEATS.items(), title=run, unit="seats"):
        key = {"run": run, "seat": name, "seed": seed, "num_games": arguments.games}
        result = arguments.once(key, functools.partial(runs.play_random, str(folder), seat, arguments.games))
        rows.append({**key, **result})
    return rows


def trained(arguments: Arguments, run: str, seed: int) -> Path:
    """Returns the folder of a run after the rest of its training, and of the training of the run before it."""
    given: dict[str, Any] = {"total_steps": arguments.total_steps, "network": arguments.network}
    given = {name: value for name, value in given.items() if value is not None}
    if run in FIRST:
        given["init_from"] = str(trained(arguments, FIRST[run], seed))
    folder = arguments.output / f"{run}_seed={seed}"
    learner = PPO(config_for(**RUNS[run] | given, seed=seed))
    train(learner, folder, Settings(evaluate_every=0, checkpoint_every=50))
    return folder


def is_king_capture(run: str) -> bool:
    return "king_capture" in run


def tables(rows: Sequence[dict[str, Any]]) -> str:
    """Returns the Markdown tables: of the games, and of the reasons for draws, each as a share of all games."""
    drawn = [row for row in rows if row["drawn"]]
    reasons = sorted({reason for row in drawn for reason in row["draws"]})
    shares: dict[str, Column] = {
        reason: lambda row, reason=reason: f"{row['draws'].get(reason, 0) / row['games']:.4f}" for reason in reasons
    }
    return f"{table_of(rows, COLUMNS)}\n\n{table_of(drawn, PLAYER | shares)}"


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
