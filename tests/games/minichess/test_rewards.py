"""The rewards of the scheme "material"."""

import numpy as np
import pytest

import jaxgames
from tests.games.minichess.pictures import read
from tests.helpers.positions import play

PROMOTION = "1n3/P3k/5/5/K4"


@pytest.mark.parametrize(
    ("rules", "rows", "move", "gain"),
    [
        ("standard", PROMOTION, "a4a5q", 829),
        ("standard", PROMOTION, "a4a5r", 379),
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
