"""The work of the exact search in Dots and Boxes for the value of the start, by board.

    python -m benchmarks.solvers boxes
    python -m benchmarks.solvers boxes --boards 3x3 3x4 --winner

`winner` searches in two windows: (0, 1) tells whether the first player wins, (-1, 0) whether it loses. Nodes are the
positions that a search visits, seconds CPU time without compilation.
"""

from dataclasses import dataclass
from typing import Any

from benchmarks import harness
from benchmarks.harness import Command
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

WINDOWS = ((0, 1), (-1, 0))
BOXES_TABLE = {
    **{name: f"{{{name}}}" for name in ("board", "window")},
    "value": "{value:+}",
    "nodes": "{nodes:,}",
    "keys": "{keys:,}",
    "seconds": "{seconds:.2g}",
    "us per node": "{microseconds:.2f}",
}


@dataclass(frozen=True)
class BoxesArguments(harness.BenchmarkArguments):
    boards: tuple[str, ...] = ("2x2", "2x3", "3x3", "3x4")
    """Boards, rows x columns of boxes, such as 2x3."""
    table_size: int | None = None
    """Entries of the table, a power of two; None for the search's own number."""
    winner: bool = False
    """Searches who wins, in two windows, in place of the margin."""


def measure_boxes(arguments: BoxesArguments) -> dict[str, Any]:
    if not arguments.boards:
        raise ValueError("boards must not be empty")
    windows = WINDOWS if arguments.winner else (None,)
    points = [(board, game_of(board), window) for board in arguments.boards for window in windows]
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, "compiled": HAS_NUMBA, **stamp(), "numba": harness.package_version("numba")}
    for board, game, window in progress_over(points, "searches"):
        found = ExactSearch(game, arguments.table_size).search(None, window, progress=True)
        microseconds = 1e6 * found.seconds / found.nodes
        rows.append({"board": board, "window": window, **found._asdict(), "microseconds": microseconds})
        harness.save(arguments, result)
    harness.log(table_of(rows, BOXES_TABLE))
    return result


def game_of(board: str) -> DotsAndBoxes:
    rows, _, cols = board.partition("x")
    if not (rows.isdecimal() and cols.isdecimal()):
        raise ValueError(f"boards must be texts such as 2x3, rows x columns of boxes, not {board!r}")
    return DotsAndBoxes(int(rows), int(cols))


COMMANDS = (Command("solvers boxes", BoxesArguments, measure_boxes),)

if __name__ == "__main__":
    harness.run(*COMMANDS)
