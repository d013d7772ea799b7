"""The depth of the study's agent in Dots and Boxes: which hand-outs it finds.

    python -m examples.papers.dots_and_boxes.depths

El Kaddouri, Rys and Gao 2024 search to depth 9, "the minimum amount of moves needed in order to find out if a double
hard-hearted handout was a good choice" (section 5.1).

The table has positions without a safe edge in which the mover can take the last boxes of an opened chain or leave
them, and only one of the two is best by the exact search: two boxes of a half-open chain, or four of a closed one (the
double hand-out). They are from games in which all choices are random, on a board of `board` boxes. A cell is the share
of the positions in which the agent finds the best move, with a million nodes per move, so that its depth limits it.
"""

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from examples.papers._experiment import Column, Experiment, Report, progress_over, run_experiment, table_of
from examples.papers.dots_and_boxes.study_agent import player_of
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes import search_moves as boxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from train.driver.metrics import rounded

KINDS = ("2 boxes, leave", "2 boxes, take", "4 boxes, leave", "4 boxes, take")
TABLE_SIZE = 2**16  # of the exact search
MILLISECONDS = 25_000  # a million nodes


def share_of(row: Mapping[str, Any], kind: str) -> str:
    return f"{row['shares'][kind]:.2f}" if kind in row["shares"] else "-"


HANDOUTS: dict[str, Column] = {
    "depth": "{depth}",
    **{f"{kind} ({{number}})": lambda row, kind=kind: share_of(row, kind) for kind in KINDS},
    "nodes per move": "{nodes:,.0f}",
    "above 8,000 nodes": "{above:.2f}",
}
QUICK: dict[str, Any] = {"board": (2, 3), "positions": 2, "depths": (1, 3)}


@dataclass(frozen=True)
class Arguments(Experiment):
    output: Path = Path("runs/papers/dots_and_boxes/depths")
    board: tuple[int, int] = (5, 5)
    """Rows and columns of boxes."""
    positions: int = 100
    """Positions of each of the four kinds."""
    depths: tuple[int, ...] = (1, 3, 5, 7, 8, 9, 10, 11, 13)
    """Depths of the study's agent."""
    seed: int = 0


class Handout(NamedTuple):
    """A position with a choice to take or to leave the last boxes of a chain."""

    kind: str
    state: Any
    best: int


def report(arguments: Arguments) -> Report:
    env = DotsAndBoxes(*arguments.board)
    handouts = functools.cache(lambda: find_handouts(env, arguments))
    rows: list[dict[str, Any]] = []
    for depth in progress_over(arguments.depths, unit="depths"):
        key = {"env": str(env), "seed": arguments.seed, "depth": depth, "positions": arguments.positions}
        rows.append({"depth": depth, **arguments.once(key, lambda depth=depth: try_depth(env, depth, handouts()))})
    return Report({"env": str(env), "handouts": rows}, table(rows))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the Markdown table: a row per depth."""
    numbers = rows[0]["numbers"] if rows else {}
    columns = {name.format(number=numbers.get(name.partition(" (")[0])): entry for name, entry in HANDOUTS.items()}
    return table_of(rows, columns)


def find_handouts(env: DotsAndBoxes, arguments: Arguments) -> list[Handout]:
    """Returns positions of all kinds, at most `positions` of each, from at most a hundred times as many games."""
    found: dict[str, list[Handout]] = {kind: [] for kind in KINDS}
    search = ExactSearch(env, table_size=TABLE_SIZE)
    start, generator = jax.device_get(env.init()), random.Random(arguments.seed)
    for _ in range(100 * arguments.positions):
        for handout in handouts_of_a_game(env, search, start, generator):
            if len(found[handout.kind]) < arguments.positions:
                found[handout.kind].append(handout)
        if all(len(each) == arguments.positions for each in found.values()):
            break
    return [handout for each in found.values() for handout in each]


def handouts_of_a_game(
    env: DotsAndBoxes, search: ExactSearch, start: Any, generator: random.Random
) -> Iterator[Handout]:
    """Yields the choices of a game whose edges are boxes that cost nothing, else safe edges, else any, at random."""
    board = boxes.make_board(env.rows, env.cols, compiled=False)
    position, moves = boxes.make_position(board), [0] * env.num_actions
    captures, is_safe, draw, undraw = boxes.captures, boxes.is_safe, boxes.draw, boxes.undraw

    def state() -> Any:
        """Returns the state, whose owners do not matter here."""
        return replace(start, edges=np.array(position.drawn, bool))

    def value_after(edge: int) -> int:
        """Returns the margin to go of the mover if it draws an edge."""
        taken = draw(board, position, edge)
        value = search.search(state()).value
        undraw(board, position, edge)
        return taken + value if taken else -value

    while position.counts[boxes.OPEN_EDGES]:
        options = [int(moves[place]) for place in range(captures(board, position, moves, 0))]
        edges = [edge for edge in range(env.num_actions) if position.drawn[edge] == 0]
        safe = [edge for edge in edges if is_safe(board, position, edge)]
        if len(options) == 2 and not safe:
            take, leave = map(value_after, options)
            if take != leave:
                left = "4 boxes" if position.counts[boxes.CAPTURABLE] == 2 else "2 boxes"
                kind = f"{left}, {'take' if take > leave else 'leave'}"
                yield Handout(kind, state(), options[int(leave > take)])
        draw(board, position, generator.choice(options or safe or edges))


def try_depth(env: DotsAndBoxes, depth: int, handouts: list[Handout]) -> dict[str, Any]:
    """Returns the share of positions of each kind in which the study's agent finds the best move, and its nodes."""
    player = player_of(env, depth, MILLISECONDS)
    right: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    nodes: list[int] = []
    for seed, handout in enumerate(handouts):
        before = player.clock.visited
        right[handout.kind].append(player.choose(handout.state, seed) == handout.best)
        nodes.append(player.clock.visited - before)
    shares = {kind: float(np.mean(each)) for kind, each in right.items() if each}
    above = float(np.mean(np.array(nodes) > 8_000))
    numbers = {kind: len(each) for kind, each in right.items()}
    return {"numbers": numbers} | rounded({"shares": shares, "nodes": float(np.mean(nodes)), "above": above})


if __name__ == "__main__":
    run_experiment(Arguments, QUICK, report)
