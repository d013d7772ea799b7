"""Exact search in Dots and Boxes: the work that each improvement saves, as in Figures 2 and 3 of El Kaddouri et al.

    python -m benchmarks.boxes_search --picture docs/pictures/boxes_search.svg
    python -m benchmarks.boxes_search --boards 4x4 --minutes 30

Each row adds an improvement to those of the row before, from the plain recursion to all. Nodes are the positions that
were looked at, keys the entries of the table at the end, seconds CPU time without compilation. Searches of more nodes
than `max_nodes` are left out where a formula gives their nodes. For E edges, it is floor(E! e) without a table, and
1 + E 2^(E - 1) with one. Boards of more than 32 edges are searched with all improvements only, in two windows: (0, 1)
tells whether the first player wins, (-1, 0) whether it loses.

The last table says by how much each improvement divides the nodes on the largest board.
"""

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from benchmarks import harness
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from jaxgames.solvers.dots_and_boxes.exact import Options, Search

IMPROVEMENTS = ("table", "symmetries", "chains", "alphabeta", "centre_first", "corners")
NAIVE = "naive"
MAX_EDGES_OF_ALL_STEPS = 32  # larger boards are searched with all improvements
WINDOWS = ((0, 1), (-1, 0))
LARGE_TABLE_SIZE = 2**27  # 2 GiB
LOG_SECONDS = 30
HEADER = ("board", "improvements", "window", "value", "nodes", "keys", "seconds", "us per node", "plain Python")


class Point(NamedTuple):
    """One row of the table."""

    board: str
    step: str  # the improvement that this row adds
    window: tuple[int, int] | None


@dataclass(frozen=True)
class Arguments(harness.BenchmarkArguments):
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
    picture: Path | None = None
    """A file for the times and keys as curves, such as boxes_search.svg."""


def main() -> None:
    """The command `python -m benchmarks.boxes_search`."""
    arguments = harness.parse_arguments("boxes_search", Arguments)
    result = harness.run_command("boxes_search", arguments, measure_boxes_search)
    if arguments.picture is not None:
        harness.save_picture(draw(result["rows"]), arguments.picture)


def measure_boxes_search(arguments: Arguments) -> dict[str, Any]:
    """Measures all rows; the JSON is written after every row, so that a later failure loses nothing."""
    points = [point for board in arguments.boards for point in points_of(board)]
    check(arguments, points)
    progress = harness.Progress(len(points), "row")
    rows: list[dict[str, Any]] = []
    result = {"rows": rows, "compiled": HAS_NUMBA, **harness.stamp(), "numba": harness.package_version("numba")}
    for point in points:
        rows.append(measure_point(point, arguments))
        harness.write_json("boxes_search", arguments, result)
        progress.finish(f"{point.board}, {point.step}: {rows[-1]['nodes']:,} nodes, {rows[-1]['state']}")
    harness.log("\n" + table_of(rows))
    last = [row for row in rows if row["board"] == arguments.boards[-1] and row["window"] is None]
    if last:
        harness.log(f"\n{arguments.boards[-1]}: nodes divided by each improvement\n\n{factors_of(last)}")
    return result


def check(arguments: Arguments, points: list[Point]) -> None:
    """Raises ValueError for arguments that cannot be measured."""
    if not points or min(arguments.max_nodes, arguments.plain_nodes + 1, arguments.minutes) <= 0:
        raise ValueError("boards must not be empty, max_nodes and minutes must be positive, plain_nodes at least 0")
    for point in points:
        make_search(point, arguments, HAS_NUMBA)


def game_of(board: str) -> DotsAndBoxes:
    """Returns the game of a text such as "2x3"."""
    rows, _, cols = board.partition("x")
    if not (rows.isdecimal() and cols.isdecimal()):
        raise ValueError(f"boards must be texts such as 2x3, rows x columns of boxes, not {board!r}")
    return DotsAndBoxes(int(rows), int(cols))


def points_of(board: str) -> list[Point]:
    """Returns the rows of a board."""
    if game_of(board).num_edges > MAX_EDGES_OF_ALL_STEPS:
        return [Point(board, IMPROVEMENTS[-1], window) for window in WINDOWS]
    return [Point(board, step, None) for step in (NAIVE, *IMPROVEMENTS)]


def options_of(step: str) -> Options:
    """Returns the options with the improvements up to that of a step."""
    used = (NAIVE, *IMPROVEMENTS).index(step)
    return Options(**{name: number < used for number, name in enumerate(IMPROVEMENTS)})


def nodes_by_formula(step: str, num_edges: int) -> int | None:
    """Returns the nodes of the searches that look at every move, None for the others."""
    if step == NAIVE:
        return sum(math.perm(num_edges, drawn) for drawn in range(num_edges + 1))  # floor(num_edges! e)
    return 1 + num_edges * 2 ** (num_edges - 1) if step == IMPROVEMENTS[0] else None


def measure_point(point: Point, arguments: Arguments) -> dict[str, Any]:
    """Returns the row of a point."""
    row: dict[str, Any] = {**point._asdict(), "value": None, "keys": None, "seconds": None, "plain_seconds": None}
    formula = nodes_by_formula(point.step, game_of(point.board).num_edges)
    if formula is not None and formula > arguments.max_nodes:
        return {**row, "nodes": formula, "state": "by the formula, not run"}
    search = make_search(point, arguments, HAS_NUMBA)
    finished = run(search, arguments.minutes, point)
    found = search.result()
    row |= {"nodes": found.nodes, "keys": found.keys, "seconds": found.seconds}
    if not finished:
        return {**row, "state": f"stopped after {found.seconds:,.0f} s with {search.share():.1%} of the moves done"}
    if not HAS_NUMBA:
        row["plain_seconds"] = found.seconds
    elif found.nodes <= arguments.plain_nodes:
        plain = make_search(point, arguments, compiled=False)
        run(plain, arguments.minutes, point)
        row["plain_seconds"] = plain.result().seconds
    return {**row, "value": found.value, "state": f"{found.seconds:.2g} s"}


def make_search(point: Point, arguments: Arguments, compiled: bool) -> Search:
    """Returns the search of a point, compiled and not begun."""
    options = options_of(point.step)
    size = arguments.table_size or (LARGE_TABLE_SIZE if point.window else None)
    return Search(game_of(point.board), None, options, point.window, size if options.table else None, compiled=compiled)


def run(search: Search, minutes: float, point: Point) -> bool:
    """Runs a search for at most `minutes`, and logs it now and then; returns whether it finished."""
    logged = 0.0
    while not search.advance():
        if search.seconds - logged >= LOG_SECONDS:
            logged, found = search.seconds, search.result()
            harness.log(
                f"  {point.board}, {point.step}, {point.window or 'no window'}: {found.nodes:,} nodes, "
                f"{found.keys:,} keys, {found.seconds:,.0f} s, {search.share():.1%} of the moves"
            )
        if search.seconds > 60 * minutes:
            return False
    return True


# -- tables ------------------------------------------------------------------------------------------------------------


def table_of(rows: list[dict[str, Any]]) -> str:
    """Returns all rows as Markdown."""
    return harness.markdown_table(HEADER, [cells_of(row) for row in rows])


def cells_of(row: dict[str, Any]) -> list[str]:
    """Returns the cells of a row."""
    was_run = row["seconds"] is not None
    label = row["step"] if row["step"] == NAIVE else f"+ {row['step']}"
    return [
        row["board"].replace("x", " x "),
        "all" if row["window"] else label,
        str(row["window"] or ""),
        "" if row["value"] is None else f"{row['value']:+}",
        f"{row['nodes']:,}" if row["nodes"] < 1e12 else f"{row['nodes']:.2e}",
        f"{row['keys']:,}" if was_run else "",
        f"{row['seconds']:.2g}" if row["value"] is not None else row["state"],
        f"{1e6 * row['seconds'] / row['nodes']:.2f}" if was_run and row["nodes"] > 10_000 else "",
        "" if row["plain_seconds"] is None else f"{row['plain_seconds']:.2g}",
    ]


def factors_of(rows: list[dict[str, Any]]) -> str:
    """Returns, as Markdown, the factor by which each improvement divides the nodes, and whether it halves them."""
    lines: list[list[str]] = []
    for before, row in itertools.pairwise(rows):
        factor = before["nodes"] / row["nodes"]
        lines.append(
            [row["step"], f"{factor:.2f}" if factor < 1e6 else f"{factor:.1e}", "yes" if factor >= 2 else "no"]
        )
    return harness.markdown_table(("improvement", "nodes divided by", "at least halved"), lines)


def draw(rows: list[dict[str, Any]]) -> Figure:
    """Returns the times and the keys of all boards as curves, one for each row of improvements."""
    picture = Figure(figsize=(9, 3.8), layout="constrained", facecolor="white")
    panels: Any = picture.subplots(1, 2)
    members = [row for row in rows if row["window"] is None and row["seconds"] is not None]
    boards = list(dict.fromkeys(row["board"] for row in members))
    for axes, name, label in zip(panels, ("seconds", "keys"), ("seconds", "keys in the table"), strict=True):
        for number, step in enumerate((NAIVE, *IMPROVEMENTS)):
            line = [row for row in members if row["step"] == step and row[name]]
            if line:
                places = [boards.index(row["board"]) for row in line]
                text = step if step == NAIVE else f"+ {step}"
                axes.plot(places, [row[name] for row in line], color=f"C{number}", marker="o", ms=4, label=text)
        axes.set_yscale("log")
        axes.set_xticks(range(len(boards)), [board.replace("x", " x ") for board in boards])
        axes.set(xlabel="boxes", ylabel=label)
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].legend(fontsize=8, frameon=False)
    return picture


if __name__ == "__main__":
    main()
