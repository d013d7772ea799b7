"""Whole games beside the slow reference: masks, observations, rewards, ends and texts, with every parameter."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import jaxgames
from tests.games.minichess.cases import CASES
from tests.games.minichess.reference import Move, Position
from tests.helpers.lockstep import Lockstep

SETS: list[Any] = [
    {"reward": "material", "max_plies": 110},
    pytest.param({"board": "baby", "double_step": True, "promotion": "queen", "max_plies": 90}, marks=pytest.mark.slow),
    pytest.param({"board": "mallet", "reward": "material", "max_plies": 120}, marks=pytest.mark.slow),
    pytest.param({"rules": "king_capture", "max_plies": 200}, marks=pytest.mark.slow),
    {"rules": "king_capture", "board": "mallet", "double_step": True, "promotion": "queen", "max_plies": 30},
    pytest.param(
        {"rules": "king_capture", "board": "baby", "reward": "material", "double_step": True, "max_plies": 25},
        marks=pytest.mark.slow,
    ),
]
BOARDS = 14  # in one batch, the same everywhere: each set of parameters is compiled for one shape
each_set = pytest.mark.parametrize("parameters", SETS, ids=lambda parameters: "-".join(map(str, parameters.values())))


def keen_on_captures(rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """A capture one time in five, if there is one."""
    captures = [action for action, move in legal.items() if move[1] in position.board]
    return int(rng.choice(captures if captures and rng.random() < 0.2 else list(legal)))


def lockstep(seed: int, forms: Sequence[str] = (), **parameters: Any) -> Lockstep:
    env, reference = jaxgames.make("minichess", **parameters), CASES.reference(jaxgames.make("minichess", **parameters))
    choose, not_in_text = keen_on_captures, CASES.not_in_text
    return Lockstep(env, reference, seed, not_in_text=not_in_text, illegal=0.002, choose=choose, forms=forms)


@each_set
def test_whole_games_follow_the_reference(parameters: dict[str, Any]) -> None:
    """In the form for GPUs, too."""
    ends = lockstep(2, ["library"], **parameters).play(BOARDS).ends
    if parameters["max_plies"] < 100:
        assert ends["truncated"]
    if "rules" in parameters:
        assert ends["won"] >= 3
    else:
        assert ends["draw"] or ends["truncated"]


@pytest.mark.slow
@each_set
def test_many_whole_games_follow_the_reference(parameters: dict[str, Any]) -> None:
    ends = lockstep(3, **parameters).play(60).ends
    assert ends["illegal"]
    assert ends["won"] >= 3


CAGES = [  # nothing but kings and rooks, or knights: positions come again, and nobody captures for long
    "k3r/5/5/5/R3K w - - 0 1",
    "kn3/5/5/5/3NK b - - 90 1",
    "1k1p1/3P1/5/1p3/KP3 w - - 80 1",
]


def test_third_occurrences_and_quiet_plies_follow_the_reference() -> None:
    """The reference keeps the whole past, the env 64 bits of every position."""
    ends = lockstep(4, **SETS[0]).play((CAGES * 5)[:BOARDS]).ends
    assert ends["third occurrence"]
    assert ends["hundred plies"]


def random_fen(rng: np.random.Generator, one_king_each: bool) -> str:
    """Any number of any pieces anywhere; at most one king per side if asked."""
    letters = list("PNBRQpnbrqPp" if one_king_each else "PNBRQKpnbrqk")
    cells = np.where(rng.random(25) < rng.random(), rng.choice(letters, 25), "1")
    if one_king_each:
        cells[rng.choice(25, 2, replace=False)] = [king if rng.random() < 0.9 else "1" for king in "Kk"]
    rows = "/".join("".join(row) for row in cells.reshape(5, 5))
    for gap in (5, 4, 3, 2):
        rows = rows.replace("1" * gap, str(gap))
    return f"{rows} {rng.choice(['w', 'b'])} - - {rng.integers(0, 103)} {rng.integers(1, 55)}"


@each_set
def test_any_placement_follows_the_reference(parameters: dict[str, Any]) -> None:
    """Crowds that never come up in play: pawns on any rank, kings in check out of turn, or none, or many."""
    rng = np.random.default_rng(7)
    played = lockstep(5, **parameters)
    for _ in range(8):
        played.play([random_fen(rng, "rules" not in parameters) for _ in range(BOARDS)], limit=3)
    assert played.ends["won"] + played.ends["draw"] >= 5
