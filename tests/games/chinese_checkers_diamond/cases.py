"""The material of Chinese Checkers on the diamond for the tests in `tests/contract`."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from jaxgames import Env
from tests.games.chinese_checkers_diamond.pictures import FITTING
from tests.games.chinese_checkers_diamond.reference import Reference
from tests.games.chinese_checkers_diamond.whole_games import PLAYED, crowd
from tests.helpers.cases import Cases, Finished, Judged, Placement, combinations
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED

ID = "chinese_checkers_diamond"
SMALL, ONE_PIECE, LOCK = f"{ID}(size=4, pieces=3)", f"{ID}(size=3, pieces=1)", f"{ID}(size=5, pieces=6, tip_lock=True)"
CROWDED = f"{ID}(size=3, pieces=3)"


def make_reference(env: Env[Any]) -> Reference:
    parameters = vars(env)
    return Reference(parameters["size"], parameters["pieces"], parameters["tip_lock"], parameters["max_plies"])


def facts(size: int) -> dict[str, Any]:
    """One bit per cell and side, in four words of 8, 16 or 32 bits each, and 18 bytes more."""
    return {
        "num_players": 2,
        "num_actions": size**4,
        "observation_shape": (size, size, 2),
        "max_steps": 200,
        "reward_range": (-1, 1),
        "zero_sum": True,
        "terminal_rewards": True,
        "return_range": (-1, 1),
        "state_bytes": 26 if size <= 4 else 34 if size <= 8 else 50,
        "needs_key": False,
    }


def judged_crowds(boards: int) -> list[Judged]:
    """Crowded live boards, those on which the mover must pass among them."""
    rng, reference = np.random.default_rng(1), Reference(3, 3)
    texts = (crowd(rng, reference) for _ in range(100))
    live = [text for text in texts if not reference.from_string(text).over]
    return [Judged(CROWDED, text) for text in live[:boards]]


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any number of pieces of each side on any cells."""
    size, pieces = draw(st.sampled_from([(2, 1), (4, 3), (9, 1)]))
    cells = "".join(draw(st.lists(st.sampled_from(".01"), min_size=size**2, max_size=size**2)))
    rows = "/".join(cells[begin : begin + size] for begin in range(0, size**2, size))
    text = f"{rows} {draw(st.integers(0, 1))} {draw(st.integers(0, 200))}"
    position = Reference(size, pieces).from_string(text)
    return Placement(f"{ID}({size=}, {pieces=})", text, (position.terminated, position.truncated))


# From an empty cell, with a foreign piece, to an occupied cell, blocked or too far, a pass; in the mover's frame.
ILLEGAL_AT_THE_START = [
    6 * 16 + 5,
    15 * 16 + 11,
    0 * 16 + 1,
    0 * 16 + 5,
    1 * 16 + 1,
    0,
    -1,
    -17,
    256,
    2**31 - 1,
    -(2**31),
]

CASES = Cases(
    id=ID,
    fast=[f"{ID}(size=5, pieces=6, tip_lock=True, max_plies=40)"],
    slow=[
        *combinations(ID, size=[2, 3, 4, 5, 7, 9], pieces=[1]),
        *combinations(ID, size=[3, 6, 8], pieces=[3], max_plies=[30]),
        *combinations(ID, size=[4, 5, 7, 9], pieces=[6], tip_lock=[False, True]),
        *combinations(ID, size=[5, 9], pieces=[10]),
    ],
    facts={
        ID: facts(7) | {"size": 7, "pieces": 6, "tip_lock": False, "max_plies": 200},
        **{
            f"{ID}({size=}, {pieces=})": facts(size)
            for size in FITTING
            for pieces in FITTING[size]
            if size + pieces != 13
        },
        f"{ID}(size=4, max_plies=7)": facts(4) | {"max_steps": 7, "pieces": 6},
    },
    wrong_parameters=[
        ({"size": 1}, "size must be an integer from 2 to 9, not 1"),
        ({"size": 10}, "size must be an integer from 2 to 9, not 10"),
        ({"size": "4"}, "size must be an integer from 2 to 9, not '4'"),
        ({"pieces": 2}, "pieces must be one of 1, 3, 6, 10, not 2"),
        ({"pieces": True}, "pieces must be one of 1, 3, 6, 10, not True"),
        ({"pieces": "3"}, "pieces must be one of 1, 3, 6, 10, not '3'"),
        ({"size": 4, "pieces": 10}, "pieces must be one of 1, 3, 6 for size=4, where both homes fit, not 10"),
        ({"tip_lock": 1}, "tip_lock must be one of False, True, not 1"),
        ({"pieces": 3, "tip_lock": True}, "tip_lock=True is a rule for pieces=6 only, not for pieces=3"),
        ({"size": 3, "tip_lock": True}, "tip_lock=True is a rule for pieces=6 only, not for pieces=3"),
        ({"max_plies": 0}, "max_plies must be an integer from 1 to 1000000, not 0"),
        ({"max_plies": None}, "max_plies must be an integer from 1 to 1000000, not None"),
    ],
    judged=[
        Judged(SMALL, "00../0.../...1/..11 0 0", ILLEGAL_AT_THE_START),
        Judged(SMALL, "00../0.../...1/..11 1 1", ILLEGAL_AT_THE_START),
        Judged(ONE_PIECE, "011/1../1.. 0 0"),  # nothing but the pass
        Judged(LOCK, ".00../0..../.0.../...../..... 0 0", ["11>10"]),
        Judged(LOCK, "...../...../...1./....1/..11. 1 0", ["13>14"]),
        *judged_crowds(24),
    ],
    finished=[
        Finished("seat 0", SMALL, "..../..../0..1/.0.1 0 7", ["13>14"], [1, -1], "win", (0,), "goal"),
        Finished("seat 1", SMALL, "11../..../1.../.0.. 1 8", ["8>4"], [-1, 1], "win", (1,), "goal"),
        Finished("win at the limit", SMALL, "..../..../0..1/.0.1 0 199", ["13>14"], [1, -1], "win", (0,), "goal"),
        Finished("limit", SMALL, "..../..../0..1/.0.1 0 199", ["13>9"], [0, 0], "truncated", (), "200"),
        Finished("illegal", SMALL, "00../0.../...1/..11 0 0", -1, [-1, 1], "forfeit", (), "seat 0"),
        Finished("illegal by seat 1", LOCK, "...../...../...1./....1/..11. 1 0", 0, [1, -1], "forfeit", (), "seat 1"),
    ],
    wrong_positions=(
        f"{ID}(size=2, pieces=1)",
        [
            ("", "''", "three fields"),
            ("0./.1 0", "'0./.1 0'", "three fields"),
            ("0./.1 0 0 0", "'0./.1 0 0 0'", "three fields"),
            ("0. 0 0", "'0.'", "2 rows"),
            ("0./.1/ 0 0", "'0./.1/'", "2 rows"),
            ("0../.1 0 0", "'0..'", "2 cells in row 0"),
            ("0./1 0 0", "'1'", "2 cells in row 1"),
            ("0./.2 0 0", "'2'", "'.', '0' or '1'"),
            ("0./.x 0 0", "'x'", "'.', '0' or '1'"),
            ("0./.1 2 0", "'2'", "0 to 1"),
            ("0./.1 -1 0", "'-1'", "0 to 1"),
            ("0./.1 a 0", "'a'", "0 to 1"),
            ("0./.1 0 -1", "'-1'", "turns"),
            ("0./.1 0 1.5", "'1.5'", "turns"),
            ("0./.1 0 99999999999", "'99999999999'", "turns"),
        ],
    ),
    wrong_actions=(
        SMALL,
        "00../0.../...1/..11 0 0",
        [
            ("", "''", "'0>8'"),
            ("pass", "'pass'", "'0>8'"),
            ("1->6", "'1->6'", "'0>8'"),
            ("1>", "'1>'", "'0>8'"),
            ("1 > 6", "'1 > 6'", "'0>8'"),
            ("-1>6", "'-1>6'", "'0>8'"),
            ("1>16", "16", "0 to 15"),
            ("99>0", "99", "0 to 15"),
        ],
    ),
    no_actions=[],  # every action names two cells
    positions=[
        Placement(SMALL, "..../..../...0/..00 1 0", TERMINATED),  # seat 0 has just moved
        Placement(SMALL, "..../..../...0/..00 0 0", LIVE),  # seat 1 has
        Placement(SMALL, "..../..../...1/..10 1 0", TERMINATED),  # one piece is enough
        Placement(SMALL, "..../..../...1/..11 1 0", LIVE),
        Placement(SMALL, "..../..../...0/..0. 1 0", LIVE),
        Placement(SMALL, "11../1.../..../.... 0 0", TERMINATED),
        Placement(SMALL, "10../0.../..../.... 0 0", TERMINATED),
        Placement(SMALL, "00../0.../..../.... 0 0", LIVE),
        Placement(SMALL, "11../1.../..../.... 1 0", LIVE),
        Placement(SMALL, "..../..../...0/..00 0 199", LIVE),
        Placement(SMALL, "..../..../...0/..00 0 200", TRUNCATED),
        Placement(SMALL, "..../..../...0/..00 0 201", TRUNCATED),
        Placement(SMALL, "..../..../...0/..00 1 200", TERMINATED),  # never both
    ],
    placements=placements(),
    reference=make_reference,
    referenced=[*PLAYED, f"{ID}(size=6)"],
    seats_see_the_same_start=[SMALL, ID, f"{ID}(size=9, pieces=10)"],
)
