"""Numbers of move sequences: those published for the start, and those of positions full of captures and kings."""

from typing import Any

import numpy as np
import pytest

from tests.games.checkers.cases import START
from tests.games.checkers.pictures import WCDF
from tests.helpers.perft import Perft


def future(states: Any) -> list[np.ndarray]:
    """The part of a position that legal moves depend on. Draws are further away than the depths counted here."""
    return [states.own, states.opponents, states.kings, states.jumper, states.current_player]


PLIES = Perft(WCDF, future=future)  # one jump at a time, as the env's steps are
MOVES = Perft(WCDF, future=future, continues=lambda state: state.jumper != 0)  # a whole capture is one move

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


def test_number_of_moves_from_the_start_is_the_published_one() -> None:
    """Seven moves deep. Two ways through the board are two moves, even if they capture the same pieces."""
    assert MOVES.counts(START, 7) == START_MOVES[:7]


@pytest.mark.parametrize("depth", [7, pytest.param(8, marks=pytest.mark.slow)])
def test_number_of_plies_from_the_start_is_the_known_one(depth: int) -> None:
    assert PLIES.counts(START, depth) == START_PLIES[:depth]


@pytest.mark.slow
def test_number_of_moves_from_the_start_ten_deep_is_the_published_one() -> None:
    assert MOVES.counts(START, 10) == START_MOVES


@pytest.mark.parametrize("text", POSITIONS)
def test_number_of_moves_from_positions_full_of_captures_is_the_known_one(text: str) -> None:
    moves, plies = POSITIONS[text]
    assert MOVES.counts(text, 5) == moves
    assert PLIES.counts(text, 5) == plies
