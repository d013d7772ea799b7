"""Moves of 5 x 5 chess as words: known counts, and the slow reference. In plain Python unless slow."""

import functools
from typing import Any

import numpy as np
import pytest

import jaxgames
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess.search_moves import (
    MAX_MOVES,
    Chess,
    Pieces,
    cannot_mate,
    count_bits,
    king_is_attacked,
    make_chess,
    mirrored,
    moved,
    pieces_of,
    turned,
    write_legal_moves,
    write_moves,
)
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from tests.games.minichess.cases import make_reference
from tests.games.minichess.reference import Position, Reference, is_dead
from tests.games.minichess.test_perft import PERFT
from tests.solvers.minichess.slow_minichess import endings, is_noisy, placements, state_of

RULES: list[dict[str, Any]] = [
    {},
    {"rules": "king_capture"},
    {"board": "baby", "double_step": True, "promotion": "queen"},
    {"board": "mallet", "rules": "king_capture", "double_step": True},
]


@functools.cache
def chess_of(env: Minichess) -> Chess:
    return make_chess(env, compiled=False)


def legal(env: Minichess, pieces: Pieces) -> list[int]:
    moves = [0] * MAX_MOVES
    return sorted(moves[: write_legal_moves(chess_of(env), pieces, moves, 0)])


def noisy(env: Minichess, pieces: Pieces) -> list[int]:
    moves = [0] * MAX_MOVES
    return sorted(moves[: write_moves(chess_of(env), pieces, 1, moves, 0)])


def is_attacked(reference: Reference, position: Position) -> bool:
    """Whether the opponent could take a king of the side to move."""
    return reference.can_take_king(Position(board=position.board, seat=1 - position.seat))


def check_positions(parameters: dict[str, Any], number: int, seed: int) -> None:
    """Compares moves, the positions after them, checks and dead positions with the reference."""
    env = jaxgames.make("minichess", **parameters)
    assert isinstance(env, Minichess)
    reference, rng = make_reference(env), np.random.default_rng(seed)
    for position in endings(reference, rng, number) + placements(reference, rng, number):
        pieces, moves = pieces_of(state_of(env, reference, position)), reference.moves(position)
        assert legal(env, pieces) == sorted(moves), reference.to_string(position)
        if reference.king_capture:
            assert noisy(env, pieces) == sorted(action for action, move in moves.items() if is_noisy(position, move))
        assert king_is_attacked(chess_of(env), pieces) == is_attacked(reference, position)
        assert cannot_mate(pieces) == is_dead(position.board)
        action = int(rng.choice(sorted(moves)))
        after, is_irreversible = moved(chess_of(env), pieces, action)
        following = reference.after(position, moves[action])
        assert turned(after) == pieces_of(env.from_string(following.fen))
        assert is_irreversible == (following.quiet == 0)


def test_words_are_mirrored_and_counted_as_sets_of_cells() -> None:
    rng = np.random.default_rng(0)
    for word in rng.integers(1 << 25, size=100).tolist():
        cells = [cell for cell in range(25) if word >> cell & 1]
        assert mirrored(word) == sum(1 << (5 * (cell // 5) + 4 - cell % 5) for cell in cells)
        assert count_bits(word) == len(cells)


@pytest.mark.parametrize("parameters", RULES[2:])
def test_moves_follow_the_reference(parameters: dict[str, Any]) -> None:
    check_positions(parameters, number=4, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("parameters", RULES)
def test_moves_of_many_positions_follow_the_reference(parameters: dict[str, Any]) -> None:
    check_positions(parameters, number=600, seed=2)


@compiled
def num_sequences(chess: Chess, pieces: Pieces, plies: int, moves: Any, begin: int) -> int:
    """The number of sequences of a number of moves, draws left out. `moves` has room for all plies."""
    if plies == 0:
        return 1
    number = write_legal_moves(chess, pieces, moves, begin)
    total = 0
    for place in range(begin, begin + number):
        after, _ = moved(chess, pieces, moves[place])
        total += num_sequences(chess, turned(after), plies - 1, moves, begin + number)
    return total


def count(
    text: str, parameters: dict[str, Any], plies: int, moves: Any, compiled: bool, function: Any = num_sequences
) -> int:
    env = jaxgames.make("minichess", **parameters)
    assert isinstance(env, Minichess)
    return function(make_chess(env, compiled), pieces_of(env.from_string(text)), plies, moves, 0)


@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_sequences_is_the_known_one(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    moves = [0] * 4 * MAX_MOVES
    known = [number for number in leaves if number < 300]
    found = [count(text, parameters, plies, moves, False) for plies in range(1, len(known) + 1)]
    assert found == known


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="takes minutes in plain Python")
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_long_sequences_is_the_known_one(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    moves = ints([0] * 8 * MAX_MOVES, compiled=True)
    function = function_for(True)(num_sequences)
    assert [count(text, parameters, plies, moves, True, function) for plies in range(1, len(leaves) + 1)] == leaves
