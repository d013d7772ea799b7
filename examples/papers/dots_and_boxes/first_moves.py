"""Values of boards of Dots and Boxes and of all first moves.

    python -m examples.papers.dots_and_boxes.first_moves
    python -m examples.papers.dots_and_boxes.first_moves --boards 2x2 3x3 --edges-of 3x3

Each value is exact: the margin of the first player in boxes. Searches with windows of one value, (g - 1, g + 1), begin
at g = 0 or 1 and follow the bounds that they find. The first moves of a board are searched after it with the table that
it left. Of edges that a symmetry of the board maps to each other, one is searched.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.papers._experiment import Column, Experiment, Report, run_experiment, table_of
from examples.papers.dots_and_boxes.board_sizes import board_of
from jaxgames import State
from jaxgames._progress import Progress
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import DEFAULT_TABLE_SIZE, ExactSearch
from jaxgames.games.dots_and_boxes.search_moves import canonical_key, is_first_open, make_board, make_position

# wilson.engr.wisc.edu/boxes/results.shtml, where all first moves of a board have its value
WILSON = {"3x3": "-3 (Wilson)", "3x5": "-1 (Wilson)", "4x4": "0 (Wilson)"}
LARGE_TABLE = 2**27  # entries of 16 bytes, of a board with more than 32 edges
WORK: dict[str, Column] = {"nodes": "{nodes:,}", "CPU seconds": "{seconds:,.2g}"}
BOARDS: dict[str, Column] = {
    "boxes": "{board}",
    "edges": "{edges}",
    "margin of the first player": "{value:+}",
    "published": lambda row: WILSON.get(row["board"], "-"),
    **WORK,
    "keys": "{keys:,}",
}
EDGES: dict[str, Column] = {
    "boxes": "{board}",
    "first edge": "`{edge}`",
    "edges alike": "{alike}",
    "margin of the first player": "{value:+}",
    "published": lambda row: WILSON.get(row["board"], "-"),
    "worse than the best": "{loss}",
    **WORK,
}
QUICK: dict[str, Any] = {"boards": ("2x2", "2x3", "2x4"), "edges_of": ("2x2", "2x3")}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/dots_and_boxes/first_moves")
    boards: tuple[str, ...] = ("2x2", "2x3", "2x4", "3x3", "2x5", "3x4", "3x5", "4x4")
    """Boards, rows x columns of boxes."""
    edges_of: tuple[str, ...] = ("2x2", "2x3", "3x3", "3x4", "3x5", "4x4")
    """Boards of which the first moves are searched, too."""


def report(arguments: Arguments) -> Report:
    envs: dict[str, Any] = {name: board_of(name) for name in arguments.boards}
    boards: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    with Progress(total=len(envs), unit="boards") as bar:
        for name, env in sorted(envs.items(), key=lambda item: item[1].num_actions):
            bar.describe(name)
            first, *others = search_board(arguments, name, env, bar)
            boards.append({"board": name, "edges": env.num_actions, **first})
            edges += [{"board": name, "loss": first["value"] - other["value"], **other} for other in others]
            bar.update()
    tables = [table_of(rows, columns) for rows, columns in ((boards, BOARDS), (edges, EDGES)) if rows]
    return Report({"boards": boards, "edges": edges}, "\n\n".join(tables))


def search_board(arguments: Arguments, name: str, env: DotsAndBoxes, bar: Any) -> Iterator[dict[str, Any]]:
    """Yields the result of the start, and of each class of first edges if the board is among `edges_of`."""
    size = min(2**env.num_actions, LARGE_TABLE if env.num_actions > 32 else DEFAULT_TABLE_SIZE)
    search = functools.cache(lambda: ExactSearch(env, table_size=size))  # not made if all results are stored
    start = env.init()
    key = {"board": name, "table_size": size}
    result = arguments.once({**key, "edge": None}, lambda: value_by_windows(search(), start, env.num_boxes % 2))
    yield result
    if name not in arguments.edges_of:
        return
    guess = -result["value"]
    for edge, alike in edge_classes(env):
        text = env.action_to_string(start, edge)
        bar.describe(f"{name}, {text}")
        state = env.step(start, edge)
        compute = functools.partial(lambda *of: value_by_windows(search(), *of), state, guess)
        found = arguments.once({**key, "edge": text}, compute)
        guess = found["value"]
        yield {**found, "edge": text, "alike": alike, "value": -found["value"]}


def value_by_windows(search: ExactSearch, state: State, guess: int) -> dict[str, Any]:
    """Returns the value of a state for its mover, by windows around guesses, and the work."""
    nodes, seconds = 0, 0.0
    while True:
        found = search.search(state, (guess - 1, guess + 1))
        nodes, seconds = nodes + found.nodes, seconds + found.seconds
        if found.value == guess:
            return {"value": guess, "nodes": nodes, "seconds": seconds, "keys": found.keys}
        guess = found.value


def edge_classes(env: DotsAndBoxes) -> list[tuple[int, int]]:
    """Returns the first edge of each class that symmetries or a corner make equal, and the size of the class."""
    board = make_board(env.rows, env.cols, compiled=False)
    classes: dict[int, list[int]] = {}
    empty = make_position(board)
    for edge in range(env.num_actions):
        first = edge if is_first_open(board, empty, edge) else board.before[edge]
        classes.setdefault(canonical_key(make_position(board, [first])), []).append(edge)
    return [(edges[0], len(edges)) for edges in classes.values()]


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
