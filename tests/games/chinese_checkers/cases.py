"""The rules of Chinese Checkers as rows, and its material for the tests in `tests/contract`.

Boards are written row by row from the top; then come the seat to move, the cells of its chain of hops and the rounds
played. The cells of size 2 are numbered

                     0
                   1   2
       3   4   5   6   7   8   9
        10  11  12  13  14  15
          16  17  18  19  20
        21  22  23  24  25  26
      27  28  29  30  31  32  33
                  34  35
                    36

Seat 0 starts on the top triangle and wants to fill 34, 35, 36.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.games.chinese_checkers.reference import Cell, Move, Position, Reference
from tests.helpers.cases import Cases, Played, Rule, at_random, combinations

PLAYERS = [2, 3, 4, 6]
REWARDS = ["sparse", "goal", "movement", "positive_sum", "win_loss"]
TWO, SIX = "chinese_checkers(size=2, num_players=2)", "chinese_checkers(size=2, num_players=6)"
TINY = "chinese_checkers(size=1, num_players=2)"

START = "0/00/......./....../...../....../......./11/1"
START_OF_SIX = "0/00/55...11/5....1/...../4....2/44...22/33/3"
CHAIN = "0/0./......./....../1.0../..1.../......./1./."
STEPPED = "0/0./......./....../1..0./..1.../......./1./."
IN_CHAIN = "0/0./......./....../1..../..1.../..0..../1./. 0 18,29 0"  # after 18=>29
BACKED = "./../..1..../..1.../.0011/...1../...0.../0./. 0 - 0"
RING = "./../......./....../..01./...11./......./../."
BY_STEP = "1/1./......./....../1..../....../..0..../.0/0"  # seat 0 wins by 29->34
BY_SEAT_1 = "1/1./....1../....../....0/....../......./.0/0 1 - 199"  # by 7->2, in the last round
BY_HOP = "1/1./......./....../...../...0../..11.../.0/0"  # by 24=>34
FULL_GOAL = "./../......./....../...../...1../1...0../00/0"  # of seat 0
FULL = "./../......./....../..0../....../1....../00/0 0 - 0"  # and a peg of seat 0 on 18
BESIDE = "./../......0/....0./0..../....../......1/10/. 0 - 0"
BONUSES = "./../......./....../..01./..1.1./....0../0./. 0 - 0"
SCHEMES = {reward: f"chinese_checkers(size=2, num_players=3, {reward=})" for reward in REWARDS}
MAX_ROUNDS = {1: 3, 2: 17, 3: 38, 4: 75}  # enough for eager players to win, not for random ones


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


def choose_eagerly(reference: Reference, rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """The submove that brings a peg furthest towards the tip of the goal, the last pegs first; one in ten is random."""
    if rng.random() < 0.1:
        return at_random(reference, rng, position, legal)

    def squared_way(cell: Cell) -> int:
        q, r = reference.seen[position.seat][cell]
        q, r = q + reference.size, r - 2 * reference.size  # from the tip
        return max(abs(q), abs(r), abs(q + r)) ** 2

    def gain(move: Move) -> int:
        if move.origin is None or move.target is None:
            return 0
        return squared_way(move.origin) - squared_way(move.target)

    return max(legal, key=lambda action: (gain(legal[action]), rng.random()))


def crowds(rng: np.random.Generator, reference: Reference, boards: int) -> list[str]:
    """Any pegs on any cells near the limit of rounds: seats without pegs, stuck ones, long chains, full goals."""
    texts: list[str] = []
    for _ in range(boards):
        density, seat = rng.random(), int(rng.integers(reference.num_players))
        pegs: dict[Cell, int | None] = {
            cell: int(rng.integers(reference.num_players)) if rng.random() < density else None
            for cell in reference.cells
        }
        if rng.random() < 0.5:
            owner = seat if rng.random() < 0.5 else int(rng.integers(reference.num_players))
            pegs |= dict.fromkeys(reference.goal[owner], owner)
        rounds = max(0, reference.max_rounds - int(rng.integers(1, 4)))
        texts.append(reference.to_string(Position(pegs=pegs, seat=seat, rounds=rounds)))
    return texts


RULES = [
    # Steps, hops and the end of a turn.
    Rule("opening", TWO, f"{START} 0 - 0", legal="0=>5 0=>7 1->5 1->6 2->6 2->7"),
    Rule("six", SIX, f"{START_OF_SIX} 4 - 0", of="27", legal="27=>16 27=>29"),
    Rule("a step ends the turn", TWO, f"{CHAIN} 0 - 0", "18->19", text=f"{STEPPED} 1 - 0"),
    Rule("a hop keeps it", TWO, f"{CHAIN} 0 - 0", "18=>29", text=IN_CHAIN, legal="29=>36 end", rewards=(0.001, 0)),
    # Over its own peg on 17 and a foreign one on 24; 12 is backed by 5, 19 by 20.
    Rule("over any one peg", TWO, BACKED, of="18", legal="18=>16 18=>31 18->13 18->23"),
    Rule("the end of a turn pays nothing", TWO, IN_CHAIN, "end", text=f"{IN_CHAIN.split()[0]} 1 - 0"),
    Rule("no cell twice", TWO, f"{RING} 0 - 0", "18=>20 20=>31", legal="end", rewards=(0.001, 0)),
    Rule("stuck", TINY, "0/.11./1.1/..../. 0 - 0", "end", text="0/.11./1.1/..../. 1 - 0"),
    Rule("no pegs", TINY, "./.1../.../..../. 0 - 0", legal="end"),
    Rule("any triangle may be entered", SIX, BESIDE, of="14", legal="14->7 14->8 14->13 14->15 14->19 14->20"),
    # Wins.
    Rule("win by a step", TWO, f"{BY_STEP} 0 - 0", "29->34", rewards=(10.101, 0), winner=0, reason="goal"),
    Rule("win by a hop", TWO, f"{BY_HOP} 0 - 0", "24=>34", rewards=(10.101, 0), winner=0, reason="goal"),
    Rule("a foreign peg in the goal", TWO, f"{BY_STEP.replace('.0/0', '10/0')} 0 - 0", "29->28"),
    Rule("any submove wins if the goal is full", TWO, FULL, "18->12", rewards=(9.999, 0), winner=0),
    # 0.1 for a peg that enters the goal, -0.1 for one that leaves it; 0.001 for a submove away from home.
    Rule("goal pays the entry", SCHEMES["goal"], BONUSES, "31->35", rewards=(0.1, 0, 0)),
    Rule("movement pays the way", SCHEMES["movement"], BONUSES, "18=>29", rewards=(0.001, 0, 0)),
    Rule("positive_sum takes both", SCHEMES["positive_sum"], BONUSES, "34->29", rewards=(-0.101, 0, 0)),
    Rule("win_loss pays neither", SCHEMES["win_loss"], BONUSES, "31->35", rewards=(0, 0, 0)),
    # The limit of rounds.
    Rule("win in the last round", TWO, BY_SEAT_1, "7->2", rewards=(0, 10.101), winner=1),
    Rule("limit", TWO, f"{START} 1 - 199", "34->30", rewards=(0, 0.001), end="truncated", reason="200 rounds"),
    Rule("a chain is played to its end", TWO, f"{START} 1 - 199", "36=>29", rewards=(0, 0.001)),
    Rule("limit after a chain", TWO, f"{START} 1 - 199", "36=>29 end", end="truncated", reason="200 rounds"),
    # Positions that are read: after a step the seat before the mover may have won, in a chain the mover.
    Rule("won as read", TWO, f"{FULL_GOAL} 1 - 200", winner=0),
    Rule("in a chain by the mover", TWO, f"{FULL_GOAL} 0 18,31 0", winner=0),
    Rule("seat 3 of four", "chinese_checkers(size=1, num_players=4)", "./...3/.../..../. 0 - 3", winner=3),
    Rule("seat 5 of six", "chinese_checkers(size=1, num_players=6)", "./..../.../...5/. 0 - 3", winner=5),
    Rule("over the limit", TWO, f"{FULL_GOAL} 0 - 201", end="truncated"),
]


def named(size: int, num_players: int, max_rounds: int | None = None) -> str:
    """An env. The reward scheme depends on size and seats so that each size and each number of seats meets most."""
    reward = REWARDS[(size + PLAYERS.index(num_players)) % 5]
    max_rounds = max_rounds or MAX_ROUNDS[size]
    return f"chinese_checkers(size={size}, num_players={num_players}, reward={reward!r}, max_rounds={max_rounds})"


def whole(size: int, num_players: int, forms: Sequence[str] = ()) -> list[Played]:
    """Eager players win, random ones come to the limit of rounds, if that is near."""
    env, ends = named(size, num_players), {"truncated": 1} if size == 1 else {}
    eager = Played(env, {"won": 1}, 6, choose=choose_eagerly, illegal=0.0005, forms=forms, seed=6)
    return [eager, Played(env, ends, 6, limit=40, illegal=0.0005, forms=forms, seed=6)]


def crowded(env: str, boards: int, *ends: str, forms: Sequence[str] = ()) -> Played:
    def texts(rng: np.random.Generator, reference: Reference) -> list[str]:
        return crowds(rng, reference, boards)

    return Played(env, dict.fromkeys(ends, 1), 6, texts, 12, illegal=0.05, forms=forms, seed=0)


FORMS = ("library", "tpu")
PLAYED = [
    *whole(1, 2),
    *whole(2, 2),
    *whole(2, 6, FORMS),
    *(
        crowded(named(2, num_players), 48, "won", "truncated", "illegal", forms=FORMS if num_players == 6 else ())
        for num_players in PLAYERS
    ),
    crowded(named(8, 6, max_rounds=38), 24, "illegal"),
]

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
        ({"size": 9}, "size must be an integer from 1 to 8, not 9"),
        ({"num_players": "2"}, "num_players must be one of 2, 3, 4, 6, not '2'"),
        ({"reward": "dense"}, "'sparse', 'goal', 'movement', 'positive_sum', 'win_loss', not 'dense'"),
        ({"max_rounds": 0}, "max_rounds must be an integer from 1 to 1000000 or None, not 0"),
    ],
    rules=RULES,
    wrong_positions=(
        TINY,
        [
            ("0/..../.../..../1 0 -", "'0/..../.../..../1 0 -'", "four fields"),
            ("0/..../.../.... 0 - 0", "'0/..../.../....'", "5 rows"),
            ("0/.2../.../..../1 0 - 0", "'2'", "0 to 1"),
            ("0/..../.../..../1 0 5 0", "'5'", "chain"),
            ("0/..../.../..../1 0 5,13 0", "13", "0 to 12"),
            ("0/.1../.../..../1 0 5,0,5,0 0", "5,0,5,0", "different cells"),
            ("0/.1../.../..../1 0 6,0 0", "6,0", "two cells along a line"),
            ("0/.1../1../..../1 0 5,0 0", "5,0", "empty cell at 5"),
            ("./.1../.../..../1 0 5,0 0", "5,0", "peg of seat 0 at 0"),
        ],
    ),
    wrong_actions=(
        TWO,
        f"{START} 0 - 0",
        [
            ("1>6", "'1>6'", "'3->14'"),
            ("1->37", "37", "0 to 36"),
            ("1->7", "'1->7'", "next to 1"),
            ("0=>6", "'0=>6'", "along a line from 0"),
            ("0->1", "'0->1'", "occupied"),
            ("1=>11", "'1=>11'", "empty"),
            (6 * 0 + 1, "leaves the board"),
        ],
    ),
    reference=lambda env: Reference(**vars(env)),
    played=PLAYED,
)
