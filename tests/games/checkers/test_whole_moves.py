"""Whole moves on the host, beside pydraughts and the env."""

from typing import Any

import jax
import numpy as np
from draughts.core.game import Game as Draughts

import jaxgames
from jaxgames.games.checkers.whole_moves import Board, text_of
from tests.games.checkers.random_positions import crowds, hunts
from tests.helpers.positions import compiled

WCDF = jaxgames.make("checkers")
CIRCLE = "B:W9,10,17,18,32:BK6"  # the king captures four men and is back on 6


def positions(number: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [*crowds(rng, number), *hunts(rng, number)]


def read(text: str) -> Any:
    """The state of a position in notation, on the host."""
    return jax.device_get(WCDF.from_string(text))


def draughts_moves(text: str) -> list[tuple[int, ...]]:
    """pydraughts gives a move as its legs."""
    moves, _ = Draughts(variant="american", fen=text).legal_moves()
    return [(legs[0][0], *(to for _, to in legs)) for legs in moves]


def test_legal_moves_are_those_of_pydraughts() -> None:
    lengths: list[int] = []
    for text in positions(100, seed=0):
        paths = Board.of(read(text)).legal_paths()
        assert sorted(paths) == sorted(draughts_moves(text)), text
        lengths += map(len, paths)
    assert max(lengths) >= 6


def test_played_moves_leave_the_boards_of_the_env() -> None:
    """Also in the middle of a capture, and where a king returns to the square that it left."""
    rng = np.random.default_rng(1)
    returned = 0
    for text in (CIRCLE, *positions(40, seed=1)):
        state = read(text)
        paths = Board.of(state).legal_paths()
        if not paths:
            continue
        path = max(paths, key=len)
        returned += path[0] == path[-1]
        stop = int(rng.integers(2, len(path) + 1))  # the squares that are played
        board = Board.of(state)
        for action in board.play(path[:stop]):
            assert compiled(WCDF).mask(state)[action]
            state = jax.device_get(compiled(WCDF).step(state, np.int32(action)))
        assert board == Board.of(state), (text, path, stop)
    assert returned >= 2


def test_actions_of_a_move_give_its_path() -> None:
    for text in positions(25, seed=2):
        board = Board.of(read(text))
        for path in board.legal_paths():
            actions = Board.of(read(text)).play(path)
            assert board.path_of(iter(actions)) == path
            assert board.path_of(actions[:1]) == path[:2]


def test_path_of_takes_no_action_of_the_next_turn() -> None:
    board = Board.of(read("B:W18,32:B14"))
    remaining = iter([*board.play((14, 23)), 7])
    assert Board.of(read("B:W18,32:B14")).path_of(remaining) == (14, 23)
    assert list(remaining) == [7]


def test_texts_tell_captures_from_steps() -> None:
    assert text_of((11, 15)) == "11-15"
    assert text_of((15, 22)) == "15x22"
    assert text_of((6, 15, 22, 13, 6)) == "6x15x22x13x6"
