"""The rules of Dots and Boxes as rows, and its material for the tests in `tests/contract`.

Boards are written as a bit for each edge, horizontal ones first, the owner of each box, and the seat to move. The edges
of 2 x 3 boxes are numbered

    *- 0-*- 1-*- 2-*
    9   10   11   12
    *- 3-*- 4-*- 5-*
   13   14   15   16
    *- 6-*- 7-*- 8-*

In a drawing, a box that is taken has its owner's seat in it.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.games.dots_and_boxes.reference import Position, Reference
from tests.helpers.cases import Cases, Played, Rule, combinations

REWARDS = ["win_loss", "margin", "boxes"]
SMALL = "dots_and_boxes(rows=2, cols=3, reward='win_loss')"
BOXES = "dots_and_boxes(rows=2, cols=3, reward='boxes')"
MARGIN = "dots_and_boxes(rows=2, cols=3, reward='margin')"
ONE_BY_TWO = "dots_and_boxes(rows=1, cols=2, reward='boxes')"
LARGEST = "dots_and_boxes(rows=16, cols=16, reward='margin')"
EMPTY, AROUND = "0" * 17 + " ...... 0", "h(0,1) h(1,1) v(0,1)"  # and three sides of the second box
LAST = "11111111011111111"  # all edges but h(2,2), which completes the last box
COMMON = {"num_players": 2, "needs_key": False, "zero_sum": True}

MIDDLE = """
    *---*---*   *
    | 0 |       |
    *---*---*   *
    |       |   |
    *---*   *---*
"""
FIVE_OF_SIX = """
    *---*---*---*
    | 0 | 0 | 0 |
    *---*---*---*
    | 0 |       |
    *---*---*   *
"""
BOTH = """
    *---*---*---*
    | 0 | 0 |   |
    *---*---*   *
    | 1 | 1 |   |
    *---*---*---*
"""


def written(picture: str, seat: int = 0) -> str:
    """The text of a drawn position: dots four columns apart, edges between them, owners in the middle of boxes."""
    lines = textwrap.dedent(picture).strip().splitlines()
    lines = [line.ljust(len(lines[0])) for line in lines]
    dots, between = lines[::2], lines[1::2]
    cols = dots[0].count("*") - 1
    horizontal = [line[4 * c + 1 : 4 * c + 4] == "---" for line in dots for c in range(cols)]
    vertical = [line[4 * c] == "|" for line in between for c in range(cols + 1)]
    owners = "".join(line[4 * c + 2] for line in between for c in range(cols)).replace(" ", ".")
    return f"{''.join('01'[drawn] for drawn in horizontal + vertical)} {owners} {seat}"


def facts(rows: int, cols: int, edges: int, margin: int, boxes: int) -> dict[str, dict[str, Any]]:
    """The values of one board in all three schemes: an edge completes two boxes at most."""
    return {
        f"dots_and_boxes(rows={rows}, cols={cols}, reward={reward!r})": COMMON
        | {
            "num_actions": edges,
            "max_steps": edges,
            "observation_shape": (2 * rows + 1, 2 * cols + 1, 3),
            "state_bytes": edges + rows * cols + 14,
            "reward_range": (-highest, highest),
            "terminal_rewards": reward != "boxes",
            "return_range": (-earned, earned),
        }
        for reward, highest, earned in (("win_loss", 1, 1), ("margin", margin, margin), ("boxes", boxes, rows * cols))
    }


def crowds(rng: np.random.Generator, reference: Reference) -> list[str]:
    """Any edges with any owners of the complete boxes, reachable or not; all edges of every fourth board are drawn."""
    texts: list[str] = []
    for number in range(48):
        likely = rng.random() if number % 4 else 1
        drawn = frozenset(edge for edge in reference.edges if rng.random() < likely)
        owner = {box: int(rng.integers(2)) for box in reference.boxes if reference.around(box) <= drawn}
        texts.append(reference.to_string(Position(drawn=drawn, owner=owner, seat=int(rng.integers(2)))))
    return texts


RULES = [
    Rule("a drawn edge is illegal", SMALL, written(MIDDLE), legal="h(0,2) h(1,2) h(2,1) v(0,2) v(1,1)"),
    # The fourth edge takes the box, and the same seat moves again.
    Rule("a box", BOXES, EMPTY, f"{AROUND} v(0,2)", text="01001000001100000 .1.... 1", rewards=(-1, 1)),
    Rule("two boxes", ONE_BY_TWO, "1111101 .. 1", "v(0,1)", text="1111111 11 1", rewards=(-2, 2), winner=1),
    Rule("boxes keep their owners", SMALL, written(MIDDLE, 1), "v(1,1) h(2,1) h(0,2) v(0,2)", text=written(BOTH, 0)),
    # Ends and rewards.
    Rule("five of six boxes", BOXES, written(FIVE_OF_SIX), "v(1,2)", rewards=(1, -1)),
    Rule("three boxes each", SMALL, f"{LAST} 10100. 1", "h(2,2)", end="draw", reason="all edges"),
    Rule("six boxes to none", MARGIN, f"{LAST} 11111. 1", "h(2,2)", rewards=(-6, 6), winner=1, reason="all edges"),
    # The player who takes the last box is paid for it, and has lost.
    Rule("the last box", BOXES, f"{'1' * 16}0 11111. 0", "v(1,3)", rewards=(1, -1), winner=1),
    # 256 boxes are more than a byte holds.
    Rule("all boxes", LARGEST, f"{'1' * 543}0 {'0' * 255}. 0", "v(15,16)", rewards=(256, -256), winner=0),
    Rule("all boxes but one", LARGEST, f"{'1' * 543}0 {'1' * 255}. 0", "v(15,16)", rewards=(-254, 254), winner=1),
    Rule("drawn as read", ONE_BY_TWO, "1111111 01 1", end="draw"),
]


def whole(rows: int, cols: int, reward: str, forms: Sequence[str] = ()) -> Played:
    """With about one illegal action in each game, so that games end in every way."""
    edges = (rows + 1) * cols + rows * (cols + 1)
    return Played(
        f"dots_and_boxes({rows=}, {cols=}, {reward=})", {"illegal": 1, "won": 1}, 16, illegal=1 / edges, forms=forms
    )


PLAYED = [
    *(whole(1, 1, "margin"), whole(2, 1, "win_loss"), whole(1, 2, "boxes"), whole(2, 3, "boxes")),
    Played(BOXES, {"won": 1}, 16, crowds, illegal=1 / 17),
    *(whole(3, 3, "margin", ("library", "tpu")), whole(5, 5, "win_loss"), whole(1, 16, "boxes")),
]

CASES = Cases(
    id="dots_and_boxes",
    fast=[BOXES],
    slow=[
        "dots_and_boxes(rows=1, cols=1, reward='margin')",
        *combinations("dots_and_boxes", rows=[1, 4, 16], cols=[1, 5, 16], reward=["win_loss", "boxes"]),
    ],
    facts={
        "dots_and_boxes": {"rows": 5, "cols": 5, "reward": "win_loss", "num_actions": 60, "state_bytes": 99},
        **facts(1, 1, edges=4, margin=1, boxes=1),
        **facts(1, 2, edges=7, margin=2, boxes=2),
        **facts(2, 3, edges=17, margin=6, boxes=2),
        **facts(9, 12, edges=120 + 117, margin=108, boxes=2),
        **facts(16, 16, edges=544, margin=256, boxes=2),
    },
    wrong_parameters=[
        ({"rows": 2.0}, "rows must be an integer from 1 to 16, not 2.0"),
        ({"cols": 17}, "cols must be an integer from 1 to 16, not 17"),
        ({"reward": "sparse"}, "reward must be one of 'win_loss', 'margin', 'boxes', not 'sparse'"),
    ],
    rules=RULES,
    wrong_positions=(
        ONE_BY_TWO,
        [
            ("0000000 ..", "'0000000 ..'", "three fields"),
            ("000000 .. 0", "'000000'", "7 characters, one for each edge, not 6"),
            ("000000. .. 0", "'.'", "one of '0', '1' for each edge"),
            ("0000000 ./. 0", "'./.'", "2 characters, one for each box, not 3"),
            ("0000000 .2 0", "'2'", "one of '.', '0', '1' for each box"),
            ("0000000 .. 2", "'2'", "seat to move from 0 to 1"),
            ("1010110 .. 0", "'.'", "box (0,0) is complete and must have an owner"),
            ("1010110 11 0", "'11'", "box (0,1) lacks an edge and must have no owner"),
        ],
    ),
    wrong_actions=(
        SMALL,
        EMPTY,
        [
            ("H(0,0)", "'H(0,0)'", "'h(0,1)'"),
            ("h(-1,0)", "'h(-1,0)'", "'h(0,1)'"),
            ("h(3,0)", "3", "row from 0 to 2 of h(r,c)"),
            ("h(0,3)", "3", "column from 0 to 2 of h(r,c)"),
            ("v(2,0)", "2", "row from 0 to 1 of v(r,c)"),
            ("v(0,4)", "4", "column from 0 to 3 of v(r,c)"),
        ],
    ),
    reference=lambda env: Reference(**vars(env)),
    played=PLAYED,
)
