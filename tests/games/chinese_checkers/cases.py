"""The material of Chinese Checkers for the tests in `tests/contract`."""

from typing import Any

from hypothesis import strategies as st

from jaxgames import Env
from tests.games.chinese_checkers.pictures import (
    CHAIN,
    IN_CHAIN,
    PLAYERS,
    START,
    WIN_BY_HOP,
    WIN_BY_STEP,
    upside_down,
    written,
)
from tests.games.chinese_checkers.reference import Reference
from tests.helpers.cases import Cases, Finished, Judged, Placement, combinations
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED

TWO, THREE, FOUR, SIX = (f"chinese_checkers(size=2, num_players={num_players})" for num_players in PLAYERS)
TINY = "chinese_checkers(size=1, num_players=2)"
# Rows of the board of size 2 from the first cell to behind the last.
ROWS = [(0, 1), (1, 3), (3, 10), (10, 16), (16, 21), (21, 27), (27, 34), (34, 36), (36, 37)]

# Seat 0's goal is full.
FULL_GOAL = """
             .
            . .
      . . . . . . .
       . . . . . .
        . . . . .
       . . . 1 . .
      1 . . . 0 . .
            0 0
             0
"""


def make_reference(env: Env[Any]) -> Reference:
    parameters = vars(env)
    return Reference(parameters["size"], parameters["num_players"], parameters["reward"], parameters["max_rounds"])


def facts(size: int, num_players: int) -> dict[str, Any]:
    """Two bytes a cell or fewer, one of them for its owner; the seats' rewards are four each."""
    cells = 6 * size * (size + 1) + 1
    return {
        "num_players": num_players,
        "num_actions": 6 * cells + 1,
        "observation_shape": (4 * size + 1, 4 * size + 1, num_players + 2),
        "state_bytes": cells + 4 * num_players + 13,
        "needs_key": False,
    }


@st.composite
def placements(draw: st.DrawFn) -> Placement:
    """Any pegs on any cells, reachable or not; over if the seat before the mover has filled its goal."""
    num_players = draw(st.sampled_from([2, 6]))
    cells = "".join(draw(st.lists(st.sampled_from("." + "012345"[:num_players]), min_size=37, max_size=37)))
    rows = "/".join(cells[begin:end] for begin, end in ROWS)
    text = f"{rows} {draw(st.integers(0, num_players - 1))} - {draw(st.integers(0, 199))}"
    position = Reference(2, num_players, max_rounds=200).from_string(text)
    return Placement({2: TWO, 6: SIX}[num_players], text, (position.terminated, position.truncated))


# At the start, in the mover's frame: over the edge, onto an own peg, from an empty cell, with a foreign peg, an early
# end, and numbers that are no actions.
ILLEGAL_AT_THE_START = [6 * 0 + 1, 6 * 1 + 0, 6 * 18 + 4, 6 * 36 + 1, 222, -1, -7, 223, 2**31 - 1, -(2**31)]

CASES = Cases(
    id="chinese_checkers",
    fast=["chinese_checkers(size=2, num_players=4, reward='goal', max_rounds=10)"],
    slow=[
        *combinations("chinese_checkers", size=[1, 2, 3, 4], num_players=PLAYERS),
        *combinations("chinese_checkers", size=[1], reward=["sparse", "goal", "movement", "positive_sum", "win_loss"]),
        *combinations("chinese_checkers", size=[2], num_players=[2], reward=["win_loss"], max_rounds=[10]),
        *combinations("chinese_checkers", size=[8], num_players=[2, 6]),
    ],
    facts={
        "chinese_checkers": facts(4, 6) | {"size": 4, "reward": "positive_sum", "max_rounds": 1000},
        **{
            f"chinese_checkers(size={size}, num_players={num_players}, max_rounds=7)": facts(size, num_players)
            for size in range(1, 9)
            for num_players in PLAYERS
        },
    },
    wrong_parameters=[
        ({"size": 0}, "size must be an integer from 1 to 8, not 0"),
        ({"size": 9}, "size must be an integer from 1 to 8, not 9"),
        ({"size": True}, "size must be an integer from 1 to 8, not True"),
        ({"num_players": 5}, "num_players must be one of 2, 3, 4, 6, not 5"),
        ({"num_players": "2"}, "num_players must be one of 2, 3, 4, 6, not '2'"),
        ({"reward": "dense"}, "'sparse', 'goal', 'movement', 'positive_sum', 'win_loss', not 'dense'"),
        ({"max_rounds": 0}, "max_rounds must be an integer from 1 to 1000000 or None, not 0"),
        ({"max_rounds": 1_000_001}, "max_rounds must be an integer from 1 to 1000000 or None, not 1000001"),
        ({"pieces": 6}, "no parameter 'pieces'"),
    ],
    judged=[
        *(
            Judged(env, written(START[num_players], seat=1), ILLEGAL_AT_THE_START)
            for env, num_players in ((TWO, 2), (SIX, 6))
        ),
        Judged(TWO, written(CHAIN)),
        # Back to the origin of the chain, a step, other pegs.
        Judged(TWO, written(IN_CHAIN, chain="18,29"), ["29=>18", "29->28", "0=>5", "1->6"]),
        Judged(TINY, "0/.11./1.1/..../. 0 - 0"),  # nothing but the end of the turn
    ],
    finished=[
        Finished("step", TWO, written(WIN_BY_STEP), ["29->34"], [10.101, 0], "win", (0,), "goal"),
        Finished("hop", TWO, written(WIN_BY_HOP), ["24=>34"], [10.101, 0], "win", (0,), "goal"),
        Finished("seat 1", TWO, written(upside_down(WIN_BY_HOP), 1), ["12=>2"], [0, 10.101], "win", (1,), "goal"),
        Finished("of three", THREE, written(WIN_BY_STEP), ["29->34"], [10.101, 0, 0], "win", (0,), "goal"),
        Finished(
            "win at the limit",
            TWO,
            written(upside_down(WIN_BY_STEP), 1, rounds=199),
            ["7->2"],
            [0, 10.101],
            "win",
            (1,),
            "goal",
        ),
        Finished("limit", TWO, written(START[2], 1, rounds=199), ["34->30"], [0, 0.001], "truncated", (), "200 rounds"),
        Finished(
            "limit after a chain",
            TWO,
            written(START[2], 1, rounds=199),
            ["36=>29", "end"],
            [0, 0],
            "truncated",
            (),
            "200 rounds",
        ),
        Finished("illegal", TWO, written(START[2]), -1, [-1, 1], "forfeit", (), "seat 0"),
        Finished(
            "illegal by seat 2 of six",
            SIX,
            written(START[6], 2),
            222,
            [0.2, 0.2, -1, 0.2, 0.2, 0.2],
            "forfeit",
            (),
            "seat 2",
        ),
        Finished("illegal in a chain", TWO, written(IN_CHAIN, chain="18,29"), 0, [-1, 1], "forfeit", (), "seat 0"),
    ],
    wrong_positions=(
        TINY,
        [
            ("", "''", "four fields"),
            ("0/..../.../..../1 0 -", "'0/..../.../..../1 0 -'", "four fields"),
            ("0/..../.../..../1 0 - 0 0", "'0/..../.../..../1 0 - 0 0'", "four fields"),
            ("0/..../.../.... 0 - 0", "'0/..../.../....'", "5 rows"),
            ("0/..../.../..../1/ 0 - 0", "'0/..../.../..../1/'", "5 rows"),
            ("0/..../../..../1 0 - 0", "'..'", "3 cells"),
            ("0/..../.../...../1 0 - 0", "'.....'", "4 cells"),
            ("0/.2../.../..../1 0 - 0", "'2'", "0 to 1"),
            ("0/.x../.../..../1 0 - 0", "'x'", "0 to 1"),
            ("0/..../.../..../1 2 - 0", "'2'", "0 to 1"),
            ("0/..../.../..../1 -1 - 0", "'-1'", "0 to 1"),
            ("0/..../.../..../1 a - 0", "'a'", "0 to 1"),
            ("0/..../.../..../1 0 - -1", "'-1'", "round"),
            ("0/..../.../..../1 0 - 1.5", "'1.5'", "round"),
            ("0/..../.../..../1 0 - 99999999999", "'99999999999'", "round"),
            ("0/..../.../..../1 0 x 0", "'x'", "chain"),
            ("0/..../.../..../1 0 5 0", "'5'", "chain"),
            ("0/..../.../..../1 0 5,0, 0", "'5,0,'", "chain"),
            ("0/..../.../..../1 0 5,13 0", "13", "0 to 12"),
            ("0/.1../.../..../1 0 5,0,5,0 0", "5,0,5,0", "different cells"),
            ("0/.1../.../..../1 0 6,0 0", "6,0", "two cells along a line"),
            ("0/.1../1../..../1 0 5,0 0", "5,0", "empty cell at 5"),
            ("./.1../.../..../1 0 5,0 0", "5,0", "peg of seat 0 at 0"),
        ],
    ),
    wrong_actions=(
        TWO,
        written(START[2]),
        [
            ("", "''", "'end'"),
            ("END", "'END'", "'end'"),
            ("1>6", "'1>6'", "'3->14'"),
            ("1->", "'1->'", "'3->14'"),
            ("1 -> 6", "'1 -> 6'", "'3->14'"),
            ("-1->6", "'-1->6'", "'3->14'"),
            ("1->37", "37", "0 to 36"),
            ("37->36", "37", "0 to 36"),
            ("1->1", "'1->1'", "next to 1"),
            ("1->7", "'1->7'", "next to 1"),
            ("0->5", "'0->5'", "next to 0"),
            ("0=>6", "'0=>6'", "along a line from 0"),
            ("0=>1", "'0=>1'", "along a line from 0"),
            ("0->1", "'0->1'", "occupied"),
            ("1=>11", "'1=>11'", "empty"),
        ],
    ),
    no_actions=[(TWO, written(START[2]), 6 * 0 + 1, "leaves the board")],
    positions=[
        Placement(TWO, written(FULL_GOAL, seat=1), TERMINATED),  # seat 0 has just moved
        Placement(TWO, written(FULL_GOAL, seat=0), LIVE),  # seat 1 has
        Placement(TWO, written(FULL_GOAL, seat=0, chain="18,31"), TERMINATED),  # in mid-chain the mover moved last
        Placement(TWO, written(FULL_GOAL, seat=0, rounds=199), LIVE),
        Placement(TWO, written(FULL_GOAL, seat=0, rounds=200), TRUNCATED),
        Placement(TWO, written(FULL_GOAL, seat=0, rounds=201), TRUNCATED),
        Placement(TWO, written(FULL_GOAL, seat=1, rounds=200), TERMINATED),  # never both
        Placement(SIX, written(START[6], seat=4), LIVE),
    ],
    placements=placements(),
    reference=make_reference,
    referenced=[
        "chinese_checkers(size=1, num_players=2, max_rounds=3)",
        "chinese_checkers(size=1, num_players=6, max_rounds=3)",
        TWO,
        FOUR,
        "chinese_checkers(size=3, num_players=3)",
        "chinese_checkers(size=4, num_players=6)",
    ],
    # Four seats are not spaced evenly.
    seats_see_the_same_start=[TWO, THREE, SIX],
)
