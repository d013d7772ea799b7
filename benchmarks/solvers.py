"""The work of the solvers: exact search in Dots and Boxes by improvement, alpha-beta in checkers by depth.

    python -m benchmarks.solvers boxes --picture docs/pictures/boxes_search.svg
    python -m benchmarks.solvers boxes --boards 3x3 3x4 --winner
    python -m benchmarks.solvers boxes --boards 4x4 --minutes 30

measures the work that each improvement saves, as in Figures 2 and 3 of El Kaddouri et al. Each row has one improvement
more than the row before, from the plain recursion to all. Keys are the entries of the table at the end. Searches of
more nodes than `max_nodes` are left out where a formula gives their nodes. For E edges, it is floor(E! e) without a
table, and 1 + E 2^(E - 1) with one. `winner` searches in two windows, from alpha-beta on: (0, 1) tells whether the
first player wins, (-1, 0) whether it loses. Boards of more than 32 edges are searched so with all improvements only.
The last table says by how much each improvement divides the nodes on the largest board. The result has the tables of
the docs, with a row per improvement and a column per board: nodes, keys and seconds, with `winner` nodes.

    python -m benchmarks.solvers checkers --depths 10 12 --positions 50

measures a move with and without the transposition table. The positions are those with a choice of moves from games
between searches of depth 2 after random openings. The last column is the same move in plain Python, for depths of at
most `plain_depth`.

Nodes are the positions that a search visits, seconds CPU time without compilation.
"""

import itertools
import math
import random
import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from matplotlib.figure import Figure

from benchmarks import harness
from benchmarks.harness import Command
from jaxgames.games.checkers import Checkers, CheckersState
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.host import host
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.alphabeta.deepening import TABLE_SIZE
from jaxgames.solvers.checkers import player as checkers_player
from jaxgames.solvers.checkers.player import CheckersPlayer
from jaxgames.solvers.dots_and_boxes.exact import Options, Search
from train.driver.machine import commit, cpu_seconds, stamp
from train.driver.tables import markdown, tables_in

# -- Dots and Boxes ---------------------------------------------------------------------------------------

IMPROVEMENTS = (
    *("table", "symmetries", "chains", "alphabeta", "centre_first", "corners"),
    *("early_termination", "fewest_boxes_first", "openers"),
)
NAIVE = "naive"
STEPS = (NAIVE, *IMPROVEMENTS)
MAX_EDGES_OF_ALL_STEPS = 32  # larger boards are searched with all improvements
WINDOWS = ((0, 1), (-1, 0))
LARGE_TABLE_SIZE = 2**27  # 2 GiB
LOG_SECONDS = 30
BOXES_TABLE = {
    **{name: f"{{{name}}}" for name in ("board", "step", "window")},
    "value": "{value:+}",
    "nodes": "{nodes:,}",
    "keys": "{keys:,}",
    "seconds": "{state}",
    "us per node": "{microseconds:.2f}",
    "plain Python": "{plain_seconds:.2g}",
}
FACTORS_TABLE = {
    "improvement": "{step}",
    "nodes divided by": "{factor:,.2f}",
    "at least halved": "{halved}",
}


class Point(NamedTuple):
    """One row of the table."""

    board: str
    step: str  # the improvement that this row adds
    window: tuple[int, int] | None


@dataclass(frozen=True)
class BoxesArguments(harness.BenchmarkArguments):
    boards: tuple[str, ...] = ("1x2", "1x3", "2x2", "2x3", "3x3")
    """Boards, rows x columns of boxes, such as 2x3."""
    max_nodes: int = 2_000_000_000
    """Searches that need more nodes by a formula are left out."""
    plain_nodes: int = 300_000
    """Largest number of nodes of a search that is also timed in plain Python."""
    table_size: int | None = None
    """Entries of the table, a power of two; None for one per set of edges, at most 2^24, or 2^27 in windows."""
    minutes: float = 30
    """A search ends after this time, finished or not."""
    winner: bool = False
    """Searches who wins in place of the margin."""
    picture: Path | None = None
    """A file for the times and keys as curves, such as boxes_search.svg."""


def measure_boxes(arguments: BoxesArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "max_nodes", "minutes")
    if not arguments.boards or arguments.plain_nodes < 0:
        raise ValueError("boards must not be empty, and plain_nodes must be at least 0")
    points = [point for board in arguments.boards for point in points_of(board, arguments.winner)]
    for point in points:
        make_search(point, arguments, HAS_NUMBA)  # refused before anything is measured
    progress = harness.Progress(len(points))
    rows: list[dict[str, Any]] = []
    made = {"command": f"python -m benchmarks.solvers {shlex.join(sys.argv[1:])}", "commit": commit(), **stamp()}
    result = {**made, "rows": rows, "compiled": HAS_NUMBA, "numba": harness.package_version("numba")}
    for point in points:
        rows.append(measure_search(point, arguments))
        result["tables"] = tables_in("\n\n".join(tables_of(rows)[: 1 if arguments.winner else None]))
        result["cpu_seconds"] = round(cpu_seconds(), 1)
        harness.save(arguments, result)
        progress.finish(f"{point.board}, {point.step}: {rows[-1]['nodes']:,} nodes, {rows[-1]['state']}")
    harness.log(f"\n{harness.table(BOXES_TABLE, map(with_microseconds, rows))}")
    last = [row for row in rows if row["board"] == arguments.boards[-1] and row["window"] is None]
    harness.log(f"\n{arguments.boards[-1]}:\n\n{harness.table(FACTORS_TABLE, factors_of(last))}")
    return result


def game_of(board: str) -> DotsAndBoxes:
    rows, _, cols = board.partition("x")
    if not (rows.isdecimal() and cols.isdecimal()):
        raise ValueError(f"boards must be texts such as 2x3, rows x columns of boxes, not {board!r}")
    return DotsAndBoxes(int(rows), int(cols))


def points_of(board: str, winner: bool = False) -> list[Point]:
    if game_of(board).num_edges > MAX_EDGES_OF_ALL_STEPS:
        return [Point(board, IMPROVEMENTS[-1], window) for window in WINDOWS]
    if winner:
        steps = IMPROVEMENTS[IMPROVEMENTS.index("alphabeta") :]
        return [Point(board, step, window) for window in WINDOWS for step in steps]
    return [Point(board, step, None) for step in STEPS]


def nodes_by_formula(step: str, num_edges: int) -> int | None:
    """Returns the nodes of the searches that look at every move, None for the others."""
    if step == NAIVE:
        return sum(math.perm(num_edges, drawn) for drawn in range(num_edges + 1))  # floor(num_edges! e)
    return 1 + num_edges * 2 ** (num_edges - 1) if step == IMPROVEMENTS[0] else None


def measure_search(point: Point, arguments: BoxesArguments) -> dict[str, Any]:
    row: dict[str, Any] = {**point._asdict(), "value": None, "keys": None, "seconds": None, "plain_seconds": None}
    formula = nodes_by_formula(point.step, game_of(point.board).num_edges)
    if formula is not None and formula > arguments.max_nodes:
        return {**row, "nodes": formula, "state": "by the formula, not run"}
    search = make_search(point, arguments, HAS_NUMBA)
    finished = run(search, arguments.minutes, point)
    result = search.result()
    row |= {"nodes": result.nodes, "keys": result.keys, "seconds": result.seconds}
    if not finished:
        return {**row, "state": f"stopped after {result.seconds:,.0f} s with {search.share():.1%} of the moves done"}
    if not HAS_NUMBA:
        row["plain_seconds"] = result.seconds
    elif result.nodes <= arguments.plain_nodes:
        plain = make_search(point, arguments, compiled=False)
        run(plain, arguments.minutes, point)
        row["plain_seconds"] = plain.result().seconds
    return {**row, "value": result.value, "state": f"{result.seconds:.2g} s"}


def make_search(point: Point, arguments: BoxesArguments, compiled: bool) -> Search:
    """Returns the search of a point, with the improvements up to its own, compiled and not begun."""
    used = STEPS.index(point.step)
    options = Options(**{name: number < used for number, name in enumerate(IMPROVEMENTS)})
    size = arguments.table_size or (LARGE_TABLE_SIZE if point.window else None)
    return Search(game_of(point.board), None, options, point.window, size if options.table else None, compiled=compiled)


def run(search: Search, minutes: float, point: Point) -> bool:
    """Runs a search for at most `minutes`, and logs it now and then; returns whether it finished."""
    logged = 0.0
    while not search.advance():
        if search.seconds - logged >= LOG_SECONDS:
            logged, result = search.seconds, search.result()
            harness.log(
                f"  {point.board}, {point.step}, {point.window or 'no window'}: {result.nodes:,} nodes, "
                f"{result.keys:,} keys, {result.seconds:,.0f} s, {search.share():.1%} of the moves"
            )
        if search.seconds > 60 * minutes:
            return False
    return True


def tables_of(rows: list[dict[str, Any]]) -> list[str]:
    """Returns the nodes, keys and seconds in Markdown, with a row per improvement and a column per board and window."""
    columns = {f"{row['board']}, {row['window']}" if row["window"] else row["board"]: row for row in rows}
    found = {(row["step"], row["board"], row["window"]): row for row in rows}
    steps = [step for step in STEPS if any(row["step"] == step for row in rows)]
    made: list[str] = []
    for name, text in (
        ("nodes", short),
        ("keys", short),
        ("seconds", lambda seconds: f"{seconds:.2g}" if seconds < 100 else f"{seconds:.0f}"),
    ):
        lines: list[list[str]] = []
        for step in steps:
            cells = [found.get((step, of["board"], of["window"]), {}).get(name) for of in columns.values()]
            label = step if step == NAIVE else f"+ `{step}`"
            lines.append([label, *("" if cell is None else text(cell) for cell in cells)])
        made.append(markdown([name, *columns], lines))
    return made


def short(count: int) -> str:
    """Returns a count in digits, or a large one as a power of ten."""
    return f"{count:,}" if count < 10**12 else f"{count:.0e}"


def with_microseconds(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with the time of a node, where there are enough nodes for it."""
    if row["seconds"] is None or row["nodes"] <= 10_000:
        return row
    return row | {"microseconds": 1e6 * row["seconds"] / row["nodes"]}


def factors_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the factor by which each improvement divides the nodes, and whether it halves them."""
    factors = {row["step"]: before["nodes"] / row["nodes"] for before, row in itertools.pairwise(rows)}
    return [{"step": step, "factor": x, "halved": "yes" if x >= 2 else "no"} for step, x in factors.items()]


def draw_by_board(arguments: BoxesArguments, result: dict[str, Any]) -> Figure:
    """Returns the times and the keys of all boards as curves, one for each row of improvements."""
    picture, panels = harness.new_picture(9, 3.8, panels=2)
    rows = [row for row in result["rows"] if row["window"] is None and row["seconds"] is not None]
    boards = list(dict.fromkeys(row["board"] for row in rows))
    for axes, name, label in zip(panels, ("seconds", "keys"), ("seconds", "keys in the table"), strict=True):
        for number, step in enumerate(STEPS):
            line = [row for row in rows if row["step"] == step and row[name]]
            if line:
                places = [boards.index(row["board"]) for row in line]
                text = step if step == NAIVE else f"+ {step}"
                axes.plot(places, [row[name] for row in line], color=f"C{number}", marker="o", ms=4, label=text)
        axes.set_yscale("log")
        axes.set_xticks(range(len(boards)), [board.replace("x", " x ") for board in boards])
        axes.set(xlabel="boxes", ylabel=label)
    lines = panels[0].get_legend_handles_labels()
    panels[1].legend(*lines, ncols=2, fontsize=7, frameon=False, loc="upper left")
    return picture


# -- checkers ---------------------------------------------------------------------------------------------

OPENING_PLIES = 6  # at most
PLAIN_POSITIONS = 10
CHECKERS_TABLE = {
    "depth": "{depth}",
    "table": "{table}",
    "nodes per move": "{nodes:,.0f}",
    "nodes per second": "{nodes_per_second:,.0f}",
    "ms per move: mean": "{mean_milliseconds:.3g}",
    "p99": "{p99_milliseconds:.3g}",
    "max": "{max_milliseconds:.3g}",
    "plain Python, ms": "{plain_milliseconds:.3g}",
}


@dataclass(frozen=True)
class CheckersArguments(harness.BenchmarkArguments):
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


def measure_checkers(arguments: CheckersArguments) -> dict[str, Any]:
    harness.check_positive(arguments, "depths", "positions")
    env = Checkers()
    boards = positions(env, arguments.positions, arguments.seed)
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, "compiled": HAS_NUMBA, **stamp(), "numba": harness.package_version("numba")}
    progress = harness.Progress(2 * len(arguments.depths))
    for depth, size in itertools.product(arguments.depths, (TABLE_SIZE, 0)):
        player = CheckersPlayer(env, depth, None, arguments.evaluation, size, compiled=HAS_NUMBA)
        row = {"depth": depth, "table": size > 0, **measure_moves(player, boards), "plain_milliseconds": None}
        if depth <= arguments.plain_depth:
            plain = CheckersPlayer(env, depth, None, arguments.evaluation, size, compiled=False)
            row["plain_milliseconds"] = measure_moves(plain, boards[:PLAIN_POSITIONS])["mean_milliseconds"]
        rows.append(row)
        harness.save(arguments, result)
        progress.finish(f"depth {depth}: {row['nodes']:,.0f} nodes and {row['mean_milliseconds']:.3g} ms per move")
    harness.log(f"\n{harness.table(CHECKERS_TABLE, rows)}")
    return result


def positions(env: Checkers, number: int, seed: int) -> list[CheckersState]:
    """Returns positions of games between two searches of depth 2, in which the mover has a choice."""
    player, generator = checkers_player.make_player(env, depth=2), random.Random(seed)
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


def measure_moves(player: CheckersPlayer, boards: list[CheckersState]) -> dict[str, float]:
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
    Command("solvers boxes", BoxesArguments, measure_boxes, draw=draw_by_board),
    Command("solvers checkers", CheckersArguments, measure_checkers),
)

if __name__ == "__main__":
    harness.run(*COMMANDS)
