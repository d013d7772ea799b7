"""Facts about labelled positions of checkers: what `train.data` made of a collection of games.

    python -m train.data games.zip --external others.pdn --output pairs.npz
    python -m examples.papers.checkers_imitation.positions pairs.npz

The first table has a row per split. The second has the share of the positions that the training set has too, by the
number of the ply in its game.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from examples.papers._experiment import Report, run_experiment
from examples.papers.checkers_imitation.__main__ import by_ply
from jaxgames.games.checkers.rules import shift
from train.data import positions
from train.data.positions import Positions
from train.driver import tables


@dataclass(frozen=True)
class Arguments:
    data: Annotated[Path, tyro.conf.Positional]
    """The file of positions, which `train.data` writes."""


def report(arguments: Arguments) -> Report:
    result = facts(positions.load(arguments.data))
    return Report(result, "\n\n".join(map(table, result.values())))


def facts(data: Positions) -> dict[str, Any]:
    """Returns the facts of every split and of all positions, by the heads of the tables."""
    legal = positions.legal_actions(data).sum(1)
    captures = is_jump(data.states, data.action)
    keys = positions.keys(data)
    learned = np.unique(keys[data.split == 0])
    is_seen = np.isin(keys, learned)

    def of_rows(rows: np.ndarray) -> dict[str, Any]:
        return {
            "games": len(np.unique(data.game[rows])),
            "positions": int(rows.sum()),
            "different": len(np.unique(keys[rows])),
            "seen in training": float(is_seen[rows].mean()),
            "legal actions": float(legal[rows].mean()),
            "one legal action": float((legal[rows] == 1).mean()),
            "captures": float(captures[rows].mean()),
            "drawn": float((data.value[rows] == 0).mean()),
        }

    splits = {name: data.split == number for number, name in enumerate(data.splits)}
    return {
        "splits": {name: of_rows(rows) for name, rows in {**splits, "all": data.split >= 0}.items() if rows.any()},
        "seen": {name: by_ply(is_seen[rows], data.ply[rows]) for name, rows in splits.items() if name != "train"},
    }


def is_jump(states: Any, action: np.ndarray) -> np.ndarray:
    """Returns bool[P], whether an action, int32[P], is a jump. Captures are compulsory: all legal ones are, or none."""
    near = [shift(np.uint32(1 << square), direction) for square in range(32) for direction in range(4)]  # by action
    return np.array(near, np.uint32)[action] & states.opponents != 0


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    heads = list(dict.fromkeys(head for row in rows.values() for head in row))
    lines = [(name, *(format_number(row.get(head, "")) for head in heads)) for name, row in rows.items()]
    return tables.markdown(("split", *heads), lines)


def format_number(value: Any) -> str:
    """Returns a number as in the tables: integers with commas, others with three digits."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else value


if __name__ == "__main__":
    run_experiment(Arguments, None, report)
