"""Shares of states, and tables of mistakes: what the measures of all games have in common."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

VALUE_THRESHOLD = 0.25  # a value between this and its negative counts as a draw


def share_of(holds: Mask) -> float:
    """Returns the share of True; NaN of nothing."""
    return float(holds.mean()) if holds.size else math.nan


def mistakes_by(name: str, group: NDArray[np.integer[Any]], decisive: Mask, wrong: Mask) -> dict[str, list[Any]]:
    """Returns a table of columns with one entry for every number in `group`; those below 0 are left out.

    The columns are the number, called `name`, the `states` that have it, how many of these are `decisive`, and how many
    of the agent's moves are `mistakes`.

    Args:
      name: what the numbers count.
      group: int[B], a number of each state.
      decisive: bool[B], whether some legal move of the state is a mistake.
      wrong: bool[B], whether the agent's move is one.
    """
    counted, size = group >= 0, int(group.max(initial=-1)) + 1
    of_all, of_decisive, of_wrong = (
        np.bincount(group[counted & chosen], minlength=size) for chosen in (True, decisive, wrong)
    )
    numbers = np.flatnonzero(of_all)
    columns = {name: numbers, "states": of_all, "decisive": of_decisive, "mistakes": of_wrong}
    return {head: (numbers if head == name else column[numbers]).tolist() for head, column in columns.items()}
