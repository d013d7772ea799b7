"""The work of the solvers: exact search in Dots and Boxes by board, alpha-beta in checkers by depth.

    python -m benchmarks.solvers boxes
    python -m benchmarks.solvers boxes --boards 3x3 3x4 --winner

measures the search for the value of the start. `winner` searches in two windows: (0, 1) tells whether the first player
wins, (-1, 0) whether it loses.

    python -m benchmarks.solvers checkers --depths 10 12 --positions 50

measures a move with and without the transposition table. The positions are those with a choice of moves from games
between searches of depth 2 after random openings.

Nodes are the positions that a search visits, seconds CPU time without compilation.
"""

import itertools
import random
import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from benchmarks import harness
from benchmarks.harness import Command
from jaxgames.games.checkers import Checkers, CheckersState
from jaxgames.games.checkers.search import SEARCHED_GAME, make_player
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from jaxgames.host import host
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import TABLE_SIZE, HostSearchPlayer
from train.driver.commands import progress_over, stamp
from train.driver.tables import table_of

# -- Dots and Boxes ---------------------------------------------------------------------------------------

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


# -- checkers ---------------------------------------------------------------------------------------------

OPENING_PLIES = 6  # at most
CHECKERS_TABLE = {
    "depth": "{depth}",
    "table": "{table}",
    "nodes per move": "{nodes:,.0f}",
    "nodes per second": "{nodes_per_second:,.0f}",
    "ms per move: mean": "{mean_milliseconds:.3g}",
    "p99": "{p99_milliseconds:.3g}",
    "max": "{max_milliseconds:.3g}",
}


@dataclass(frozen=True)
class CheckersArguments(harness.BenchmarkArguments):
    depths: tuple[int, ...] = (2, 4, 6, 8, 10)
    """Depths of the search."""
    positions: int = 200
    """Number of positions."""
    seed: int = 0
    """Seed of the positions."""


def measure_checkers(arguments: CheckersArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "depths", "positions")
    env = Checkers()
    boards = positions(env, arguments.positions, arguments.seed)
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, "compiled": HAS_NUMBA, **stamp(), "numba": harness.package_version("numba")}
    for depth, size in progress_over(itertools.product(arguments.depths, (TABLE_SIZE, 0)), "searches"):
        player = HostSearchPlayer(SEARCHED_GAME, env, depth, None, "positional", size, compiled=HAS_NUMBA)
        rows.append({"depth": depth, "table": size > 0, **measure_moves(player, boards)})
        harness.save(arguments, result)
    harness.log(table_of(rows, CHECKERS_TABLE))
    return result


def positions(env: Checkers, number: int, seed: int) -> list[CheckersState]:
    """Returns positions of games between two searches of depth 2, in which the mover has a choice."""
    player, generator = make_player(env, depth=2), random.Random(seed)
    game, states = host(env), list[CheckersState]()
    while len(states) < number:
        state, info = game.init()
        opening, plies = generator.randrange(OPENING_PLIES + 1), 0
        while not info.over and len(states) < number:
            legal = np.flatnonzero(info.mask).tolist()
            if plies >= opening and len(legal) > 1:
                states.append(jax.device_get(state))
            action = generator.choice(legal) if plies < opening else player.choose(state, generator.randrange(2**32))
            (state, info), plies = game.step(state, action), plies + 1
    return states


def measure_moves(player: HostSearchPlayer, boards: list[CheckersState]) -> dict[str, float]:
    """Returns the mean nodes of a move, the nodes per second, and milliseconds of CPU time."""
    seconds: list[float] = []
    nodes = 0
    for board in boards:
        start = time.process_time()
        player.best_actions(board)
        seconds.append(time.process_time() - start)
        nodes += player.nodes
    milliseconds = 1000 * np.array(seconds)
    return {
        "nodes": nodes / len(boards),
        "nodes_per_second": nodes / sum(seconds),
        "mean_milliseconds": float(milliseconds.mean()),
        "p99_milliseconds": float(np.percentile(milliseconds, 99)),
        "max_milliseconds": float(milliseconds.max()),
    }


COMMANDS = (
    Command("solvers boxes", BoxesArguments, measure_boxes),
    Command("solvers checkers", CheckersArguments, measure_checkers),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
