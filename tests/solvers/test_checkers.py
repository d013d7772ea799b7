"""Alpha-beta in checkers: moves as shifts of words, and values at the ends of the game. In plain Python unless slow.

Moves: published counts, and the slow reference. `test_host_player.py` compares values with those of minimax.
"""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jaxgames.games.checkers import Checkers
from jaxgames.games.checkers.search import SEARCHED_GAME, WEIGHTS, alphabeta, make_search, rules_of
from jaxgames.games.checkers.search import Position as SearchPosition
from jaxgames.games.checkers.search_moves import MAX_MOVES, legal_sources, moved, opponent_can_jump, write_moves
from jaxgames.solvers.alphabeta.clock import MAX_NODES, NO_LIMIT
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from jaxgames.solvers.alphabeta.deepening import HostSearchPlayer
from jaxgames.solvers.alphabeta.search import GENERATION, PLIES_LEFT
from jaxgames.solvers.alphabeta.table import MINUS_INFINITY
from tests.games.checkers.random_positions import crowds, endgames, hunts
from tests.games.checkers.reference import Position, Reference
from tests.games.test_perft import POSITIONS, START_MOVES
from tests.helpers.minimax import random_games
from tests.solvers.slow_checkers import is_threatened, state_of, words

START = (0xFFF00000, 0x00000FFF, 0, 0)  # own, opponents, kings, jumper
ELEVEN_DEEP = 85_242_128  # published with START_MOVES
LARGE_TABLE, NO_TABLE = 1 << 12, 0


# -- moves -------------------------------------------------------------------------------------------------------------


def legal(position: Position) -> list[int]:
    moves = [0] * MAX_MOVES
    number = write_moves(legal_sources(*words(position)), moves, 0)
    return moves[:number]


def positions(rng: np.random.Generator, number: int) -> list[Position]:
    """Random games, endgames, long captures and crowds; those that come next in them are in the middle of captures."""
    texts = [text for kind in (endgames, hunts, crowds) for text in kind(rng, number)]
    read = (Reference().from_string(text) for text in texts)
    return random_games(Reference(), rng, number, plies=(0, 100)) + [position for position in read if not position.over]


def test_moves_follow_the_reference() -> None:
    reference, rng = Reference(), np.random.default_rng(1)
    num_jumps_on = 0
    for position in positions(rng, 60):
        for _ in range(4):
            moves = reference.moves(position)
            assert opponent_can_jump(*words(position)[:3]) == is_threatened(reference, position)
            assert sorted(legal(position)) == sorted(moves)
            action = int(rng.choice(sorted(moves)))
            after = reference.after(position, moves[action])
            *found, _ = moved(*words(position)[:3], action)
            assert tuple(found) == words(after), reference.to_string(position)
            num_jumps_on += after.jumper is not None
            position = after
            if position.over:
                break
    assert num_jumps_on > 30


@compiled
def num_sequences(own: int, opponents: int, kings: int, jumper: int, turns: int, moves: Any, begin: int) -> int:
    """The number of sequences of a number of whole turns. `moves` has room for the actions of all plies."""
    if turns == 0:
        return 1
    number = write_moves(legal_sources(own, opponents, kings, jumper), moves, begin)
    total = 0
    for place in range(begin, begin + number):
        after = moved(own, opponents, kings, moves[place])
        left = turns if after[3] != 0 else turns - 1
        total += num_sequences(after[0], after[1], after[2], after[3], left, moves, begin + number)
    return total


@pytest.mark.parametrize("text", ["start", *POSITIONS])
def test_number_of_sequences_is_the_known_one(text: str) -> None:
    """From the start it is published; the other positions are full of captures."""
    start = START if text == "start" else words(Reference().from_string(text))
    known = START_MOVES[:5] if text == "start" else POSITIONS[text][0][:4]
    moves = [0] * 100 * MAX_MOVES
    assert [num_sequences(*start, turns, moves, 0) for turns in range(1, len(known) + 1)] == known


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="takes an hour in plain Python")
def test_number_of_sequences_eleven_deep_is_the_published_one() -> None:
    moves = ints([0] * 100 * MAX_MOVES, compiled=True)
    count = function_for(True)(num_sequences)
    found = [count(*START, turns, moves, 0) for turns in range(1, 12)]
    assert found == [*START_MOVES, ELEVEN_DEEP]


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "depth", "draw_rule", "quiet", "value"),
    [
        ("B:W10,18:B6,12", 1, "wcdf", 0, 999.98),  # two jumps are one turn, so one level
        ("B:WK29:BK22,K31", 3, "wcdf", 77, 999.97),  # the king is caught in the third ply
        ("B:WK29:BK22,K31", 4, "wcdf", 78, 0),
        ("B:WK29:BK22,K31", 3, "openspiel", 37, 999.97),
        ("B:WK29:BK22,K31", 4, "openspiel", 38, 0),
        ("W:WK27:B28", 1, "wcdf", 79, 999.99),  # 27-32 blocks Black, and that comes before the draw
        ("W:WK27:B28", 1, "openspiel", 38, 999.99),
        ("W:WK27:B28", 1, "openspiel", 39, 0),
        ("W:WK29,30,31,32:BK1", 2, "adjudicated", 39, 999.99),  # four pieces against one win in turn 40
        ("B:WK29,30,31,32:BK1", 2, "adjudicated", 38, -999.98),
        ("W:WK31,32:BK1", 1, "adjudicated", 59, 999.99),  # and one piece more in turn 60
        ("W:WK32:BK1", 2, "adjudicated", 59, 0),
    ],
)
def test_value_at_the_limits_is_the_known_one(text: str, depth: int, draw_rule: str, quiet: int, value: float) -> None:
    env, state = Checkers(draw_rule=draw_rule), state_of(replace(Reference().from_string(text), quiet=quiet))
    player = HostSearchPlayer(SEARCHED_GAME, env, depth, None, "material", LARGE_TABLE, compiled=False)
    assert player.move_values(state).value == value


@pytest.mark.parametrize("draw_rule", ["wcdf", "openspiel", "adjudicated"])
def test_table_changes_no_value_near_the_ends_of_the_game(draw_rule: str) -> None:
    """One table for all of them, as if they had come up in one search."""
    rules = rules_of(Checkers(draw_rule=draw_rule))
    ends = [limit for limit in (rules.lead_from, rules.draw_at) if limit > 0]
    quiets = [0, *(quiet for limit in ends for quiet in range(limit - 5, limit))]
    limits = [(quiet, NO_LIMIT) for quiet in quiets] + [(0, left) for left in range(1, 6)]
    texts = ("B:WK29:BK22,K31", "B:W29:BK22,K31", "W:WK6,K9:BK1", "B:WK29:BK1,K2,K3,K4")
    boards = [words(Reference().from_string(text)) for text in texts]
    searches = [make_search(rules, WEIGHTS["material"], size, compiled=False) for size in (LARGE_TABLE, NO_TABLE)]
    values: set[int] = set()
    for depth, board, (quiet, plies_left) in itertools.product((3, 2, 1, 2, 3, 4), boards, limits):
        value: list[int] = []
        for space in searches:
            space.counts[MAX_NODES], space.counts[PLIES_LEFT], space.counts[GENERATION] = NO_LIMIT, plies_left, 1
            position = SearchPosition(*board, quiet)
            value.append(alphabeta(space, position, 0, depth, MINUS_INFINITY, -MINUS_INFINITY, 0))
        assert value[0] == value[1]
        values.add(value[0])
    assert len(values) > 1
