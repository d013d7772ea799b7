"""The rules of 5 x 5 chess as rows, and its material for the tests in `tests/contract`. Boards are written in FEN."""

import re
from typing import Any

import numpy as np

from jaxgames import Env
from tests.games.minichess.reference import Move, Position, Reference
from tests.helpers.cases import Cases, Played, Rule, combinations

START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
STANDARD, KING_CAPTURE, MATERIAL = "minichess", "minichess(rules='king_capture')", "minichess(reward='material')"
QUEENS = "minichess(rules='king_capture', double_step=True, promotion='queen')"
KINGS_FOR_MATERIAL = "minichess(rules='king_capture', reward='material')"
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
QUEEN = "5/P3k/5/5/K4 w - - 0 1"  # will be on a5
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


PROMOTION = "1n3/P3k/5/5/K4 w - - 0 1"
PROMOTES = "1n1rk/2P2/5/5/K4 w - - 0 1"
TO_QUEEN, TO_OTHERS = "c4b5q c4c5q c4d5q", [f"c4{to}5{piece}" for to in "bcd" for piece in "rbn"]
DOUBLE = "minichess(double_step=True)"
RULES = [
    # Moves: check, pins, pawns.
    Rule("white begins", STANDARD, START, "b1c3 d4c3", text="rnbqk/ppp1p/2p2/PPPPP/R1BQK w - - 0 2"),
    Rule("check is answered", STANDARD, "4k/1b3/5/2n2/K3R b - - 0 1", legal="e5d5 e5d4 b4e1 c2e1 c2e3"),
    Rule("pinned pawn", STANDARD, "2r1k/5/2R1b/3P1/2K2 w - - 0 1", of="d2", legal="d2e3"),
    Rule("along the line of a rook", STANDARD, "5/5/3k1/1K2r/5 w - - 0 1", legal="b2a1 b2b1 b2c1 b2a3 b2b3"),
    Rule("a king is never captured", STANDARD, "k3R/5/K4/5/5 w - - 5 9", of="e5a", legal=""),
    Rule("promotions", STANDARD, PROMOTES, of="c4", legal=f"{TO_QUEEN} {' '.join(TO_OTHERS)}"),
    Rule("black promotes", STANDARD, "k4/5/5/2p2/1N1RK b - - 0 1", "c2b1r", text="k4/5/5/5/1r1RK w - - 0 2"),
    Rule("queens only", QUEENS, PROMOTES, of="c4", legal=TO_QUEEN),
    Rule("double step", DOUBLE, "4k/pp3/2P1n/P2PP/K4 w - - 0 1", of="d2", legal="d2d3 d2d4 d2e3"),
    Rule("nothing in passing", DOUBLE, "4k/5/1p3/P1P2/K4 w - - 0 1", "c2c4", of="b3", legal="b3b2 b3a2"),
    # Ends under standard rules.
    Rule("checkmate", STANDARD, MATE, "e1e5", rewards=(1, -1), winner=0, reason="checkmate"),
    Rule("black mates", STANDARD, "4r/5/k4/5/K4 b - - 0 128", "e5e1", rewards=(-1, 1), winner=1),
    Rule("stalemate", STANDARD, "k4/5/1K3/2Q2/5 w - - 0 1", "c2c4", end="draw", reason="stalemate"),
    Rule("100 plies", STANDARD, "k4/5/K4/5/4R w - - 99 60", "e1e2", end="draw", reason=QUIET),
    Rule("mate in the 100th ply", STANDARD, "k4/5/K4/5/4R w - - 99 60", "e1e5", rewards=(1, -1), winner=0),
    Rule("repetition", STANDARD, START, " ".join(KNIGHTS_HOME * 2), end="draw", reason="third occurrence"),
    # A pawn becomes a queen: from there the third occurrence is a draw, and not a ply before.
    Rule("third queen", STANDARD, QUEEN, "a4a5q e4e3 a1b1 e3e4 b1a1 e4e3 a1b1 e3e4 b1a1", end="draw"),
    *(
        Rule(f"material of {rows}", STANDARD, f"{rows} w - - 0 1", end="draw" if dead else "live")
        for rows, dead in [
            ("kn3/5/5/5/4K", True),
            ("k4/5/5/5/3PK", False),
            ("kn3/5/5/5/3NK", False),
            ("kb3/5/5/5/3BK", True),  # b5 and d1 are both light
            ("k1b2/5/5/5/3BK", False),
            ("k1b2/3B1/4b/5/2B1K", True),  # any number on either side
        ]
    ),
    Rule("bare king", STANDARD, "k4/5/5/3r1/4K w - - 7 9", "e1d2", end="draw", reason="insufficient material"),
    Rule("limit", STANDARD, "k4/5/K4/5/4R b - - 0 128", "a5b5", end="truncated", reason=LIMIT),
    Rule("win at the limit", "minichess(max_plies=1)", MATE, "e1e5", rewards=(1, -1), winner=0),
    # King capture.
    Rule("king captured", KING_CAPTURE, EXPOSED, "a5a4 a3a4", rewards=(1, -1), winner=0, reason="king captured"),
    Rule("hemmed in", KING_CAPTURE, HEMMED_IN, "e1e2", end="draw", reason="no legal move"),
    Rule("no repetition", KING_CAPTURE, START, " ".join(KNIGHTS_HOME * 3)),
    Rule("no quiet plies", KING_CAPTURE, "k4/5/K4/5/4R w - - 150 80", "e1e2"),
    Rule("no stalemate", KING_CAPTURE, "k4/5/1K3/2Q2/5 w - - 0 1", "c2c4"),
    Rule("bishops alone", KING_CAPTURE, "k1b2/3B1/4b/5/2B1K w - - 0 1"),
    # Material, in thousands: a knight and what a queen has more than a pawn; a king.
    Rule("a capture with promotion", MATERIAL, PROMOTION, "a4b5q", rewards=(1.109, -1.109)),
    Rule("of black", MATERIAL, "k4/5/5/p3K/1N3 b - - 0 1", "a2b1q", rewards=(-1.109, 1.109)),
    Rule("a king", KINGS_FOR_MATERIAL, "4k/3P1/5/5/K4 w - - 0 1", "d4e5q", rewards=(60.829, -60.829), winner=0),
    Rule("mate pays no material", MATERIAL, MATE, "e1e5", rewards=(0, 0), winner=0, reason="checkmate"),
    # Positions that are read.
    Rule("mate as read", STANDARD, "k3R/5/K4/5/5 b - - 5 129", winner=0),
    Rule("mate before the draw", STANDARD, "k1R2/5/K4/5/5 b - - 100 90", winner=0, reason="checkmate"),
    Rule("over the limit", STANDARD, "k4/5/K4/5/4R w - - 5 129", end="truncated"),
    Rule("no king", KING_CAPTURE, "kk3/5/5/5/4R w - - 5 9", winner=1),
]


def keen_on_captures(reference: Reference, rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """A capture one time in five, if there is one."""
    captures = [action for action, move in legal.items() if move[1] in position.board]
    return int(rng.choice(captures if captures and rng.random() < 0.2 else list(legal)))


def random_fen(rng: np.random.Generator, one_king_each: bool) -> str:
    """Any number of any pieces anywhere; at most one king per side if asked."""
    letters = list("PNBRQpnbrqPp" if one_king_each else "PNBRQKpnbrqk")
    cells = np.where(rng.random(25) < rng.random(), rng.choice(letters, 25), "1")
    if one_king_each:
        cells[rng.choice(25, 2, replace=False)] = [king if rng.random() < 0.9 else "1" for king in "Kk"]
    rows = "/".join("".join(row) for row in cells.reshape(5, 5))
    rows = re.sub("1+", lambda gap: str(len(gap[0])), rows)
    return f"{rows} {rng.choice(['w', 'b'])} - - {rng.integers(0, 103)} {rng.integers(1, 55)}"


CAGES = [  # nothing but kings and rooks, or knights: positions come again, and nobody captures for long
    "k3r/5/5/5/R3K w - - 0 1",
    "kn3/5/5/5/3NK b - - 90 1",
    "1k1p1/3P1/5/1p3/KP3 w - - 80 1",
]


def whole(parameters: str, **ends: int) -> list[Played]:
    """Whole games in the form for GPUs, too, and any placement: pawns on any rank, kings in check, or none, or many."""
    one_king_each = "king_capture" not in parameters

    def crowds(rng: np.random.Generator, _: Reference) -> list[str]:
        return [random_fen(rng, one_king_each) for _ in range(8 * 14)]

    env, near = f"minichess({parameters})", {"won": 1, "draw": 1} if one_king_each else {"won": 5}
    return [
        Played(env, ends, 14, choose=keen_on_captures, forms=["library"], seed=2),
        Played(env, near, 14, crowds, 3, choose=keen_on_captures, seed=5),
    ]


TAME = "reward='material', max_plies=110"
WILD = "board='mallet', rules='king_capture', double_step=True, promotion='queen', max_plies=30"
PLAYED = [
    *whole(TAME, draw=1),
    *whole(WILD, won=3, truncated=1),
    # The reference keeps the whole past, the env 64 bits of every position.
    Played(
        f"minichess({TAME})",
        {"third occurrence": 1, "hundred plies": 1},
        14,
        lambda rng, _: (CAGES * 5)[:14],
        choose=keen_on_captures,
        seed=4,
    ),
]

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
            double_step=[True],
            promotion=["queen"],
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
        # For a king that is taken by a pawn that becomes a queen.
        KINGS_FOR_MATERIAL: {**COMMON, "reward_range": (-float(np.float32(60.829)), float(np.float32(60.829)))},
    },
    wrong_parameters=[
        ({"board": "chess"}, "'gardner', 'baby', 'mallet', not 'chess'"),
        ({"rules": "fide"}, "'standard', 'king_capture', not 'fide'"),
        ({"reward": "sparse"}, "'win_loss', 'material', not 'sparse'"),
        ({"double_step": 1}, "False, True, not 1"),
        ({"promotion": "knight"}, "'all', 'queen', not 'knight'"),
        ({"max_plies": 0}, "from 1 to 1000000 or None, not 0"),
    ],
    rules=RULES,
    wrong_positions=(
        STANDARD,
        [
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0", "RNBQK w - - 0'", "six fields"),
            ("rnbqk/ppppp/5/PPPPP w - - 0 1", "'rnbqk/ppppp/5/PPPPP'", "5 rows"),
            ("rnbqk/ppppp/6/PPPPP/RNBQK w - - 0 1", "'6'", "gap 1..5"),
            ("rnbqk/ppppp/51/PPPPP/RNBQK w - - 0 1", "'51'", "5 cells in row 3"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK W - - 0 1", "'W'", "'w' or 'b'"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1", "'KQ -'", "no castling"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - a3 0 1", "'- a3'", "no en passant"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - -1 1", "'-1'", "plies"),
            ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 0", "'0'", "from 1 on"),
            ("knbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "not 2", "at most one king of Black"),
            ("rnbqk/ppppp/5/PPPPP/RKBQK w - - 0 1", "not 2", "at most one king of White"),
        ],
    ),
    wrong_actions=(
        STANDARD,
        "4k/1P1R1/5/5/K4 w - - 0 1",  # a white pawn on b4, a rook on d4
        [
            ("A2A3", "'A2A3'", "'a2a3'"),
            ("a5a6", "'a5a6'", "a1..e5"),
            ("b4b5k", "'b4b5k'", "'d4d5q'"),
            ("a1b4", "not b4", "line or a knight's jump from a1"),
            ("b4c5", "'b4c5q'", "the pawn becomes"),
            ("a1a2q", "'q'", "no promotion"),
            ("d4d5q", "'q'", "no promotion"),
            ("b4d5r", "'b4d5r'", "one cell ahead"),
            (49 * 0 + 9, "leads nowhere from a1"),
            (49 * 0 + 0, "leads nowhere from a1"),
            (49 * 18 + 0, "no pawn of the mover on d4"),
        ],
    ),
    not_in_text=("occurred", "history"),
    reference=make_reference,
    played=PLAYED,
)
