"""Perft: sequences of moves are as many as Fairy-Stockfish counts, and as are known for captured kings."""

from typing import Any

import numpy as np
import pytest

import jaxgames
from tests.games.minichess.cases import START
from tests.helpers.perft import Perft

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


def future(states: Any) -> list[np.ndarray]:
    """The part of a position that legal moves depend on: perft counts moves and knows no draw."""
    position = states.position
    return [position.own, *position.pieces, states.current_player, states.terminated]


def perft(parameters: dict[str, Any]) -> Perft:
    return Perft(jaxgames.make("minichess", **parameters), future=future)


@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_move_sequences_is_the_known_one(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    depth = max(depth for depth, count in enumerate(leaves, 1) if count < 1_500)
    assert perft(parameters).counts(text, depth) == leaves[:depth]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "parameters", "leaves"), PERFT)
def test_number_of_long_sequences_is_the_known_one(text: str, parameters: dict[str, Any], leaves: list[int]) -> None:
    assert perft(parameters).counts(text, len(leaves)) == leaves


@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_number_of_king_captures_is_the_known_one(parameters: dict[str, Any], wins: list[int]) -> None:
    assert [won for _, won in perft(parameters).counts_and_wins(START, 5)] == wins[:5]


@pytest.mark.slow
@pytest.mark.parametrize(("parameters", "wins"), WINS)
def test_number_of_long_king_captures_is_the_known_one(parameters: dict[str, Any], wins: list[int]) -> None:
    assert [won for _, won in perft(parameters).counts_and_wins(START, 6)] == wins
