"""Perft: sequences of moves are as many as others have counted, for checkers and for 5 x 5 chess (Fairy-Stockfish)."""

from typing import Any

import numpy as np
import pytest

import jaxgames
from tests.games.checkers.cases import START as CHECKERS
from tests.games.minichess.cases import START
from tests.helpers.perft import Perft

# -- checkers ----------------------------------------------------------------------------------------------------------


def future_of_checkers(states: Any) -> list[np.ndarray]:
    """The part of a position that legal moves depend on. Draws are further away than the depths counted here."""
    return [states.own, states.opponents, states.kings, states.jumper, states.current_player]


# One jump at a time, as the env's steps are; and a whole capture as one move.
PLIES = Perft(jaxgames.make("checkers"), future=future_of_checkers)
MOVES = Perft(jaxgames.make("checkers"), future=future_of_checkers, continues=lambda state: state.jumper != 0)

START_MOVES = [7, 49, 302, 1469, 7361, 36768, 179740, 845931, 3963680, 18391564]
START_PLIES = [7, 49, 302, 1469, 7361, 36768, 179255, 838248]
POSITIONS = {  # sequences of 1 to 5 moves, and of 1 to 5 plies
    "B:W9,10,17,18,32:BK6": ([2, 4, 16, 24, 72], [2, 2, 2, 2, 4]),  # a king returns to the square that it left
    "B:W9,26,27:B1,22": ([1, 4, 11, 27, 91], [1, 4, 11, 27, 91]),  # crowning ends the turn
    "B:W10,17,18,32:B2,6": ([1, 4, 16, 56, 212], [1, 1, 4, 16, 56]),
    "B:WK22,K30:B25,K29": ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),  # blocked
    "B:W7,8,10,15,16,18,23,24,26:B1,K3,K11": ([4, 29, 90, 570, 2081], [4, 23, 71, 366, 1247]),
    "B:WK1,K11,24,26,27,28,30:B8,13,20": ([1, 7, 17, 77, 205], [1, 7, 17, 72, 198]),
    "W:WK16,18,21,25,26,27,28,31,32:B1,9,10,11,13": ([1, 2, 12, 31, 161], [1, 1, 1, 2, 12]),
    "W:W9,21,23,25,26,28:B8,16,24": ([1, 0, 0, 0, 0], [1, 1, 1, 0, 0]),
}


@pytest.mark.parametrize("depth", [6, pytest.param(10, marks=pytest.mark.slow)])
def test_number_of_moves_of_checkers_is_the_published_one(depth: int) -> None:
    """Two ways through the board are two moves, even if they capture the same pieces."""
    assert MOVES.counts(CHECKERS, depth) == START_MOVES[:depth]


@pytest.mark.parametrize("depth", [7, pytest.param(8, marks=pytest.mark.slow)])
def test_number_of_plies_of_checkers_is_the_known_one(depth: int) -> None:
    assert PLIES.counts(CHECKERS, depth) == START_PLIES[:depth]


@pytest.mark.parametrize("text", POSITIONS)
def test_number_of_moves_from_positions_full_of_captures_is_the_known_one(text: str) -> None:
    moves, plies = POSITIONS[text]
    assert MOVES.counts(text, 5) == moves
    assert PLIES.counts(text, 5) == plies


# -- 5 x 5 chess -------------------------------------------------------------------------------------------------------

STANDARD, KING_CAPTURE = {}, {"rules": "king_capture"}
QUICK = {"rules": "king_capture", "double_step": True, "promotion": "queen"}
PERFT = [
    (START, STANDARD, [7, 53, 506, 4775, 52512, 572874]),
    (START, KING_CAPTURE, [7, 53, 510, 5000, 58557, 691906]),
    (START, QUICK, [7, 53, 521, 5183, 60437, 706302]),
    ("k4/P4/K4/5/5 w - - 0 1", STANDARD, [3, 4, 25, 115]),
    ("k4/P4/K4/5/5 w - - 0 1", KING_CAPTURE, [4, 12, 120, 593]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK w - - 0 1", STANDARD, [31, 741, 14052, 242851]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK w - - 0 1", KING_CAPTURE, [31, 889, 21198, 470580]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK b - - 0 1", STANDARD, [31, 741, 14052, 242851]),
    ("1n1bk/P1P1P/5/p1p1p/1N1BK b - - 0 1", KING_CAPTURE, [31, 889, 21198, 470580]),
    ("4k/5/1q3/5/K3R b - - 0 1", STANDARD, [3, 22, 264, 1507]),
    ("4k/5/1q3/5/K3R b - - 0 1", KING_CAPTURE, [17, 165, 2377, 24359]),
    ("1k3/2P2/1K3/5/5 b - - 0 1", STANDARD, [2, 15, 22, 174]),
    ("1k3/2P2/1K3/5/5 b - - 0 1", KING_CAPTURE, [5, 48, 254, 2518]),
    ("r3k/1P3/2n2/3p1/K1R2 w - - 3 7", STANDARD, [5, 72, 751, 9377]),
    ("r3k/1P3/2n2/3p1/K1R2 w - - 3 7", KING_CAPTURE, [16, 351, 4914, 83737]),
    ("r1bqk/p1ppp/1pn2/PPPPP/RNBQK w - - 1 2", STANDARD, [9, 104, 1085, 13019]),
    ("r1bqk/p1ppp/1pn2/PPPPP/RNBQK w - - 1 2", KING_CAPTURE, [9, 104, 1098, 13835]),
    ("5/P2b1/2B2/4k/1K3 b - - 2 39", STANDARD, [7, 102, 736, 8591]),
    ("5/P2b1/2B2/4k/1K3 b - - 2 39", KING_CAPTURE, [9, 139, 1265, 17214]),
]
WINS = [(KING_CAPTURE, [0, 0, 0, 4, 398, 6600]), (QUICK, [0, 0, 0, 4, 223, 4106])]


def future_of_chess(states: Any) -> list[np.ndarray]:
    """The same: perft counts moves and knows no draw."""
    position = states.position
    return [position.own, *position.pieces, states.current_player, states.terminated]


def perft(parameters: dict[str, Any]) -> Perft:
    return Perft(jaxgames.make("minichess", **parameters), future=future_of_chess)


@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_move_sequences_of_chess_is_the_known_one(text: str, parameters: Any, leaves: list[int]) -> None:
    depth = max(depth for depth, count in enumerate(leaves, 1) if count < 1_500)
    assert perft(parameters).counts(text, depth) == leaves[:depth]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_long_sequences_of_chess_is_the_known_one(text: str, parameters: Any, leaves: list[int]) -> None:
    assert perft(parameters).counts(text, len(leaves)) == leaves


@pytest.mark.parametrize("depth", [5, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_number_of_king_captures_is_the_known_one(parameters: Any, wins: list[int], depth: int) -> None:
    assert [won for _, won in perft(parameters).counts_and_wins(START, depth)] == wins[:depth]
