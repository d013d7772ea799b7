"""Annotates a recorded game: what every move lost, what an agent thinks of it, and where the game leaves a database.

    python -m train.analyse game.pdn --agent runs/imitation --data pairs.npz --output game.json
    python -m train.analyse games.jsonl --agent runs/first

It prints a table with a row per turn.
Values are for seat 0, in checkers Black. The last line on standard output is JSON: the games with a summary of every
seat, and the games that cannot be read. The file of `--output` has all turns.
"""

import dataclasses
import functools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxgames import make
from jaxgames._checks import check_int, check_number
from jaxgames._files import check_output
from jaxgames._progress import Progress
from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.pdn import BrokenGame
from jaxgames.solvers.alphabeta.table import MAX_DEPTH
from train import agents
from train.analyse.annotation import DECIDED, Database, RecordedGame, Turn, annotate, first_unknown, read_games, summary
from train.data import positions
from train.driver.commands import run_command
from train.driver.metrics import rounded
from train.driver.tables import markdown


@dataclass(frozen=True, kw_only=True)
class Arguments:
    file: Annotated[Path, tyro.conf.Positional]
    """A .pdn file with games of checkers, or a .jsonl file of train.match."""
    game: int | None = None
    """The number of the game in the file, from 1. If not given, all of them."""
    env: str | None = None
    """The game, as `jaxgames.make` takes it. If not given, the game of the run, or checkers."""
    agent: str | None = None
    """An agent with probabilities: a run, such as runs/imitation, or another one, such as "exported(first.policy)". A
    run without a temperature in brackets has its policy as it was learned."""
    data: Path | None = None
    """A file of positions, such as pairs.npz of train.data: the database."""
    depth: int = 8
    """The turns that alpha-beta looks ahead, in checkers; 0 for no alpha-beta."""
    blunder: float = 0.5
    """A move that loses more men than this is a blunder."""
    output: Path | None = None
    """A file for the annotation as JSON, with all turns. It is replaced if it exists."""


def analyse(arguments: Arguments) -> dict[str, Any]:
    """Prints the tables, writes the files, and returns the result that the command prints."""
    check_int("depth", arguments.depth, 0, MAX_DEPTH)
    check_number("blunder", arguments.blunder, highest=DECIDED)
    if arguments.output is not None:
        check_output(arguments.output)
    env_text, of_agent = arguments.env, arguments.agent
    env = make(env_text) if env_text is not None else None if of_agent is None else agents.env_of(of_agent)
    games, broken = _chosen(arguments, read_games(arguments.file, env))
    env = games[0].env
    depth = arguments.depth if isinstance(env, Checkers) and arguments.depth else None
    agent = None
    if of_agent is not None:
        agent = agents.make(agents.with_temperature(of_agent, 1.0), env)
    database = None if arguments.data is None else Database.of(positions.load(arguments.data, env))
    if depth is None and agent is None and database is None:
        raise ValueError("there is nothing to annotate by: add --agent or --data, or for checkers --depth 8")
    annotated: list[dict[str, Any]] = []
    with Progress(sum(len(game.moves) for game in games), "turns", shown=depth is not None) as bar:
        for game in games:
            turns = annotate(game, depth, arguments.blunder, agent, database, bar.update)
            print(table(game, turns))
            unknown = first_unknown(turns) if database is not None else None
            annotated.append(
                {"game": game.number, "title": game.title, "result": game.result}
                | {"first_unknown": None if unknown is None else unknown.number}
                | {"seats": [summary(turns, seat) for seat in range(env.num_players)]}
                | {"turns": [dataclasses.asdict(turn) for turn in turns]}
            )
    result: dict[str, Any] = {"file": str(arguments.file), "env": str(env), "depth": depth, "agent": of_agent}
    result |= {"data": None if arguments.data is None else str(arguments.data), "blunder": arguments.blunder}
    if database is not None and len(games) > 1:
        result["departures"] = departures(annotated)
    result |= {"games": annotated, "broken": broken}
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(rounded(result), indent=1) + "\n")
    short = [{name: value for name, value in game.items() if name != "turns"} for game in annotated]
    return rounded(result | {"games": short})


def _chosen(
    arguments: Arguments, games: Sequence[RecordedGame | BrokenGame]
) -> tuple[list[RecordedGame], list[dict[str, Any]]]:
    """Returns the games to annotate, and those that cannot be read as JSON; these are also on standard error."""
    if arguments.game is not None:
        check_int("game", arguments.game, 1, max(1, len(games)))
    numbered = [(number, game) for number, game in enumerate(games, 1) if arguments.game in (None, number)]
    broken = [
        {"game": number, "line": game.line, "reason": game.reason}
        for number, game in numbered
        if isinstance(game, BrokenGame)
    ]
    messages = [f"{arguments.file}, line {game['line']}: {game['reason']}" for game in broken]
    readable = [game for _, game in numbered if not isinstance(game, BrokenGame) and game.moves]
    if not readable:
        raise ValueError(messages[0] if messages else f"{arguments.file} has no game with moves")
    for message in messages:
        print(message, file=sys.stderr)
    return readable, broken


def departures(games: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns how many of the annotated games leave the database, and with which turns: mean, least and most.

    The turns are None if no game leaves it.
    """
    turns = [game["first_unknown"] for game in games if game["first_unknown"] is not None]
    counts: dict[str, Any] = {"games": len(games), "left": len(turns)}
    mean = sum(turns) / len(turns) if turns else None
    return counts | {"mean_turn": mean, "least_turn": min(turns, default=None), "most_turn": max(turns, default=None)}


# -- text ----------------------------------------------------------------------------------------------------------


def _men(value: float | None) -> str:
    """Returns a value in men; a decided one is a win or a loss of seat 0."""
    assert value is not None
    return f"{value:+.2f}" if abs(value) < DECIDED else "win" if value > 0 else "loss"


def cells(turn: Turn) -> dict[str, object]:
    """Returns the row of a turn by the heads of its columns, without the columns of what is not known."""
    row: dict[str, object] = {"turn": turn.number, "move": turn.move}
    if turn.lost is not None:
        row |= {"best": turn.best, "before": _men(turn.before), "after": _men(turn.after)}
        row["lost"] = f"{turn.lost:.2f}{'??' * turn.blunder}"
    if turn.rank is not None:
        row |= {"prob": f"{turn.probability:.3f}", "rank": f"{turn.rank}/{turn.legal}", "top": turn.favourite}
        row["value"] = "-" if turn.agent_value is None else f"{turn.agent_value:+.2f}"
    return row if turn.played is None else row | {"data": turn.played}


def table(game: RecordedGame, turns: Sequence[Turn]) -> str:
    """Returns the annotation of a game as text: a row per turn, a line per seat, and one for the database."""
    rows = [cells(turn) for turn in turns]
    lines = [f"{game.title}, {game.result}", markdown([*rows[0]], [[*row.values()] for row in rows], padded=True)]
    for seat in range(game.env.num_players):
        numbers = summary(turns, seat)
        parts = [f"{game.seat_name(seat)}: {numbers['turns']} turns"]
        if "lost" in numbers:
            parts.append(f"{numbers['lost']:.2f} men lost a turn, {len(numbers['blunders'])} blunders")
        if "top_1" in numbers:
            parts.append(f"top-1 {numbers['top_1']:.2f}, top-3 {numbers['top_3']:.2f}")
        lines.append("; ".join(parts))
    if "data" in rows[0]:
        unknown = first_unknown(turns)
        where = "none" if unknown is None else f"turn {unknown.number}, {unknown.move}"
        lines.append(f"first move out of the database: {where}")
    return "\n".join([*lines, ""])


main = functools.partial(run_command, "train.analyse", Arguments, analyse)

if __name__ == "__main__":
    main()
