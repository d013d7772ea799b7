"""White's share of the games between two uniformly random players, under the rules of this project and of the study.

    python -m examples.papers.alpha_mini.random_games --output runs/papers/alpha_mini/random_games

The study reports 52.7 % for White, n = 10,000 (section 5.1.1). Each row changes one rule more, from the text's rules to
those of its program. Finished rows are not played again.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

import jaxgames
from examples.papers._experiment import Experiment, Report, ResultCache, command
from examples.papers.alpha_mini import games, runs
from jaxgames.agents import RandomAgent
from train.driver.commands import check_games
from train.driver.tables import markdown

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
HEADER = (
    "rules",
    "White wins, of all games",
    "Black wins",
    "neither",
    "White wins, of decided games",
    "White wins, or neither",
    "mean reward of White",
    "(r + 60) / 120",
    "plies",
)
QUICK: dict[str, Any] = {"games": 200}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/alpha_mini/random_games")
    """The folder of the results."""
    games: int = 10_000
    """Games under each of the rules."""
    seed: int = 0
    """Seed of the games."""


def report(arguments: Arguments) -> Report:
    """Returns the results of White between two random players by the names of the rules."""
    check_games(arguments.games, arguments.seed)
    cache = ResultCache(arguments.output / "cells.jsonl")
    results: dict[str, dict[str, Any]] = {}
    for name, text in tqdm(RULES.items(), unit=" rules", disable=None):
        key = {"env": text, "num_games": arguments.games, "seed": arguments.seed}
        results[name] = cache.once(key, functools.partial(play, text, arguments.games, arguments.seed))
    return Report(results, table(results))


def play(text: str, num_games: int, seed: int) -> dict[str, Any]:
    """Returns the results of White between two random players."""
    env = jaxgames.make(text)
    random = RandomAgent(env)
    return games.play(env, random, random, runs.WHITE, num_games, seed)


def table(results: Mapping[str, dict[str, Any]]) -> str:
    """Returns the Markdown table, with the study's figure in its last row."""
    rows: list[tuple[object, ...]] = []
    for name, row in results.items():
        decided, neither = row["won"] + row["lost"], row["drawn"] + row["truncated"]
        rows.append(
            (
                name,
                games.format_rate(row["won"], row["games"]),
                f"{row['lost'] / row['games']:.3f}",
                f"{neither / row['games']:.3f}",
                games.format_rate(row["won"], decided),
                f"{(row['won'] + neither) / row['games']:.3f}",
                f"{row['mean_reward']:.2f}",
                f"{games.rate_from_reward(row['mean_reward']):.3f}",
                f"{row['mean_length']:.1f}",
            )
        )
    return markdown(HEADER, [*rows, ("the study", f"{THEIRS:.3f}", *[""] * (len(HEADER) - 2))])


main = command(Arguments, QUICK, report)

if __name__ == "__main__":
    main()
