"""Compares networks for Dots and Boxes with the labels of positions, by the part of the game.

    python -m train.data --env "dots_and_boxes(rows=5, cols=5, reward=boxes)" --label "alphabeta(milliseconds=600)" \\
        --play "alphabeta(milliseconds=20, epsilon=0.1)" --positions 3000 --train 10 --output runs/5x5.npz
    python -m examples.papers.dots_and_boxes.phases runs/graph --data runs/5x5.npz

For every run and file, the table has the mean absolute error of the value in boxes. The decided positions are those
that are worth half a box or more: the table has their number, and the share of those whose value has the right sign.
Beside it stands the share of the more frequent sign, which a constant value reaches. The last column is the share of
positions in which the most probable edge is one of the labelled best.

The parts of the game are: a box can be taken; no edge is safe, so that a chain must be opened; and several numbers of
safe edges. A safe edge completes no box and leaves none that can be taken.

The last line on standard output is JSON.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from examples.papers._experiment import Column, Report, command, table_of
from jaxgames.agents import analyse
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.rules import boxes
from train import agents
from train.data import positions
from train.data.positions import Positions
from train.driver.metrics import rounded

SAFE_EDGES = (3, 6, 10, 16)  # the largest number of each part but the last
DECIDED = 0.5  # boxes, from which a value has a sign
COLUMNS: dict[str, Column] = {
    "file": "{file}",
    "agent": "`{agent}`",
    "part": "{part}",
    "positions": "{positions}",
    "mean |label|": "{label:.2f}",
    "error": "{error:.2f}",
    "decided": "{decided}",
    "frequent sign": "{majority_sign:.3f}",
    "right sign": "{sign:.3f}",
    "best edges": "{best_edges:.3f}",
}


@dataclass(frozen=True)
class Arguments:
    agents: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Runs, such as runs/graph; they play with their networks alone, unless they name simulations."""
    data: tuple[Path, ...]
    """Files of labelled positions of dots_and_boxes with reward=boxes, of `train.data`."""
    split: str = "validation"
    """The positions of each file that are compared."""


def report(arguments: Arguments) -> Report:
    """Returns a row per file, agent and part of the game."""
    rows: list[dict[str, Any]] = []
    for path in arguments.data:
        data = labelled(path, arguments.split)
        parts = parts_of(data.env, data.states.edges)
        for agent in arguments.agents:
            rows += [{"file": str(path), "agent": agent} | row for row in compared(agent, data, parts)]
    return Report({"rows": rounded(rows)}, table_of(rows, COLUMNS))


def labelled(path: Path, split: str) -> Positions:
    """Returns the positions of a file. Raises ValueError for another game or reward, or without probabilities."""
    found = positions.load(path).of(split)
    if not isinstance(found.env, DotsAndBoxes) or found.env.reward != "boxes" or found.probabilities is None:
        raise ValueError(f"{path} must have positions of dots_and_boxes with reward=boxes, with probabilities")
    return found


def parts_of(env: Any, edges: np.ndarray) -> dict[str, np.ndarray]:
    """Returns bool[P] for every part of the game, of drawn edges bool[P, num_edges]."""
    of_box = [np.array(box) for box in boxes(env)]
    drawn = np.stack([edges[:, box].sum(1) for box in of_box], axis=1)  # edges of each box
    unsafe = edges.copy()
    for number, box in enumerate(of_box):
        unsafe[:, box] |= drawn[:, number, None] >= 2
    safe, taking = (~unsafe).sum(1), (drawn == 3).any(1)
    parts = {"a box to take": taking, "no safe edge": ~taking & (safe == 0)}
    limits = (0, *SAFE_EDGES, env.num_edges)
    for low, high in itertools.pairwise(limits):
        parts[f"{low + 1}-{high} safe edges"] = ~taking & (safe > low) & (safe <= high)
    return parts


def compared(agent: str, found: Positions, parts: dict[str, np.ndarray]) -> Sequence[dict[str, Any]]:
    """Returns a row for every part that has positions. Raises ValueError for an agent without values."""
    mover = np.arange(len(found)), found.states.current_player
    analysis = jax.device_get(analyse(agents.make(agent, found.env), found.states))
    if analysis is None or analysis.values is None or found.probabilities is None:
        raise ValueError(f"{agent} has no values")
    probabilities, values = analysis
    error, label = np.abs(values[mover] - found.value), np.abs(found.value)
    decided = label >= DECIDED
    sign, ahead = np.sign(values[mover]) == np.sign(found.value), found.value > 0
    hit = found.probabilities[mover[0], probabilities.argmax(1)] > 0
    return [
        {
            "part": name,
            "positions": int(rows.sum()),
            "label": float(label[rows].mean()),
            "error": float(error[rows].mean()),
            "decided": int((decided & rows).sum()),
            "majority_sign": majority(ahead[decided & rows]),
            "sign": share(sign[decided & rows]),
            "best_edges": float(hit[rows].mean()),
        }
        for name, rows in parts.items()
        if rows.any()
    ]


def share(chosen: np.ndarray) -> float:
    """Returns the share of the entries of bool[N] that are True, NaN if there is no entry."""
    return float(chosen.mean()) if len(chosen) else float("nan")


def majority(chosen: np.ndarray) -> float:
    """Returns the share of the entries of bool[N] that have the more frequent value, NaN if there is no entry."""
    return max(share(chosen), share(~chosen))


main = command(Arguments, None, report)

if __name__ == "__main__":
    main()
