"""The three-move ballots are those of pydraughts, and different positions."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import draughts
import jax
import numpy as np

import jaxgames
from jaxgames.arena.openings.ballots import three_move_ballots

ENV = jaxgames.make("checkers")


@cache
def compiled() -> tuple[Any, Any]:
    return jax.jit(ENV.step), jax.jit(ENV.legal_action_mask)


@cache
def starts() -> dict[str, str]:
    """Returns the position after every legal start of three plies, by its moves."""
    step, mask = compiled()
    found = {"": jax.device_get(ENV.init())}
    for _ in range(3):
        found = {
            f"{moves} {ENV.action_to_string(state, action)}".strip(): jax.device_get(step(state, action))
            for moves, state in found.items()
            for action in np.flatnonzero(mask(state)).tolist()
        }
    return {moves: ENV.to_string(state) for moves, state in found.items()}


def test_ballots_are_different_positions_after_three_legal_plies() -> None:
    assert len(starts()) == 302
    assert len({*starts().values()}) == 216
    assert len({starts()[ballot] for ballot in three_move_ballots()}) == len(three_move_ballots()) == 174


def test_ballots_are_those_of_pydraughts() -> None:
    path = Path(draughts.__file__).parent / "ballot_files" / "3move_english.json"
    theirs = {
        tuple(tuple(map(int, move.split("-"))) for move in name.split()[1:])
        for name in json.loads(path.read_text())["all"]
    }
    ours = {
        tuple(tuple(map(int, move.replace("x", "-").split("-"))) for move in ballot.split())
        for ballot in three_move_ballots()
    }
    assert ours == theirs
