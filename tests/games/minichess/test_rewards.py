"""The rewards of the scheme "material", and the range of rewards."""

from typing import Any

import numpy as np
import pytest

import jaxgames
from tests.games.minichess.pictures import MATE, drawn, read
from tests.helpers.positions import TERMINATED, is_over, play

PROMOTION = "1n3/P3k/5/5/K4"


@pytest.mark.parametrize(
    ("rules", "rows", "move", "gain"),
    [
        ("standard", PROMOTION, "a4a5q", 829),
        ("standard", PROMOTION, "a4a5r", 379),
        ("standard", PROMOTION, "a4a5b", 220),
        ("standard", PROMOTION, "a4a5n", 180),
        ("standard", PROMOTION, "a4b5q", 829 + 280),
        ("standard", PROMOTION, "a4b5n", 180 + 280),
        ("standard", PROMOTION, "a1a2", 0),
        ("standard", "4k/5/5/2p2/K1R2", "c1c2", 100),
        ("standard", "4k/5/5/2n2/K1R2", "c1c2", 280),
        ("standard", "4k/5/5/2b2/K1R2", "c1c2", 320),
        ("standard", "4k/5/5/2r2/K1R2", "c1c2", 479),
        ("standard", "4k/5/5/3q1/K2R1", "d1d2", 929),
        ("king_capture", "4k/3P1/5/5/K4", "d4d5b", 220),
        ("king_capture", "4k/5/5/5/K3R", "e1e5", 60_000),
        ("king_capture", "4k/3P1/5/5/K4", "d4e5q", 60_000 + 829),
    ],
)
@pytest.mark.parametrize("side", ["w", "b"])
def test_material_is_paid_as_it_changes(rules: str, rows: str, move: str, gain: int, side: str) -> None:
    env = jaxgames.make("minichess", rules=rules, reward="material")
    if side == "b":
        rows = "/".join(row.swapcase() for row in rows.split("/")[::-1])
        move = "".join(str(6 - int(c)) if c.isdigit() else c for c in move)
    rewards = play(env, read(env, f"{rows} {side} - - 0 1"), move).rewards.tolist()
    thousandth = float(np.float32(gain / 1000))  # to the bit
    assert rewards == ([thousandth, -thousandth] if side == "w" else [-thousandth, thousandth])
    assert env.reward_range[0] <= min(rewards)
    assert max(rewards) <= env.reward_range[1]


def test_checkmate_pays_no_material() -> None:
    env = jaxgames.make("minichess", reward="material")
    state = play(env, drawn(env, MATE), "e1e5")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("parameters", "rows", "highest"),
    [
        ({}, "1k3/5/K4/5/3R1", 1.0),
        ({"rules": "king_capture"}, "4k/3P1/5/5/K4", 1.0),
        ({"reward": "material"}, "k3q/3P1/5/5/1K3", 1.758),
        ({"reward": "material", "rules": "king_capture"}, "4k/3P1/5/5/K4", 60.829),
    ],
)
def test_highest_reward_is_for_a_capture_that_promotes(parameters: dict[str, Any], rows: str, highest: float) -> None:
    """A queen, or a king where it can be captured, taken by a pawn that becomes a queen: equal to the bit."""
    env = jaxgames.make("minichess", **parameters)
    after = play(env, read(env, f"{rows} w - - 0 1"), "d4e5q" if "P" in rows else "d1d5")
    assert env.reward_range[1] == np.float32(highest)
    assert env.reward_range[0] == -env.reward_range[1]
    assert env.zero_sum
    if "P" in rows:
        assert after.rewards.tolist() == list(env.reward_range)[::-1]
