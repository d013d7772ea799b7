"""Measures that all solved games have in common: self-play, shares of states, errors of values, tables of mistakes."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxgames.solvers.strength.graph import Mask
from jaxgames.solvers.strength.policy_table import PolicyTable, SolvedGame

VALUE_THRESHOLD = 0.25  # a value between this and its negative counts as a draw


def share_of(holds: Mask) -> float:
    """Returns the share of True; NaN of nothing."""
    return float(holds.mean()) if holds.size else math.nan


def self_play(
    game: SolvedGame, by_seat: tuple[PolicyTable, PolicyTable], start: int, value: int, plies: int
) -> tuple[dict[str, Any], int]:
    """Returns the measures of a game of the agent against itself, and what seat 0 has gained in it.

    The game is ultra-weakly solved if seat 0 gains the value of the start. It is cut off after a number of plies.
    """
    state, mover, margin, ply = np.array([start], np.uint32), 0, 0, 0
    while ply < plies:
        ply += 1
        slots = by_seat[mover].slots(state)
        gain = int(game.gains(state, slots)[0])
        margin += gain if mover == 0 else -gain
        if gain and game.gain_ends_game:
            break
        state, mover = game.after(state, slots), mover if gain else 1 - mover
    winner = {1: 0, 0: None, -1: 1}[int(np.sign(margin))]
    return {"ultra_weak": float(margin == value), "self_play_winner": winner, "self_play_plies": ply}, margin


def strong_shares(lost: NDArray[np.integer[Any]], is_decisive: Mask, is_won: Mask) -> dict[str, Any]:
    """Returns the shares of live states in which the agent's move is one of the best.

    By state, the agent's move is worth `lost` less than the best ones, some move is worth less if `is_decisive`, and
    the mover can win if `is_won`: int[B], bool[B] and bool[B].
    """
    keeps = lost == 0
    return {
        "strong_action": share_of(keeps),
        "strong_decisive": share_of(keeps[is_decisive]),
        "strong_won": share_of(keeps[is_won]),
        "strong_states": len(lost),
    }


def value_errors(values: NDArray[np.floating[Any]], true: NDArray[Any]) -> dict[str, float]:
    """Returns the share of right signs among the states that are not drawn, and the mean squared error."""
    is_decided = true != 0
    errors = squared_errors(values, true)
    return {
        "value_sign": share_of(np.sign(values[is_decided]) == np.sign(true[is_decided])),
        "value_mse": float(errors.mean()) if errors.size else math.nan,
    }


def squared_errors(values: NDArray[np.floating[Any]], true: NDArray[Any]) -> NDArray[np.float64]:
    """Returns float64[B], the squared errors of the agent's values."""
    return (values.astype(np.float64) - true) ** 2


def mistakes_by(name: str, group: NDArray[np.integer[Any]], is_decisive: Mask, is_wrong: Mask) -> dict[str, list[Any]]:
    """Returns a table of columns with one entry for every number in `group`, int[B]; those below 0 are left out.

    The columns are the number, called `name`, the `states` that have it, how many of these are `decisive` (some legal
    move is a mistake), and how many of the agent's moves are `mistakes`.
    """
    counted, size = group >= 0, int(group.max(initial=-1)) + 1
    states, decisive, mistakes = (
        np.bincount(group[counted & rows], minlength=size) for rows in (True, is_decisive, is_wrong)
    )
    numbers = np.flatnonzero(states)
    columns = {"states": states, "decisive": decisive, "mistakes": mistakes}
    return {name: numbers.tolist()} | {head: column[numbers].tolist() for head, column in columns.items()}
