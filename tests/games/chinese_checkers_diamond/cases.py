"""The rules of Chinese Checkers on the diamond as rows, and its material for the tests in `tests/contract`.

Boards are written row by row; then come the seat to move and the plies played. The cells of size 5 are numbered

     0  1  2  3  4
     5  6  7  8  9
    10 11 12 13 14       the neighbours of 12: 7 and 8 above, 11 and 13 beside, 16 and 17 below
    15 16 17 18 19
    20 21 22 23 24

Seat 0 starts in the corner of 0 and wants to fill the corner of 24.
"""

from typing import Any

import numpy as np

from tests.games.chinese_checkers_diamond.reference import Move, Position, Reference
from tests.helpers.cases import Cases, Played, Rule, at_random, combinations

# The numbers of pieces whose homes fit on a board of each size.
FITTING = {2: [1], 3: [1, 3], 4: [1, 3, 6]} | {size: [1, 3, 6, 10] for size in range(5, 10)}
ID = "chinese_checkers_diamond"
SMALL, ONE_PIECE, LOCK = f"{ID}(size=4, pieces=3)", f"{ID}(size=3, pieces=1)", f"{ID}(size=5, pieces=6, tip_lock=True)"
FIVE, LONE, CROWDED = f"{ID}(size=5, pieces=3)", f"{ID}(size=5, pieces=1)", f"{ID}(size=3, pieces=3)"
WON_BY_SEAT_0 = "..../..../...0/..00"
LONG = "...../..1../.1.../..0../01... 0 0"
HOLE = "10.../...../0..../...../..... 0 0"


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


def moves(*parts: str) -> str:
    """Moves of each piece to some cells: "12>7 8" is "12>7 12>8"."""
    return " ".join(
        f"{origin}>{cell}" for part in parts for origin, _, to in [part.partition(">")] for cell in to.split()
    )


def locks(rows: str, move: str, *, locked: bool) -> Rule:
    """Whether `tip_lock` forbids a move: it would leave the mover's tip empty behind four pieces of its own."""
    return Rule(f"{move} in {rows}", LOCK, f"{rows} 0 0", of=move, legal="" if locked else move)


RULES = [
    # Steps and whole chains of hops.
    Rule("opening", SMALL, "00../0.../...1/..11 0 0", legal=moves("0>2 8", "1>2 5", "4>5 8")),
    # 12 hops over its own 7 and a foreign 11; behind 13 stands 14, behind 16 stands 20, and 17 is empty.
    Rule("over any one piece", FIVE, "...../..0../.1011/.1.../1.... 0 0", of="12>", legal=moves("12>2 10 8 17")),
    Rule("a chain may end after any hop", FIVE, LONG, of="20>", legal=moves("20>15 16 22 12 2 10")),
    Rule("a chain is one action", FIVE, LONG, "20>2", text="..0../..1../.1.../..0../.1... 1 1"),
    # 3 may hop over 2 to 1, but not over the cell that it left.
    Rule("not over the origin", LONE, "..00./...../...../...../..... 0 0", legal=moves("3>1 4 7 8", "2>1 4 6 7")),
    # The pass is the only move where there is no other.
    Rule("pass", ONE_PIECE, "011/1../1.. 0 0", "0>0", text="011/1../1.. 1 1"),
    Rule("pass without pieces", ONE_PIECE, ".1./.../... 0 0", legal="0>0"),
    # Forbidden: filling the own home around an opponent, by a step or by a hop.
    Rule("own home", FIVE, HOLE, of="10>", legal=moves("10>11 15 6")),
    Rule("pass for the own home", CROWDED, "111/.1./011 0 0", legal="0>0"),
    # Forbidden by `tip_lock`.
    locks(".00../0..../.0.../...../.....", "11>10", locked=True),  # the last of the four closes
    locks("100../0..../.0.../...../.....", "11>10", locked=False),  # the tip is not empty
    locks(".00../0..../0..../...../.....", "1>0", locked=False),  # a lock may be opened
    locks(".00../0..../0..../..0../.....", "17>18", locked=True),  # but does not stay
    Rule("a chain passes the lock", LOCK, ".00../0..../.1.../1..../0.... 0 0", of="20>", legal=moves("20>16 21 12 0")),
    Rule("pass for a locked tip", LOCK, "0..../...../....1/....1/..11. 0 0", legal="0>0"),
    # Wins.
    Rule("seat 0", SMALL, "..../..../0..1/.0.1 0 199", "13>14", rewards=(1, -1), winner=0, reason="goal"),
    Rule("seat 1", SMALL, "11../..../1.../.0.. 1 8", "8>4", rewards=(-1, 1), winner=1, reason="goal"),
    Rule("goal of opponents", SMALL, "..../..../0..1/.011 0 0", "13>9"),
    Rule("a chain ends in the goal", SMALL, "..../..../...0/.00. 0 0", "13>15", rewards=(1, -1), winner=0),
    Rule("a full goal stays full", SMALL, "..../0.../...0/..01 0 0", "4>5", rewards=(1, -1), winner=0),
    Rule("limit", SMALL, "..../..../0..1/.0.1 0 199", "13>9", end="truncated", reason="200"),
    # Positions that are read.
    Rule("won as read", SMALL, f"{WON_BY_SEAT_0} 1 200", winner=0),
    Rule("over the limit", SMALL, f"{WON_BY_SEAT_0} 0 201", end="truncated"),
]


def choose_eagerly(reference: Reference, rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """The move that brings a piece furthest towards the goal, the last pieces first; one in ten is random."""

    def gain(move: Move) -> float:
        if move is None:
            return 0.0
        way = [sum(cell) for cell in move]
        if position.seat == 0:
            return (way[1] - way[0]) * (10.0 - 0.1 * way[0])
        return (way[0] - way[1]) * (10.0 + 0.1 * way[0])

    if rng.random() < 0.1:
        return at_random(reference, rng, position, legal)
    return max(legal, key=lambda action: (gain(legal[action]), rng.random()))


def crowd(rng: np.random.Generator, reference: Reference) -> str:
    """Any number of pieces anywhere near the last ply. In every second one the homes are full but for a cell each."""
    size = reference.size
    share, swapped = rng.random(), rng.integers(0, 2)
    line = np.add.outer(np.arange(size), np.arange(size)) - (size - 1)
    likely = np.where(line < 0, swapped, 1 - swapped).astype(str)
    any_owner = rng.integers(0, 2, (size, size)).astype(str)
    content = np.where(rng.random((size, size)) < 0.7, likely, any_owner)
    content = np.where(rng.random((size, size)) < share, content, ".")
    if rng.random() < 0.5:
        for home in map(sorted, reference.home):
            for cell in home:
                content[cell] = any_owner[cell]
            content[home[int(rng.integers(len(home)))]] = "."
    ply = rng.integers(max(0, reference.max_plies - 8), reference.max_plies)
    return f"{'/'.join(''.join(row) for row in content)} {rng.integers(0, 2)} {ply}"


def crowds(rng: np.random.Generator, reference: Reference) -> list[str]:
    """Crowded boards near the last ply: forbidden moves, passes, long chains."""
    return [crowd(rng, reference) for _ in range(40)]


def played(size: int, pieces: int, tip_lock: bool, max_plies: int, *, wins: int = 5) -> list[Played]:
    """Whole games of eager players, if any must be won, and some plies on crowded boards. One board has all forms."""
    env = f"{ID}({size=}, {pieces=}, {tip_lock=}, {max_plies=})"
    forms = ["library"] if (size, pieces) == (5, 6) else []
    whole = Played(env, {"won": wins}, 20, choose=choose_eagerly, forms=forms)
    ends = {"won": 1, "truncated": 1}
    near = Played(env, ends, 20, crowds, 6, choose_eagerly, illegal=0.05, forms=forms, seed=2)
    return [whole, near] if wins else [near]


# Plies that are enough for eager players to win, and not for random ones.
PLAYED = [
    *(*played(3, 3, False, 25), *played(5, 6, True, 60), *played(9, 10, False, 120, wins=0)),
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
        ({"size": "4"}, "size must be an integer from 2 to 9, not '4'"),
        ({"pieces": 2}, "pieces must be one of 1, 3, 6, 10, not 2"),
        ({"size": 4, "pieces": 10}, "pieces must be one of 1, 3, 6 for size=4, where both homes fit, not 10"),
        ({"tip_lock": 1}, "tip_lock must be one of False, True, not 1"),
        ({"pieces": 3, "tip_lock": True}, "tip_lock=True is a rule for pieces=6 only, not for pieces=3"),
        ({"max_plies": None}, "max_plies must be an integer from 1 to 1000000, not None"),
    ],
    rules=RULES,
    wrong_positions=(
        f"{ID}(size=2, pieces=1)",
        [
            ("", "''", "three fields"),
            ("0. 0 0", "'0.'", "2 rows"),
            ("0./1 0 0", "'1'", "2 cells in row 1"),
            ("0./.2 0 0", "'2'", "'.', '0' or '1'"),
            ("0./.1 2 0", "'2'", "0 to 1"),
            ("0./.1 0 99999999999", "'99999999999'", "turns"),
        ],
    ),
    wrong_actions=(
        SMALL,
        "00../0.../...1/..11 0 0",
        [
            ("pass", "'pass'", "'0>8'"),
            ("1>16", "16", "0 to 15"),
            ("99>0", "99", "0 to 15"),
        ],
    ),
    reference=lambda env: Reference(**vars(env)),
    played=PLAYED,
)
