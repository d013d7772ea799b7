"""Measures the levels of the games: a ladder of easy, medium and hard on each of BOARDS, with `random` as its anchor.

    python -m train.baselines.levels
    python -m train.baselines.levels checkers "dots_and_boxes(rows=4, cols=4)"

It writes `levels.json` beside the baseline agents, which `jaxgames.baselines.ratings` reads. A ladder that is finished
is not played again: `train.baselines.recorded_commands`. Boards that are not named keep their ratings.
"""

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from jaxgames import baselines
from jaxgames import make as make_env
from jaxgames._checks import check_choice
from jaxgames._files import write_whole
from jaxgames.baselines import cards, level_agents
from train.baselines.recipes import CHECKSUM_DIGITS, RUNS
from train.baselines.recorded_commands import RecordedCommands
from train.baselines.tables import text_of_interval
from train.driver.commands import run_command
from train.driver.tables import markdown

BOARDS = {
    "checkers": 100,
    "minichess": 40,
    "dots_and_boxes(rows=4, cols=4)": 100,
    "dots_and_boxes": 100,
    "chinese_checkers_diamond": 40,
    "chinese_checkers_diamond(size=5, pieces=6)": 40,
    "chinese_checkers(size=2)": 40,
    "chinese_checkers(size=3)": 40,
    "chinese_checkers": 40,
}
"""The boards that are measured, each with the games of every pair."""
HEADER = ("board", "level", "agent", "Elo", "95 % interval")


@dataclass(frozen=True, kw_only=True)
class Arguments:
    boards: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """The boards, such as checkers; none for all."""
    output: Path = level_agents.FILE
    """The file of the ratings."""


def measure(arguments: Arguments) -> dict[str, Any]:
    """Plays the ladders, writes the file, prints the table, and returns the result that the command prints.

    Raises ValueError for a board that is not one of BOARDS, and for a ladder that fails.
    """
    for board in arguments.boards:
        check_choice("board", board, tuple(BOARDS))
    records = RecordedCommands(Path(RUNS) / "commands.jsonl")
    boards = stored(arguments.output)
    for board in arguments.boards or BOARDS:
        measured = measure_board(board, BOARDS[board], records)
        boards[measured["env"]] = measured
        ordered = [boards[env] for env in (str(make_env(each)) for each in BOARDS) if env in boards]
        write_whole(arguments.output, json.dumps({"boards": ordered}, indent=1) + "\n")
    print(table(boards))
    return {"boards": list(boards.values())}


def measure_board(board: str, games: int, records: RecordedCommands) -> dict[str, Any]:
    """Returns the ratings of the levels of a board, and the command that measured them."""
    env = make_env(board)
    levels = baselines.levels(env)
    text = ladder_command(board, levels, games)
    rows = {row["agent"]: row for row in records.run(text, version_of_baseline(board)).result["agents"]}
    rated = {
        name: {"agent": agent, "elo": rows[agent]["elo"], "interval": rows[agent]["elo_interval"]}
        for name, agent in levels.items()
    }
    return {"env": str(env), "games": games, "levels": rated, "command": text}


def version_of_baseline(board: str) -> str:
    """Returns the checksum of the file with which `baseline` plays a board; "" if the board has none."""
    baseline = cards.find(make_env(board))
    return "" if baseline is None else cards.card(baseline).sha256


def ladder_command(board: str, levels: Mapping[str, str], games: int) -> str:
    """Returns the command of the ladder of a board, whose folder belongs to its levels and the file of `baseline`."""
    agents = " ".join(f'"{agent}"' for agent in levels.values())
    checksum = hashlib.sha256(f"{board} {agents} {version_of_baseline(board)}".encode()).hexdigest()[:CHECKSUM_DIGITS]
    return f'train.ladder "{board}" {agents} --games {games} --output {RUNS}/levels_{checksum}'


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """Returns the boards of a file by their games; empty if it is not there."""
    boards = json.loads(path.read_text(encoding="utf-8"))["boards"] if path.exists() else []
    return {board["env"]: board for board in boards}


def table(boards: Mapping[str, Mapping[str, Any]]) -> str:
    """Returns the ratings of boards as a table in Markdown."""
    rows: list[tuple[str, ...]] = []
    for board in BOARDS:
        of_board = boards.get(str(make_env(board)), {"levels": {}})["levels"]
        for number, (name, row) in enumerate(of_board.items()):
            shown = "" if number else f"`{board}`"
            rows.append((shown, name, f"`{row['agent']}`", f"{row['elo']:,.0f}", text_of_interval(row["interval"])))
    return markdown(HEADER, rows)


main = functools.partial(run_command, "train.baselines.levels", Arguments, measure)

if __name__ == "__main__":
    main()
