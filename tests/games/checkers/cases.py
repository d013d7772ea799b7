"""The rules of checkers as rows, and its material for the tests in `tests/contract`.

Boards are written in PDN: the side to move, White's pieces and Black's, and the piece that must continue its capture.
Black, seat 0, moves down this board.

    .  1  .  2  .  3  .  4
    5  .  6  .  7  .  8  .
    .  9  . 10  . 11  . 12
    13 . 14  . 15  . 16  .
    . 17  . 18  . 19  . 20
    21 . 22  . 23  . 24  .
    . 25  . 26  . 27  . 28
    29 . 30  . 31  . 32  .
"""

from typing import Any

import numpy as np

from jaxgames import Env
from tests.games.checkers.reference import Move, Position, Reference, crowds, endgames, hunts
from tests.helpers.cases import Cases, Played, Rule, combinations

START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
WCDF, OPEN_SPIEL, ONE_PLY = "checkers", "checkers(draw_rule='openspiel')", "checkers(max_plies=1)"
ADJUDICATED = "checkers(draw_rule='adjudicated')"
CHOICE = "B:W9,11,18,28:B1,5,8"
CIRCLE = "B:W9,10,17,18,32:BK6"
NO_MOVE, LIMIT = "no legal move", "1 plies without a winner"
QUIET_80, QUIET_40 = "80 plies without a capture or a man's move", "40 plies without a capture"
WON, LOST = (1, -1), (-1, 1)
COMMON = {
    "num_players": 2,
    "num_actions": 128,
    "observation_shape": (8, 4, 5),
    "state_bytes": 36,
    "reward_range": (-1, 1),
    "zero_sum": True,
    "terminal_rewards": True,
    "return_range": (-1, 1),
    "needs_key": False,
}


def make_reference(env: Env[Any]) -> Reference:
    return Reference(**vars(env))


def carefully(reference: Reference, rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """An action after which nothing can be captured, if there is one."""

    def is_safe(action: int) -> bool:
        after = reference.step(position, action, legal)
        return all(move.captured is None for move in reference.available(after))

    actions: list[int] = rng.permutation(list(legal)).tolist()
    return next(filter(is_safe, actions), actions[0])


def in_turn(turn: int, text: str, plays: str, winner: int | None = None, reason: str = "", end: Any = "live") -> Rule:
    """A rule on a board of the rules "adjudicated", with the number of the turn."""
    paid, counters = None if winner is None else (WON, LOST)[winner], {"quiet": turn - 1}
    return Rule(f"turn {turn}", ADJUDICATED, text, plays, None, "", "", paid, end, winner, reason, counters)


# The branches of `status_check` in Larson's post. The one at 50 turns decides nothing that those at 40 do not.
ADJUDICATION = [
    in_turn(40, "B:WK32:B1,2,3,K4", "1-5", 0, "a lead of 3 pieces after 40 turns"),
    # The lead is compared when the turn ends: the first of two jumps makes a lead of three.
    in_turn(41, "B:W10,19,31:B1,2,3,4,6", "6x15"),
    in_turn(41, "B:W10,19,31:B1,2,3,4,6", "6x15 15x24", 0, "a lead of 4 pieces after 41 turns"),
    in_turn(60, "W:WK32,K31:BK1", "32-28", 1, "a lead of 1 piece after 60 turns"),
    in_turn(60, "B:WK32:BK1", "1-5", None, "equal numbers of pieces after 60 turns", "draw"),
    in_turn(59, "W:WK22,K26:B25,K29", "26-30", 1, NO_MOVE),
    in_turn(60, "W:WK22,K26:B25,K29", "26-30", None, "equal numbers of pieces after 60 turns", "draw"),
]

RULES = [
    # Steps, captures and crowning.
    Rule("black begins", WCDF, START, legal="9-13 9-14 10-14 10-15 11-15 11-16 12-16"),
    Rule("men go forward, kings both ways", WCDF, "B:WK11,25:B9,K18", legal="9-13 9-14 18-14 18-15 18-22 18-23"),
    Rule("captures are compulsory, the longest is not", WCDF, CHOICE, legal="5x14 8x15"),
    Rule("the same piece must go on", WCDF, CHOICE, "8x15", legal="15x22", text="B:W9,18,28:B1,5,15:J15"),
    Rule("a capture ends", WCDF, CHOICE, "8x15 15x22", text="W:W9,28:B1,5,22"),
    Rule("a king may return to its square", WCDF, CIRCLE, "6x15 15x22 22x13 13x6", text="W:W32:BK6"),
    Rule("crowning ends the turn", WCDF, "B:W26,27:B22", "22x31", text="W:W27:BK31"),
    Rule("a king goes on", WCDF, "B:W26,27:BK22", "22x31", legal="31x24", text="B:W27:BK31:J31"),
    # Wins.
    Rule("last piece captured", WCDF, "B:W18:B14", "14x23", rewards=WON, winner=0, reason=NO_MOVE),
    Rule("blocked", WCDF, "B:W28,K32:B19,20,K23,K27", "20-24", rewards=WON, winner=0, reason=NO_MOVE),
    # Draws by plies without progress: a king's move, a man's move, and captures, the first jump of two among them.
    Rule("80 plies", WCDF, "B:WK32:BK1", "1-5", end="draw", reason=QUIET_80, counters={"quiet": 79}),
    Rule("40 plies", OPEN_SPIEL, "B:WK32:BK1", "1-5", end="draw", reason=QUIET_40, counters={"quiet": 39}),
    Rule("a man's move is progress", WCDF, "B:W32:BK1,9", "9-13", counters={"quiet": 79}),
    Rule("for OpenSpiel it is not", OPEN_SPIEL, "B:W32:BK1,9", "9-13", end="draw", counters={"quiet": 39}),
    Rule("a win is no draw", WCDF, "B:W28:BK19,K20", "20-24", rewards=WON, winner=0, counters={"quiet": 79}),
    Rule(
        "in OpenSpiel it is", OPEN_SPIEL, "B:W28:BK19,K20", "20-24", end="draw", reason=QUIET_40, counters={"quiet": 39}
    ),
    *ADJUDICATION,
    # The limit of plies: a jump is a ply.
    Rule("limit in a capture", ONE_PLY, CHOICE, "8x15", end="truncated", reason=LIMIT),
    Rule("win at the limit", ONE_PLY, "B:W18:B14", "14x23", rewards=WON, winner=0),
    Rule("draw at the limit", ONE_PLY, "B:WK32:BK1", "1-5", end="draw", counters={"quiet": 79}),
    # Positions that are read.
    Rule("the last piece is gone", WCDF, "B:W18:B", winner=1),
    Rule("black is written first", WCDF, "W:B2,14:W18,K30", text="W:W18,K30:B2,14"),
]

PLAYED = [
    Played(WCDF, {"won": 20, "illegal": 3}, 40, illegal=0.004),
    Played(OPEN_SPIEL, {"won": 20, "illegal": 3, "drawn": 4}, 40, illegal=0.004),
    Played(ADJUDICATED, {"won": 20, "drawn": 2}, 40),
    # Random kings do not live for the 80 plies that draw by the federation's rule.
    Played(WCDF, {"drawn": 15}, 40, lambda rng, _: endgames(rng, 40), choose=carefully, seed=3),
    Played(WCDF, {"won": 15}, 40, lambda rng, _: endgames(rng, 40), seed=3),
    Played(WCDF, {"won": 60}, 40, lambda rng, _: [*crowds(rng, 200), *hunts(rng, 80)], limit=12, seed=4),
]


CASES = Cases(
    id="checkers",
    fast=["checkers(draw_rule='adjudicated', max_plies=50)"],  # has wins by a counter that no text holds
    slow=["checkers", *combinations("checkers", draw_rule=["wcdf", "openspiel", "adjudicated"], max_plies=[20, 200])],
    facts={
        # At most 22 captures leave both sides a piece. 24 men have 3 rows of 4 with 5, 6 and 7 rows to go, 144 in all.
        WCDF: {**COMMON, "max_steps": 80 * (22 + 144 + 1), "draw_rule": "wcdf", "max_plies": None},
        OPEN_SPIEL: {**COMMON, "max_steps": 40 * 23},
        # 60 turns, and 23 jumps at most in at least two of them.
        ADJUDICATED: {**COMMON, "max_steps": 81},
        "checkers(max_plies=100)": {**COMMON, "max_steps": 100},
        "checkers(draw_rule='openspiel', max_plies=1000)": {**COMMON, "max_steps": 920},
    },
    wrong_parameters=[
        ({"draw_rule": "fmjd"}, "'wcdf', 'openspiel', 'adjudicated', not 'fmjd'"),
        ({"max_plies": 1.5}, "max_plies must be an integer from 1 to 1000000 or None, not 1.5"),
    ],
    rules=RULES,
    wrong_positions=(
        WCDF,
        [
            ("B:W18", "'B:W18'", "position such as"),
            ("B:W18:W19", "'B:W18:W19'", "position such as"),
            ("b:W18:B9", "'b'", "side to move"),
            ("B:W0:B9", "'0'", "1 to 32"),
            ("B:W33:B9", "'33'", "1 to 32"),
            ("B:W18,:B9", "''", "1 to 32"),
            ("B:W18:B9,18", "18", "one piece"),
            ("B:W18:B14:J33", "'J33'", "such as 'J15'"),
            ("B:W18:B14:J15", "'J15'", "that can jump"),  # empty
            ("B:W18:B13,14:J13", "'J13'", "that can jump"),  # has no jump
        ],
    ),
    wrong_actions=(
        WCDF,
        "B:W13,18,32:B6,10,11,14,17",
        [
            ("11>15", "'11>15'", "'11-15'"),
            ("0-5", "0", "1 to 32"),
            ("11-33", "33", "1 to 32"),
            ("12-13", "'12-13'", "next to 12"),
            ("4x13", "'4x13'", "diagonal from 4"),
            ("11x18", "'11x18'", "no opponent on 15"),
            ("6x15", "'6x15'", "no opponent on 10"),
            ("14-18", "'14-18'", "over the opponent on 18"),
            (4 * 0 + 0, "leaves the board"),
            (4 * (32 - 17) + 1, "leaves the board"),  # a jump: 13 is on the edge
        ],
    ),
    not_in_text=("quiet", "ply"),
    reference=make_reference,
    played=PLAYED,
)
