"""Measures the levels of the games: a ladder of easy, medium and hard on each of BOARDS, with `random` as its anchor.

    python -m train.baselines levels

It writes `levels.json` beside the baseline agents, which `jaxgames.baselines.ratings` reads. A ladder that is finished
is not played again: `train.baselines.recorded_commands`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgames import baselines
from jaxgames import make as make_env
from jaxgames._files import write_whole
from jaxgames.baselines import cards, level_agents
from train.baselines.recorded_commands import RUNS, RecordedCommands
from train.baselines.tables import text_of_interval
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


def measure() -> dict[str, Any]:
    """Plays the ladders, and writes and returns the ratings. Raises ValueError for a ladder that fails."""
    records = RecordedCommands()
    result = {"boards": [measure_board(board, games, records) for board, games in BOARDS.items()]}
    write_whole(level_agents.FILE, json.dumps(result, indent=1) + "\n")
    return result


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
    checksum = hashlib.sha256(f"{board} {agents} {version_of_baseline(board)}".encode()).hexdigest()[:8]
    return f'train.ladder "{board}" {agents} --games {games} --output {RUNS}/levels_{checksum}'


def table(boards: Sequence[Mapping[str, Any]]) -> str:
    """Returns the ratings of the boards, in the order of BOARDS, as a table in Markdown."""
    rows: list[tuple[str, ...]] = []
    for name, board in zip(BOARDS, boards, strict=True):
        for number, (level, row) in enumerate(board["levels"].items()):
            shown = "" if number else f"`{name}`"
            rows.append((shown, level, f"`{row['agent']}`", f"{row['elo']:,.0f}", text_of_interval(row["interval"])))
    return markdown(("board", "level", "agent", "Elo", "95 % interval"), rows)
