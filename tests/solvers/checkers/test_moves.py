"""Moves of checkers as shifts of words: published counts, and the slow reference. In plain Python unless slow."""

from typing import Any

import numpy as np
import pytest

from jaxgames.games.checkers import rules
from jaxgames.games.checkers.search_moves import (
    MAX_MOVES,
    count_bits,
    legal_sources,
    moved,
    opponent_can_jump,
    rotated,
    shifted,
    write_moves,
)
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from tests.games.checkers.random_positions import crowds, endgames, hunts
from tests.games.checkers.reference import Position, Reference
from tests.games.checkers.test_perft import POSITIONS, START_MOVES
from tests.helpers.minimax import random_games
from tests.solvers.checkers.slow_checkers import is_threatened, state_of

START = (0xFFF00000, 0x00000FFF, 0, 0)  # own, opponents, kings, jumper
ELEVEN_DEEP = 85_242_128  # published with START_MOVES


def words(position: Position) -> tuple[int, int, int, int]:
    """The position as the words own, opponents, kings, jumper."""
    state = state_of(position)
    return int(state.own), int(state.opponents), int(state.kings), int(state.jumper)


def legal(position: Position) -> list[int]:
    moves = [0] * MAX_MOVES
    number = write_moves(legal_sources(*words(position)), moves, 0)
    return moves[:number]


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


def counts(text: str, turns: int) -> list[int]:
    start = words(Reference().from_string(text))
    return [num_sequences(*start, depth, [0] * 100 * MAX_MOVES, 0) for depth in range(1, turns + 1)]


def positions(rng: np.random.Generator, number: int) -> list[Position]:
    """Random games, endgames, long captures and crowds; those that come next in them are in the middle of captures."""
    texts = [text for kind in (endgames, hunts, crowds) for text in kind(rng, number)]
    read = (Reference().from_string(text) for text in texts)
    return random_games(Reference(), rng, number, plies=(0, 100)) + [position for position in read if not position.over]


def test_words_are_shifted_rotated_and_counted_as_sets_of_squares() -> None:
    rng = np.random.default_rng(0)
    for word in rng.integers(2**32, size=200, dtype=np.uint32):
        squares = [index for index in range(32) if int(word) >> index & 1]
        for direction in range(4):
            assert shifted(int(word), direction) == rules.shift(word, direction)
        assert rotated(int(word)) == sum(1 << 31 - index for index in squares)
        assert count_bits(int(word)) == len(squares)


def test_moves_follow_the_reference() -> None:
    reference, rng = Reference(), np.random.default_rng(1)
    num_jumps_on = 0
    for begin in positions(rng, 60):
        position = begin
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


def test_number_of_sequences_from_the_start_is_the_published_one() -> None:
    moves = [0] * 100 * MAX_MOVES
    assert [num_sequences(*START, turns, moves, 0) for turns in range(1, 6)] == START_MOVES[:5]


@pytest.mark.parametrize("text", POSITIONS)
def test_number_of_sequences_from_positions_full_of_captures_is_the_known_one(text: str) -> None:
    assert counts(text, 4) == POSITIONS[text][0][:4]


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="takes an hour in plain Python")
def test_number_of_sequences_eleven_deep_is_the_published_one() -> None:
    moves = ints([0] * 100 * MAX_MOVES, compiled=True)
    count = function_for(True)(num_sequences)
    found = [count(*START, turns, moves, 0) for turns in range(1, 12)]
    assert found == [*START_MOVES, ELEVEN_DEEP]
