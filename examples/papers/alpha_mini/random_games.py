"""White's share of the games between two uniformly random players, under the rules of this project and of the study.

    python -m examples.papers.alpha_mini.random_games --output runs/papers/alpha_mini/random_games

The study reports 52.7 % for White, n = 10,000 (section 5.1.1). Each row changes one rule more, from the text's rules to
those of its program. Finished rows are not played again.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxgames
from examples.papers._experiment import Column, Experiment, Report, progress_over, run_experiment, table_of
from examples.papers.alpha_mini import runs

THEIRS = 0.527
ONLY_WHITE = "examples.papers.alpha_mini.rules:only_white_promotes"
RULES = {
    "those of the text": "minichess(rules=king_capture, reward=material)",
    "and pawns may go two cells": "minichess(rules=king_capture, reward=material, double_step=True)",
    "and promote only to queens": "minichess(rules=king_capture, reward=material, double_step=True, promotion=queen)",
    "and only White's promote": f"{ONLY_WHITE}(reward=material, double_step=True)",
    "and 100 plies at most": f"{ONLY_WHITE}(reward=material, double_step=True, max_plies=100)",
    "and 50 plies at most": f"{ONLY_WHITE}(reward=material, double_step=True, max_plies=50)",
}
COLUMNS: dict[str, Column] = {
    "rules": "{rules}",
    "White wins, of all games": lambda row: runs.format_rate(row["won"], row["games"]),
    "Black wins": lambda row: f"{row['lost'] / row['games']:.3f}",
    "neither": lambda row: f"{(row['drawn'] + row['truncated']) / row['games']:.3f}",
    "White wins, of decided games": lambda row: runs.format_rate(row["won"], row["won"] + row["lost"]),
    "White wins, or neither": lambda row: f"{1 - row['lost'] / row['games']:.3f}",
    "mean reward of White": "{mean_reward:.2f}",
    "(r + 60) / 120": lambda row: f"{runs.rate_from_reward(row['mean_reward']):.3f}",
    "plies": "{mean_length:.1f}",
}
QUICK: dict[str, Any] = {"games": 200}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/alpha_mini/random_games")
    games: int = 10_000
    """Games under each of the rules."""
    seed: int = 0


def report(arguments: Arguments) -> Report:
    results: dict[str, dict[str, Any]] = {}
    for name, text in progress_over(RULES.items(), unit="rules"):
        key = {"env": text, "num_games": arguments.games, "seed": arguments.seed}
        of_white = ("random", runs.WHITE, arguments.games, arguments.seed, jaxgames.make(text))
        results[name] = arguments.once(key, functools.partial(runs.play_random, *of_white))
    rows = [{"rules": name, **result} for name, result in results.items()]
    theirs = f"| the study | {THEIRS:.3f} |" + "  |" * (len(COLUMNS) - 2)
    return Report(results, f"{table_of(rows, COLUMNS)}\n{theirs}")


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
