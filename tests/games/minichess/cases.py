"""The material of 5 x 5 chess for the tests in `tests/contract`."""

import re
from typing import Any

from hypothesis import strategies as st

from jaxgames import Env
from tests.games.minichess.reference import Reference
from tests.helpers.cases import Cases, Finished, Judged, Placement, combinations
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
STANDARD, KING_CAPTURE, MATERIAL = "minichess", "minichess(rules='king_capture')", "minichess(reward='material')"
QUEENS = "minichess(rules='king_capture', double_step=True, promotion='queen')"
COMMON = {
    "num_players": 2,
    "num_actions": 1225,
    "observation_shape": (5, 5, 15),
    "zero_sum": True,
    "needs_key": False,
}
WIN_LOSS = {"reward_range": (-1, 1), "terminal_rewards": True, "return_range": (-1, 1)}
QUIET, LIMIT = "100 plies without a capture or a pawn move", "256 plies without a winner"
KNIGHTS_HOME = ["b1a3", "b5c3", "a3b1", "c3b5"]
EXPOSED = "k4/5/K4/5/4R b - - 0 1"
HEMMED_IN = "kp3/pp3/pp3/pp3/pp2K w - - 0 1"  # after White's move no black piece can move
MATE = "k4/5/K4/5/4R w - - 0 1"  # e1e5 mates
PROMOTIONS = "1n1bk/P1P1P/5/p1p1p/1N1BK"
PINS = "k1r1b/P1PPP/2q2/1B1p1/K1R1b"
START_ROWS = {
    "gardner": "rnbqk/ppppp/5/PPPPP/RNBQK",
    "baby": "kqbnr/ppppp/5/PPPPP/RNBQK",
    "mallet": "rbkqb/ppppp/5/PPPPP/RNKQN",
}


def make_reference(env: Env[Any]) -> Reference:
    parameters = vars(env)
    return Reference(
        rows=START_ROWS[parameters["board"]],
        king_capture=parameters["rules"] == "king_capture",
        material=parameters["reward"] == "material",
        double_step=parameters["double_step"],
        queen_only=parameters["promotion"] == "queen",
        max_plies=parameters["max_plies"],
    )


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any pieces on any cells, under king capture: terminated without a king to move, truncated after 200 plies."""
    cells = draw(st.lists(st.sampled_from("PNBRQKpnbrqk....."), min_size=25, max_size=25))
    seat, quiet, move = draw(st.integers(0, 1)), draw(st.integers(0, 200)), draw(st.integers(1, 300))
    rows = "/".join("".join(cells[i : i + 5]) for i in range(0, 25, 5))
    text = f"{re.sub('[.]+', lambda gap: str(len(gap[0])), rows)} {'wb'[seat]} - - {quiet} {move}"
    position = Reference(king_capture=True, max_plies=200).from_string(text)
    return Placement(KING_CAPTURE, text, (position.terminated, position.truncated))


CASES = Cases(
    id="minichess",
    fast=["minichess(board='baby', rules='king_capture', max_plies=30)"],
    slow=[
        "minichess(board='mallet', reward='material', double_step=True, promotion='queen')",
        "minichess",
        "minichess(rules='king_capture', reward='material')",
        *combinations(
            "minichess",
            board=["gardner", "baby", "mallet"],
            rules=["standard", "king_capture"],
            reward=["win_loss", "material"],
            double_step=[False, True],
            promotion=["all", "queen"],
        ),
    ],
    facts={
        STANDARD: {**COMMON, "max_steps": 256, "max_plies": 256, "state_bytes": 851, **WIN_LOSS},
        KING_CAPTURE: {**COMMON, "max_steps": 200, "max_plies": 200, "state_bytes": 51, **WIN_LOSS},
        "minichess(max_plies=7)": {**COMMON, "max_steps": 7},
        MATERIAL: {
            **COMMON,
            "reward_range": (-1.7580000162124634, 1.7580000162124634),  # float32
            "terminal_rewards": False,
            "return_range": (-66.753, 66.753),  # all pieces, five more queens, and a pawn for the rounding
        },
    },
    wrong_parameters=[
        ({"board": "chess"}, "'gardner', 'baby', 'mallet', not 'chess'"),
        ({"board": 5}, "'gardner', 'baby', 'mallet', not 5"),
        ({"rules": "fide"}, "'standard', 'king_capture', not 'fide'"),
        ({"reward": "sparse"}, "'win_loss', 'material', not 'sparse'"),
        ({"double_step": 1}, "False, True, not 1"),
        ({"promotion": "knight"}, "'all', 'queen', not 'knight'"),
        ({"max_plies": 0}, "from 1 to 1000000 or None, not 0"),
        ({"max_plies": 2.5}, "from 1 to 1000000 or None, not 2.5"),
        ({"size": 6}, "no parameter 'size'"),
    ],
    judged=[
        # After a2a3: an empty cell, White's pieces, a blocked line, two steps, no promotion, off the board.
        Judged(
            STANDARD,
            "rnbqk/ppppp/P4/1PPPP/RNBQK b - - 0 1",
            ["c3c2", "a3a2", "a1a2", "a5a4", "b4b2", "b4c3", "d5b3", 0, 49 * 3, 49 * 8 + 4, -1, 1225, 2**31 - 1],
        ),
        Judged(STANDARD, "k4/5/K4/5/4R b - - 0 1", ["a5a4", "a5b4"]),  # next to the other king
        Judged(STANDARD, "k3R/5/2K2/5/5 b - - 0 1", ["a5b5"]),  # along the line of the rook
        Judged(STANDARD, "k3R/5/K4/5/5 w - - 5 9", ["e5a5"]),  # a king is never captured
        Judged(STANDARD, f"{PROMOTIONS} w - - 0 1"),
        Judged(STANDARD, f"{PROMOTIONS} b - - 0 1"),
        Judged(STANDARD, f"{PINS} w - - 0 1"),
        Judged(STANDARD, "4k/5/1q3/5/K3R b - - 0 1", ["b3b4"]),  # check must be answered
        Judged(STANDARD, "5/P2b1/2B2/4k/1K3 b - - 2 39"),
        Judged(QUEENS, START, ["a1a2", "a2b3"]),
        Judged(QUEENS, f"{PROMOTIONS} w - - 0 1", ["a4a5r", "c4b5n"]),
        Judged(QUEENS, f"{PINS} w - - 0 1"),
        Judged(QUEENS, "r3k/1P3/2n2/3p1/K1R2 w - - 3 7"),
    ],
    finished=[
        Finished("checkmate", STANDARD, MATE, ["e1e5"], [1, -1], "win", (0,), "checkmate"),
        Finished("black mates", STANDARD, "4r/5/k4/5/K4 b - - 0 1", ["e5e1"], [-1, 1], "win", (1,), "checkmate"),
        Finished("stalemate", STANDARD, "k4/5/1K3/2Q2/5 w - - 0 1", ["c2c4"], [0, 0], "draw", (), "stalemate"),
        Finished("100 plies", STANDARD, "k4/5/K4/5/4R w - - 99 60", ["e1e2"], [0, 0], "draw", (), QUIET),
        Finished("repetition", STANDARD, START, KNIGHTS_HOME * 2, [0, 0], "draw", (), "third occurrence"),
        Finished(
            "bare king", STANDARD, "k4/5/5/3r1/4K w - - 7 9", ["e1d2"], [0, 0], "draw", (), "insufficient material"
        ),
        Finished("limit", STANDARD, "k4/5/K4/5/4R b - - 0 128", ["a5b5"], [0, 0], "truncated", (), LIMIT),
        Finished("mate for material", MATERIAL, MATE, ["e1e5"], [0, 0], "win", (0,), "checkmate"),
        Finished(
            "mate at the limit", STANDARD, "4r/5/k4/5/K4 b - - 0 128", ["e5e1"], [-1, 1], "win", (1,), "checkmate"
        ),
        Finished("king captured", KING_CAPTURE, EXPOSED, ["a5a4", "a3a4"], [1, -1], "win", (0,), "king captured"),
        Finished("hemmed in", KING_CAPTURE, HEMMED_IN, ["e1e2"], [0, 0], "draw", (), "no legal move"),
        Finished("illegal", STANDARD, START, -1, [-1, 1], "forfeit", (), "illegal action by seat 0"),
        Finished("illegal by black", KING_CAPTURE, EXPOSED, 0, [1, -1], "forfeit", (), "illegal action by seat 1"),
    ],
    wrong_positions=(
        STANDARD,
        [
            ("", "''", "six fields"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0", "RNBQK w - - 0'", "six fields"),
            ("rnbqk/ppppp/5/PPPPP w - - 0 1", "'rnbqk/ppppp/5/PPPPP'", "5 rows"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK/5 w - - 0 1", "RNBQK/5'", "5 rows"),
            ("rnbqk/ppppp/6/PPPPP/RNBQK w - - 0 1", "'6'", "gap 1..5"),
            ("rnbqk/ppxpp/5/PPPPP/RNBQK w - - 0 1", "'x'", "PNBRQK"),
            ("rnbqk/pppp/5/PPPPP/RNBQK w - - 0 1", "'pppp'", "5 cells in row 4"),
            ("rnbqk/ppppp/51/PPPPP/RNBQK w - - 0 1", "'51'", "5 cells in row 3"),
            ("rnbqk/ppppp//PPPPP/RNBQK w - - 0 1", "''", "5 cells in row 3"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK W - - 0 1", "'W'", "'w' or 'b'"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1", "'KQ -'", "no castling"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - a3 0 1", "'- a3'", "no en passant"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - -1 1", "'-1'", "plies"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 0", "'0'", "from 1 on"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 9999999999", "'9999999999'", "from 1 on"),
            ("knbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "not 2", "at most one king of Black"),
            ("rnbqk/ppppp/5/PPPPP/RKBQK w - - 0 1", "not 2", "at most one king of White"),
        ],
    ),
    wrong_actions=(
        STANDARD,
        "4k/1P1R1/5/5/K4 w - - 0 1",  # a white pawn on b4, a rook on d4
        [
            ("", "''", "'a2a3'"),
            ("a2", "'a2'", "'a2a3'"),
            ("A2A3", "'A2A3'", "'a2a3'"),
            ("a2-a3", "'a2-a3'", "'a2a3'"),
            ("a0a1", "'a0a1'", "a1..e5"),
            ("a5a6", "'a5a6'", "a1..e5"),
            ("f1e1", "'f1e1'", "a1..e5"),
            ("b4b5k", "'b4b5k'", "'d4d5q'"),
            ("a1a1", "'a1a1'", "line or a knight's jump from a1"),
            ("a1b4", "not b4", "line or a knight's jump from a1"),
            ("b4b5", "'b4b5q'", "the pawn becomes"),
            ("b4c5", "'b4c5q'", "the pawn becomes"),
            ("a1a2q", "'q'", "no promotion"),
            ("d4d5q", "'q'", "no promotion"),
            ("b4e5n", "'b4e5n'", "line or a knight's jump"),
            ("b4d5r", "'b4d5r'", "one cell ahead"),
        ],
    ),
    no_actions=[
        (STANDARD, "4k/1P1R1/5/5/K4 w - - 0 1", 49 * 0 + 9, "leads nowhere from a1"),
        (STANDARD, "4k/1P1R1/5/5/K4 w - - 0 1", 49 * 0 + 0, "leads nowhere from a1"),
        (STANDARD, "4k/1P1R1/5/5/K4 w - - 0 1", 49 * 18 + 0, "no pawn of the mover on d4"),
    ],
    positions=[
        *(Placement(f"minichess(board={board!r})", f"{rows} w - - 0 1", LIVE) for board, rows in START_ROWS.items()),
        Placement(STANDARD, "k3R/5/K4/5/5 b - - 5 9", TERMINATED),  # mate
        Placement(STANDARD, "k3R/5/K4/5/5 w - - 5 9", LIVE),
        Placement(STANDARD, "k4/2Q2/1K3/5/5 b - - 5 9", TERMINATED),  # stalemate
        Placement(STANDARD, "k4/5/K4/5/4R w - - 99 60", LIVE),
        Placement(STANDARD, "k4/5/K4/5/4R w - - 100 60", TERMINATED),
        Placement(STANDARD, "k4/5/K4/5/4B w - - 5 9", TERMINATED),  # nobody can mate
        Placement(STANDARD, "k4/5/K4/5/4R b - - 5 128", LIVE),
        Placement(STANDARD, "k4/5/K4/5/4R w - - 5 129", TRUNCATED),
        Placement(STANDARD, "k3R/5/K4/5/5 b - - 5 129", TERMINATED),  # never both
        Placement(STANDARD, "kK3/5/5/5/4R w - - 5 9", LIVE),  # cannot be reached
        Placement(KING_CAPTURE, "kk3/5/5/5/4R w - - 5 9", TERMINATED),  # White's king has been captured
        Placement(KING_CAPTURE, "5/5/5/5/3KR w - - 5 9", LIVE),
        Placement(KING_CAPTURE, "5/5/5/5/5 b - - 5 9", TERMINATED),
    ],
    placements=placements(),
    not_in_text=("occurred", "history"),
    reference=make_reference,
    referenced=[STANDARD, QUEENS],
    seats_see_the_same_start=[],  # the last planes show whether Black is to move; kings do not face each other
)
