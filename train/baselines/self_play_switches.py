"""Trains AlphaZero with switches of its self-play for equal CPU time: `python -m train.baselines.self_play_switches`.

Each way of WAYS trains one network on each game of GAMES, from random parameters. Each pair of PAIRS plays a match. A
game is stored in docs/results/self_play_switches_NAME.json, and `examples.papers.tables` makes one table of all games.
A finished command is not run again: `train.baselines.recorded_commands`.
"""

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxgames import arena
from train.baselines.recipes import RUNS
from train.baselines.recorded_commands import RecordedCommands
from train.baselines.stored_results import NamedResults, provenance, store, stored_rows
from train.driver.commands import run_command, text_of_score
from train.driver.tables import markdown

SCORE = ("games", "won", "drawn", "lost", "score", "Elo")  # the columns of a match
HEADER = ("game", "self-play", "against", "steps of both", "CPU seconds of both", *SCORE)
WAYS = {
    "gumbel": "",
    "playout_caps": "--fast-searches 0.5 --fast-simulations 4",
    "growing": "--first-simulations 4",
    "puct": "--search puct --simulations 32",
    "forced_playouts": "--search puct --simulations 32 --forced-playouts 2",
}
"""Arguments of `train.alphazero`, which has the search gumbel and 16 simulations by default."""
PAIRS = (("playout_caps", "gumbel"), ("growing", "gumbel"), ("forced_playouts", "puct"))
SIMULATIONS = 16  # of both agents of a match
GAMES_OF_MATCH = 400


@dataclass(frozen=True)
class Game:
    """A game with the arguments of all its trainings."""

    env: str
    arguments: str
    steps: tuple[int, ...]
    """Environment steps of each way in the order of WAYS, such that all of them take about the same CPU time. They are
    from the time of four iterations with gumbel and of four with playout caps."""

    def training(self, name: str, way: str) -> str:
        """Returns the command of a training, without `python -m`."""
        arguments = " ".join(part for part in (self.arguments, WAYS[way]) if part)
        steps = dict(zip(WAYS, self.steps, strict=True))[way]
        return (
            f'train.alphazero --env "{self.env}" {arguments} --total-steps {steps} --evaluate-every 0 '
            f"--run-dir {_run(name, way)}"
        )

    def match(self, name: str, way: str, without: str) -> str:
        """Returns the command of a match between two ways."""
        agent, opponent = (f"{_run(name, each)}(simulations={SIMULATIONS})" for each in (way, without))
        return (
            f'train.match "{agent}" "{opponent}" --env "{self.env}" --games {GAMES_OF_MATCH} '
            f"--openings {GAMES_OF_MATCH // 2} --seating alternating"
        )


def _run(name: str, way: str) -> str:
    return f"{RUNS}/self_play_{name}_{way}"


GAMES = {
    "diamond_4_3": Game(
        "chinese_checkers_diamond(size=4, pieces=3)",
        "--slots 20 --hidden-sizes 256",
        (328_000, 418_000, 426_000, 213_000, 213_000),
    ),
    "boxes_3_3": Game(
        "dots_and_boxes(rows=3, cols=3, reward=margin)", "", (483_000, 631_000, 647_000, 295_000, 295_000)
    ),
    "minichess": Game("minichess", "--no-symmetries", (262_000, 369_000, 385_000, 147_000, 147_000)),
    "checkers": Game("checkers(max_plies=150)", "", (401_000, 541_000, 557_000, 238_000, 238_000)),
}


class Arguments(NamedResults):
    """The games, such as boxes_3_3."""


def result_of(name: str, game: Game, records: RecordedCommands) -> dict[str, Any]:
    """Returns the matches of a game, with the commands that made them, and where they ran."""
    texts = [game.training(name, way) for way in WAYS]
    trained = dict(zip(WAYS, map(records.run, texts), strict=True))
    matches = [game.match(name, *pair) for pair in PAIRS]
    played = [records.run(text) for text in matches]
    return {
        "env": game.env,
        "commands": [f"python -m {text}" for text in texts + matches],
        **provenance(record.cpu_seconds for record in (*trained.values(), *played)),
        "seed": 0,
        "rows": [
            {
                "game": game.env,
                "ways": pair,
                "steps": [trained[way].result["steps"] for way in pair],
                "cpu_seconds": [trained[way].cpu_seconds for way in pair],
                **score_of(match.result),
            }
            for pair, match in zip(PAIRS, played, strict=True)
        ],
    }


def score_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the games of `train.match` from the side of its first agent. A draw is half a point of the score."""
    wins, losses = (agent["wins"] for agent in result["agents"])
    games = result["games"]
    draws = games - wins - losses
    return {
        "games": games,
        "wins": wins,
        "draws": draws,
        "losses": losses,
        "score": (wins + draws / 2) / games,
    }


def table(paths: Iterable[Path]) -> str:
    """Returns the table of files of results, in Markdown."""
    rows = [row for path in paths for row in stored_rows(path)]
    return markdown(HEADER, map(_cells, rows))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    ways = (way.replace("_", " ") for way in row["ways"])
    steps = " / ".join(f"{each:,}" for each in row["steps"])
    seconds = " / ".join(f"{each:,.0f}" for each in row["cpu_seconds"])
    return f"`{row['game']}`", *ways, steps, seconds, *score_cells(row)


def score_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the cells of SCORE for a row with the results of `score_of`."""
    counts = (f"{row[name]:,}" for name in ("games", "wins", "draws", "losses"))
    score, games = row["score"], row["games"]
    low, high = map(_elo, arena.wilson(score * games, games))
    return *counts, text_of_score(score, games), f"{_elo(score):+.0f} ({low:+.0f} to {high:+.0f})"


def _elo(score: float) -> float:
    """Returns the difference of ratings that has this expected score."""
    return math.inf * (score - 0.5) if score in (0, 1) else 400 * math.log10(score / (1 - score))


play = functools.partial(store, "self_play_switches", GAMES, result_of)
main = functools.partial(run_command, "train.baselines.self_play_switches", Arguments, play)

if __name__ == "__main__":
    main()
