"""The material of Dots and Boxes for the tests in `tests/contract`."""

from typing import Any

from hypothesis import strategies as st

from jaxgames import Env
from tests.games.dots_and_boxes.pictures import LAST_EDGE, MIDDLE, written
from tests.games.dots_and_boxes.reference import Reference
from tests.helpers.cases import Cases, Finished, Judged, Placement, combinations
from tests.helpers.positions import LIVE, TERMINATED

SMALL = "dots_and_boxes(rows=2, cols=3, reward='win_loss')"
BOXES = "dots_and_boxes(rows=2, cols=3, reward='boxes')"
MARGIN = "dots_and_boxes(rows=2, cols=3, reward='margin')"
ONE_BY_TWO = "dots_and_boxes(rows=1, cols=2, reward='boxes')"
COMMON = {"num_players": 2, "needs_key": False, "zero_sum": True}


def make_reference(env: Env[Any]) -> Reference:
    parameters = vars(env)
    return Reference(parameters["rows"], parameters["cols"], parameters["reward"])


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


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any edges with any owners of the complete boxes, reachable or not."""
    reference = Reference(2, 3)
    bits = draw(st.lists(st.sampled_from("01111"), min_size=17, max_size=17))
    drawn = {edge for edge, bit in zip(reference.edges, bits, strict=True) if bit == "1"}
    owners = [draw(st.sampled_from("01")) if reference.around(box) <= drawn else "." for box in reference.boxes]
    text = f"{''.join(bits)} {''.join(owners)} {draw(st.integers(0, 1))}"
    return Placement(SMALL, text, TERMINATED if len(drawn) == 17 else LIVE)


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
        **facts(2, 1, edges=7, margin=2, boxes=2),
        **facts(2, 3, edges=17, margin=6, boxes=2),
        **facts(9, 12, edges=120 + 117, margin=108, boxes=2),
        **facts(16, 16, edges=544, margin=256, boxes=2),
    },
    wrong_parameters=[
        *(
            ({parameter: value}, f"{parameter} must be an integer from 1 to 16, not {value!r}")
            for parameter in ("rows", "cols")
            for value in (0, -1, 17, 2.0, "3", None, True)
        ),
        *(
            ({"reward": value}, f"reward must be one of 'win_loss', 'margin', 'boxes', not {value!r}")
            for value in ("sparse", "", 1, None)
        ),
        ({"num_players": 2}, "no parameter 'num_players'"),
    ],
    judged=[
        # Edges that are drawn, the first and the last among them, and numbers that are no edges.
        *(
            Judged(SMALL, written(MIDDLE, seat), ["h(0,0)", "v(1,3)", "v(0,0)", -1, -17, 17, 18, 2**31 - 1, -(2**31)])
            for seat in (0, 1)
        ),
        Judged(SMALL, "0" * 17 + " ...... 0"),
        Judged(SMALL, written(LAST_EDGE), ["h(2,1)"]),
    ],
    finished=[
        Finished("seat 0 has more", SMALL, written(LAST_EDGE), ["h(2,2)"], [1, -1], "win", (0,), "all edges"),
        Finished("margin", MARGIN, written(LAST_EDGE), ["h(2,2)"], [2, -2], "win", (0,), "all edges"),
        Finished("equal", SMALL, written(LAST_EDGE, seat=1), ["h(2,2)"], [0, 0], "draw", (), "all edges"),
        # The player who takes the last box is paid for it, and has lost.
        Finished("seat 1 has more", BOXES, f"{'1' * 16}0 11111. 0", ["v(1,3)"], [1, -1], "win", (1,), "all edges"),
        Finished("illegal", SMALL, written(MIDDLE), 0, [-1, 1], "forfeit", (), "seat 0"),
        Finished("illegal by seat 1", MARGIN, written(LAST_EDGE, seat=1), 7, [1, -1], "forfeit", (), "seat 1"),
    ],
    wrong_positions=(
        ONE_BY_TWO,
        [
            ("", "''", "three fields"),
            ("0000000 ..", "'0000000 ..'", "three fields"),
            ("0000000 .. 0 0", "'0000000 .. 0 0'", "three fields"),
            ("000000 .. 0", "'000000'", "7 characters, one for each edge, not 6"),
            ("00000000 .. 0", "'00000000'", "7 characters, one for each edge, not 8"),
            ("0000002 .. 0", "'2'", "one of '0', '1' for each edge"),
            ("000000. .. 0", "'.'", "one of '0', '1' for each edge"),
            ("0000000 . 0", "'.'", "2 characters, one for each box, not 1"),
            ("0000000 ./. 0", "'./.'", "2 characters, one for each box, not 3"),
            ("0000000 .2 0", "'2'", "one of '.', '0', '1' for each box"),
            ("0000000 .. 2", "'2'", "seat to move from 0 to 1"),
            ("0000000 .. -1", "'-1'", "seat to move from 0 to 1"),
            ("0000000 .. a", "'a'", "seat to move from 0 to 1"),
            ("0000000 .1 0", "'1'", "box (0,1) lacks an edge and must have no owner"),
            ("1010110 .. 0", "'.'", "box (0,0) is complete and must have an owner"),
            ("1010110 11 0", "'11'", "box (0,1) lacks an edge and must have no owner"),
        ],
    ),
    wrong_actions=(
        SMALL,
        "0" * 17 + " ...... 0",
        [
            ("", "''", "'h(0,1)'"),
            ("H(0,0)", "'H(0,0)'", "'h(0,1)'"),
            ("h0,0", "'h0,0'", "'h(0,1)'"),
            ("h(0, 0)", "'h(0, 0)'", "'h(0,1)'"),
            ("h(0,0) ", "'h(0,0) '", "'h(0,1)'"),
            ("h(-1,0)", "'h(-1,0)'", "'h(0,1)'"),
            ("h(3,0)", "3", "row from 0 to 2 of h(r,c)"),
            ("h(0,3)", "3", "column from 0 to 2 of h(r,c)"),
            ("v(2,0)", "2", "row from 0 to 1 of v(r,c)"),
            ("v(0,4)", "4", "column from 0 to 3 of v(r,c)"),
        ],
    ),
    no_actions=[],  # every action names an edge
    positions=[
        Placement(SMALL, written(MIDDLE, seat=1), LIVE),
        Placement(SMALL, "1" * 17 + " 100010 0", TERMINATED),
        Placement(ONE_BY_TWO, "1111111 01 1", TERMINATED),
        Placement(ONE_BY_TWO, "1111110 0. 1", LIVE),
    ],
    placements=placements(),
    reference=make_reference,
    referenced=[
        "dots_and_boxes(rows=1, cols=1, reward='margin')",
        "dots_and_boxes(rows=2, cols=1, reward='win_loss')",
        ONE_BY_TWO,
        BOXES,
        "dots_and_boxes(rows=3, cols=3, reward='margin')",
        "dots_and_boxes(rows=5, cols=5, reward='win_loss')",
        "dots_and_boxes(rows=1, cols=16, reward='boxes')",
    ],
    seats_see_the_same_start=["dots_and_boxes", SMALL],
)
