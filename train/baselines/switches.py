"""Plays an agent with a switch of its search against the same agent without: `python -m train.baselines.switches`.

The results of MATCHES are stored in docs/results/search_switches.json, from which `examples.papers.tables` makes a
table. A finished match is not played again: `train.baselines.recorded_commands`.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxgames
from jaxgames import agents, arena
from train.baselines.recipes import RUNS, joined
from train.baselines.recorded_commands import Record, RecordedCommands
from train.baselines.stored_results import RESULTS, provenance, stored_rows, write
from train.driver.commands import run_command, text_of_score
from train.driver.result_file import ResultFile
from train.driver.tables import markdown
from train.ladder.cost import cpu_milliseconds

NAME = "search_switches"
SCORE = ("games", "won", "drawn", "lost", "score", "Elo")  # the columns of a match
HEADER = ("game", "agent", "opponent", *SCORE, "CPU ms per move")
GAMES_OF_MATCH = 400
ROUNDS = 2  # of the measurement of the CPU time, in which the agents take turns


@dataclass(frozen=True)
class Match:
    """The games of `baseline` with a switch of its search against `baseline` without.

    The numbers of simulations are such that a move of both takes about the same CPU time.
    """

    switch: str
    env: str
    simulations: int
    without: int
    """Simulations of the opponent."""
    options: str = ""
    """Further arguments of `train.match`."""

    @property
    def agent(self) -> str:
        return f"baseline(simulations={self.simulations}, {self.switch}=True)"

    @property
    def opponent(self) -> str:
        return f"baseline(simulations={self.without})"

    @property
    def command(self) -> str:
        return match_command(self.agent, self.opponent, self.env, self.options)


def match_command(agent: str, opponent: str, env: str, options: str = "") -> str:
    """Returns the command of a match, without `python -m`. Each opening is played from both sides."""
    return joined(
        f'train.match "{agent}" "{opponent}" --env "{env}" --games {GAMES_OF_MATCH} --openings {GAMES_OF_MATCH // 2}',
        "--seating alternating",
        options,
    )


LONG_OPENINGS = "--opening-plies 20"  # in Dots and Boxes short ones leave each agent one game of every opening
MATCHES = (
    Match("proofs", "chinese_checkers_diamond", 64, 76),
    Match("proofs", "minichess(max_plies=128)", 32, 33),
    Match("proofs", "dots_and_boxes", 32, 30, LONG_OPENINGS),
    Match("proofs", "checkers(max_plies=150)", 16, 18),
)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    output: Path = RESULTS
    """The folder of the results."""


def play(arguments: Arguments) -> dict[str, Any]:
    """Plays the matches, writes their file, and returns the result that the command prints.

    Raises ValueError for a command that fails.
    """
    records = RecordedCommands(Path(RUNS) / "commands.jsonl")
    played = [(match, records.run(match.command)) for match in MATCHES]
    file = ResultFile(Path(RUNS) / "costs.jsonl", ("game", "agents"))
    rows = [row(match, record) | {"cpu_ms": costs(match, file)} for match, record in played]
    stored = {
        "commands": [row["command"] for row in rows],
        **provenance(record.cpu_seconds for _, record in played),
        "rows": rows,
    }
    write(arguments.output / f"{NAME}.json", stored)
    return stored


def row(match: Match, record: Record) -> dict[str, Any]:
    """Returns the result of a match from the result of its command."""
    return {
        "command": f"python -m {match.command}",
        "cpu_seconds": record.cpu_seconds,
        "game": match.env,
        "agent": match.agent,
        "opponent": match.opponent,
        **score_of(record.result),
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


def costs(match: Match, file: ResultFile) -> dict[str, float]:
    """Returns the CPU milliseconds of a move of both agents, from the file or measured now."""
    texts = (match.agent, match.opponent)
    return file.once({"game": match.env, "agents": texts}, functools.partial(measure, match.env, texts))


def measure(env: str, texts: Sequence[str]) -> dict[str, float]:
    """Returns the CPU milliseconds of a move of each agent. They take turns, so that they share the machine's state."""
    game = jaxgames.make(env)
    players = {text: agents.make(text, game) for text in texts}
    rounds = [{text: cpu_milliseconds(game, player) for text, player in players.items()} for _ in range(ROUNDS)]
    return {text: round(sum(each[text] for each in rounds) / ROUNDS, 3) for text in texts}


def table(path: Path) -> str:
    """Returns the table of a file of results, in Markdown. The last column has the agent, then the opponent.

    The interval is Wilson's, of the score: too wide where games are drawn.
    """
    return markdown(HEADER, map(_cells, stored_rows(path)))


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    milliseconds = " / ".join(f"{row['cpu_ms'][row[name]]:.2f}" for name in ("agent", "opponent"))
    texts = (f"`{row[name]}`" for name in ("game", "agent", "opponent"))
    return *texts, *score_cells(row), milliseconds


def score_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the cells of SCORE for a row with the results of `score_of`."""
    counts = (f"{row[name]:,}" for name in ("games", "wins", "draws", "losses"))
    score, games = row["score"], row["games"]
    low, high = map(_elo, arena.wilson(score * games, games))
    return *counts, text_of_score(score, games), f"{_elo(score):+.0f} ({low:+.0f} to {high:+.0f})"


def _elo(score: float) -> float:
    """Returns the difference of ratings that has this expected score."""
    return math.inf * (score - 0.5) if score in (0, 1) else 400 * math.log10(score / (1 - score))


main = functools.partial(run_command, "train.baselines.switches", Arguments, play)

if __name__ == "__main__":
    main()
