"""The material of checkers for the tests in `tests/contract`."""

from typing import Any

from hypothesis import strategies as st

from jaxgames import Env
from tests.games.checkers.reference import Reference
from tests.helpers.cases import Cases, Finished, Judged, Placement, combinations
from tests.helpers.positions import LIVE, TERMINATED

START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"
WCDF, OPEN_SPIEL, ONE_PLY = "checkers", "checkers(draw_rule='openspiel')", "checkers(max_plies=1)"
ADJUDICATED = "checkers(draw_rule='adjudicated')"
NO_MOVE, LIMIT = "no legal move", "1 plies without a winner"
QUIET_80, QUIET_40 = "80 plies without a capture or a man's move", "40 plies without a capture"
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
    parameters = vars(env)
    return Reference(parameters["draw_rule"], parameters["max_plies"])


def adjudicated(turn: int, text: str, ply: str, winner: int | None, reason: str) -> Finished:
    """A game that ends with a turn, the number of which is given."""
    rewards = {None: [0, 0], 0: [1, -1], 1: [-1, 1]}[winner]
    kind, winners = ("draw", ()) if winner is None else ("win", (winner,))
    return Finished(
        f"{ply} in turn {turn}", ADJUDICATED, text, [ply], rewards, kind, winners, reason, {"quiet": turn - 1}
    )


# The branches of `status_check` in Larson's post. The one at 50 turns decides nothing that those at 40 do not.
ADJUDICATED_ENDS = [
    adjudicated(7, "B:W18:B14", "14x23", 0, NO_MOVE),
    adjudicated(60, "W:W19:B15", "19x10", 1, NO_MOVE),
    adjudicated(40, "B:WK32:B1,2,3,K4", "1-5", 0, "a lead of 3 pieces after 40 turns"),
    adjudicated(41, "B:WK1,K2,K3,K4:BK32", "32-28", 1, "a lead of 3 pieces after 41 turns"),
    adjudicated(50, "B:WK32:B1,2,3,K4,K5", "1-6", 0, "a lead of 4 pieces after 50 turns"),
    adjudicated(50, "W:WK1,K2,K3,K4,K5:BK32", "1-6", 1, "a lead of 4 pieces after 50 turns"),
    adjudicated(60, "W:WK32:BK1,K2", "32-28", 0, "a lead of 1 piece after 60 turns"),
    adjudicated(60, "W:WK32,K31:BK1", "32-28", 1, "a lead of 1 piece after 60 turns"),
    adjudicated(60, "B:WK32:BK1", "1-5", None, "equal numbers of pieces after 60 turns"),
    adjudicated(59, "W:WK22,K26:B25,K29", "26-30", 1, NO_MOVE),
    adjudicated(60, "W:WK22,K26:B25,K29", "26-30", None, "equal numbers of pieces after 60 turns"),
]


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any pieces on any squares; over if the side to move cannot move. The limit of plies is not reached by reading."""
    pieces = draw(st.lists(st.sampled_from(["", "B", "BK", "W", "WK"]), min_size=32, max_size=32))
    white, black = (
        ",".join(piece[1:] + str(number) for number, piece in enumerate(pieces, start=1) if piece[:1] == side)
        for side in "WB"
    )
    text = f"{draw(st.sampled_from('BW'))}:W{white}:B{black}"
    return Placement(ONE_PLY, text, (Reference().from_string(text).terminated, False))


CASES = Cases(
    id="checkers",
    fast=["checkers(draw_rule='openspiel', max_plies=50)"],
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
        ({"draw_rule": 80}, "'wcdf', 'openspiel', 'adjudicated', not 80"),
        ({"max_plies": 0}, "max_plies must be an integer from 1 to 1000000 or None, not 0"),
        ({"max_plies": 1_000_001}, "not 1000001"),
        ({"max_plies": 1.5}, "not 1.5"),
        ({"max_plies": True}, "not True"),
        ({"max_plies": "9"}, "not '9'"),
        ({"size": 10}, "draw_rule, max_plies"),
        ({"num_players": 2}, "draw_rule, max_plies"),
    ],
    judged=[
        # 21-17 moves White's man, 14-18 an empty square, 9-6 a man backwards, 8-12 goes to an own man.
        Judged(WCDF, START, ["21-17", "14-18", "9-6", "8-12", -1, 128, 2**31 - 1, -(2**31)]),
        Judged(WCDF, "W" + START[1:], ["9-13", "22-26"]),
        Judged(WCDF, "B:W9,11,18,28:B1,5,8", ["1-6", "8-12"]),  # captures are compulsory
        Judged(WCDF, "B:W9,18,28:B1,5,15:J15", ["5x14", "15-19", "15-11"]),  # so is the rest of a capture
        Judged(WCDF, "W:WK9,18:B1,K14,15", ["9-13", "18-22"]),
        Judged(WCDF, "B:WK10,K11,17,18:BK6,K7,9", []),
    ],
    finished=[
        Finished("last piece captured", WCDF, "B:W18:B14", ["14x23"], [1, -1], "win", (0,), NO_MOVE),
        Finished("blocked", WCDF, "B:W28:B19,20", ["20-24"], [1, -1], "win", (0,), NO_MOVE),
        Finished("white wins", OPEN_SPIEL, "W:W19:B15", ["19x10"], [-1, 1], "win", (1,), NO_MOVE),
        Finished("80 plies", WCDF, "B:WK32:BK1", ["1-5"], [0, 0], "draw", (), QUIET_80, {"quiet": 79}),
        Finished("40 plies", OPEN_SPIEL, "B:WK32:BK1", ["1-5"], [0, 0], "draw", (), QUIET_40, {"quiet": 39}),
        *ADJUDICATED_ENDS,
        Finished("limit", ONE_PLY, START, ["11-15"], [0, 0], "truncated", (), LIMIT),
        Finished("limit in a capture", ONE_PLY, "B:W9,11,18,28:B1,5,8", ["8x15"], [0, 0], "truncated", (), LIMIT),
        Finished("win at the limit", ONE_PLY, "B:W18:B14", ["14x23"], [1, -1], "win", (0,), NO_MOVE),
        Finished("draw at the limit", ONE_PLY, "B:WK32:BK1", ["1-5"], [0, 0], "draw", (), QUIET_80, {"quiet": 79}),
        Finished("illegal", WCDF, START, -1, [-1, 1], "forfeit", (), "illegal action by seat 0"),
        Finished("illegal by white", WCDF, "W" + START[1:], 0, [1, -1], "forfeit", (), "illegal action by seat 1"),
    ],
    wrong_positions=(
        WCDF,
        [
            ("", "''", "position such as"),
            ("B", "'B'", "position such as"),
            ("B:W18", "'B:W18'", "position such as"),
            ("B:W18:W19", "'B:W18:W19'", "position such as"),
            ("B:18:19", "'B:18:19'", "position such as"),
            ("B:W18:B9:J9:", "'B:W18:B9:J9:'", "position such as"),
            ("b:W18:B9", "'b'", "side to move"),
            (":W18:B9", "''", "side to move"),
            ("B:W0:B9", "'0'", "1 to 32"),
            ("B:W33:B9", "'33'", "1 to 32"),
            ("B:W18,:B9", "''", "1 to 32"),
            ("B:W18 19:B9", "'18 19'", "1 to 32"),
            ("B:W18, :B9", "''", "1 to 32"),
            ("B:Wk18:B9", "'k18'", "1 to 32"),
            ("B:W18-20:B9", "'18-20'", "1 to 32"),
            ("B:W-1:B9", "'-1'", "1 to 32"),
            ("B:W18:B9.", "'9.'", "1 to 32"),
            ("B:W18:BK", "'K'", "1 to 32"),
            ("B:W18:B9,18", "18", "one piece"),
            ("B:W18,K18:B9", "18", "one piece"),
            ("B:W18:B14:14", "'14'", "such as 'J15'"),
            ("B:W18:B14:JK14", "'JK14'", "such as 'J15'"),
            ("B:W18:B14:J33", "'J33'", "such as 'J15'"),
            ("B:W18:B14:", "''", "such as 'J15'"),
            ("B:W18:B14:J15", "'J15'", "that can jump"),  # empty
            ("B:W18:B14:J18", "'J18'", "that can jump"),  # the opponent's
            ("B:W18:B13,14:J13", "'J13'", "that can jump"),  # has no jump
        ],
    ),
    wrong_actions=(
        WCDF,
        "B:W18,32:B6,10,11,14",
        [
            ("", "''", "'11-15'"),
            ("11", "'11'", "'11-15'"),
            ("11-", "'11-'", "'11-15'"),
            ("11 - 15", "'11 - 15'", "'11-15'"),
            ("11>15", "'11>15'", "'15x22'"),
            ("1x10x19", "'1x10x19'", "'15x22'"),
            ("0-5", "0", "1 to 32"),
            ("11-33", "33", "1 to 32"),
            ("11-11", "'11-11'", "next to 11"),
            ("11-18", "'11-18'", "next to 11"),
            ("12-13", "'12-13'", "next to 12"),
            ("14x18", "'14x18'", "diagonal from 14"),
            ("4x13", "'4x13'", "diagonal from 4"),
            ("11x18", "'11x18'", "no opponent on 15"),
            ("6x15", "'6x15'", "no opponent on 10"),
            ("14-18", "'14-18'", "over the opponent on 18"),
        ],
    ),
    no_actions=[
        (WCDF, START, 4 * 0 + 0, "leaves the board"),
        (WCDF, START, 4 * 4 + 3, "leaves the board"),
        (WCDF, START, 4 * 31 + 1, "leaves the board"),
        (WCDF, "B:W13:B17", 4 * (32 - 17) + 1, "leaves the board"),  # a jump: 13 is on the edge
    ],
    positions=[
        Placement(WCDF, "B:W18:B", TERMINATED),  # White has captured the last piece
        Placement(WCDF, "W:W18:B", LIVE),
        Placement(WCDF, "W:W:B18", TERMINATED),
        Placement(WCDF, "B:W:B", TERMINATED),
        Placement(WCDF, "B:WK22,K30:B25,K29", TERMINATED),  # blocked
        Placement(WCDF, "W:WK22,K30:B25,K29", LIVE),
        Placement(WCDF, "B:W1:B30", TERMINATED),  # a man on its own king row cannot move
        Placement(WCDF, "B:W15,16:B12", LIVE),
        Placement(WCDF, "B:W9,18,28:B1,5,15:J15", LIVE),
    ],
    placements=placements(),
    not_in_text=("quiet", "ply"),
    reference=make_reference,
    referenced=[WCDF],
    seats_see_the_same_start=[WCDF],
)
