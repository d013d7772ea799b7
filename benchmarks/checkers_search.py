"""Alpha-beta in checkers: the work of a move by depth, and what each part of the search saves.

    python -m benchmarks.checkers_search
    python -m benchmarks.checkers_search --depths 10 12 --positions 50

The positions are those with a choice of moves from games between searches of depth 2 after random openings.
Nodes are the positions that a search visits, seconds CPU time without compilation. "no table" searches without the
transposition table. The last column is the same move in plain Python, for depths of at most `plain_depth`.
"""

import random
import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from benchmarks import harness
from jaxgames.games.checkers import Checkers, CheckersState
from jaxgames.host import host
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import TABLE_SIZE
from jaxgames.solvers.checkers import player as checkers_player
from jaxgames.solvers.checkers.player import CheckersPlayer

OPENING_PLIES = 6  # at most
PLAIN_POSITIONS = 10
HEADER = ("depth", "table", "nodes per move", "nodes per second", "ms per move: mean", "p99", "max", "plain Python, ms")


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
    depths: tuple[int, ...] = (2, 4, 6, 8, 10)
    """Depths of the search."""
    positions: int = 200
    """Number of positions."""
    plain_depth: int = 4
    """Largest depth that is also timed in plain Python."""
    evaluation: str = "positional"
    """The evaluation of the player."""
    seed: int = 0
    """Seed of the positions."""


def main() -> None:
    """The command `python -m benchmarks.checkers_search`."""
    harness.run_command(
        "checkers_search", harness.parse_arguments("checkers_search", Arguments), measure_checkers_search
    )


def measure_checkers_search(arguments: Arguments) -> dict[str, Any]:
    """Measures all rows; the JSON is written after every row, so that a later failure loses nothing."""
    if not arguments.depths or arguments.positions < 1:
        raise ValueError("depths must not be empty, and positions must be at least 1")
    env = Checkers()
    boards = positions(env, arguments.positions, arguments.seed)
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, "compiled": HAS_NUMBA, **harness.stamp(), "numba": harness.package_version("numba")}
    progress = harness.Progress(2 * len(arguments.depths), "row")
    for depth in arguments.depths:
        for table_size in (TABLE_SIZE, 0):
            player = make_player(env, depth, arguments.evaluation, table_size, HAS_NUMBA)
            row = {"depth": depth, "table": table_size > 0, **measure(player, boards), "plain_milliseconds": None}
            if depth <= arguments.plain_depth:
                plain = make_player(env, depth, arguments.evaluation, table_size, compiled=False)
                row["plain_milliseconds"] = measure(plain, boards[:PLAIN_POSITIONS])["mean_milliseconds"]
            rows.append(row)
            harness.write_json("checkers_search", arguments, result)
            progress.finish(f"depth {depth}: {row['nodes']:,.0f} nodes and {row['mean_milliseconds']:.3g} ms per move")
    harness.log("\n" + harness.markdown_table(HEADER, [cells_of(row) for row in rows]))
    return result


def make_player(env: Checkers, depth: int, evaluation: str, table_size: int, compiled: bool) -> CheckersPlayer:
    """Returns a player of the depth, compiled or in plain Python."""
    return CheckersPlayer(env, depth, None, evaluation, table_size, compiled=compiled)


def positions(env: Checkers, number: int, seed: int) -> list[CheckersState]:
    """Returns positions of games between two searches of depth 2, in which the mover has a choice."""
    player, generator = checkers_player.make_player(env, depth=2), random.Random(seed)
    game, found = host(env), list[CheckersState]()
    while len(found) < number:
        state, info = game.init()
        opening, plies = generator.randrange(OPENING_PLIES + 1), 0
        while not info.over and len(found) < number:
            legal = np.flatnonzero(info.mask).tolist()
            if plies >= opening and len(legal) > 1:
                found.append(jax.device_get(state))
            action = generator.choice(legal) if plies < opening else player.choose(state, generator.randrange(2**32))
            (state, info), plies = game.step(state, action), plies + 1
    return found


def measure(player: CheckersPlayer, boards: list[CheckersState]) -> dict[str, float]:
    """Returns the mean nodes of a move, the nodes per second, and milliseconds of CPU time."""
    seconds: list[float] = []
    nodes = 0
    for board in boards:
        began = time.process_time()
        player.best_actions(board)
        seconds.append(time.process_time() - began)
        nodes += player.nodes
    milliseconds = 1000 * np.array(seconds)
    return {
        "nodes": nodes / len(boards),
        "nodes_per_second": nodes / sum(seconds),
        "mean_milliseconds": float(milliseconds.mean()),
        "p99_milliseconds": float(np.percentile(milliseconds, 99)),
        "max_milliseconds": float(milliseconds.max()),
    }


def cells_of(row: dict[str, Any]) -> list[str]:
    """Returns the cells of a row."""
    return [
        str(row["depth"]),
        "yes" if row["table"] else "no table",
        f"{row['nodes']:,.0f}",
        f"{row['nodes_per_second']:,.0f}",
        *(f"{row[f'{name}_milliseconds']:.3g}" for name in ("mean", "p99", "max")),
        "" if row["plain_milliseconds"] is None else f"{row['plain_milliseconds']:.3g}",
    ]


if __name__ == "__main__":
    main()
