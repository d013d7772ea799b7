"""Whole moves on the host, beside pydraughts and the env, and the three-move ballots of pydraughts."""

import json
import re
from pathlib import Path
from typing import Any

import draughts
import jax
import numpy as np
from draughts.core.game import Game as Draughts

import jaxgames
from jaxgames import games
from jaxgames.games.checkers.whole_moves import Board
from tests.games.checkers.reference import crowds, hunts
from tests.helpers.positions import compiled, play, start

WCDF = jaxgames.make("checkers")
CIRCLE = "B:W9,10,17,18,32:BK6"  # the king captures four men and is back on 6


def positions(number: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [*crowds(rng, number), *hunts(rng, number)]


def read(text: str) -> Any:
    """The state of a position in notation, on the host."""
    return jax.device_get(WCDF.from_string(text))


def test_legal_moves_are_those_of_pydraughts() -> None:
    lengths: list[int] = []
    for text in positions(100, seed=0):
        paths = Board.of(read(text)).legal_paths()
        moves, _ = Draughts(variant="american", fen=text).legal_moves()  # each as its legs
        assert sorted(paths) == sorted((legs[0][0], *(to for _, to in legs)) for legs in moves), text
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


def test_ballots_are_those_of_pydraughts() -> None:
    """And different positions after three legal plies."""
    lines = (Path(games.__path__[0]) / "checkers" / "ballots.txt").read_text().splitlines()
    ballots = [line.split() for line in lines if not line.startswith("#")]  # such as "9-13 21-17 5-9"
    path = Path(draughts.__file__).parent / "ballot_files" / "3move_english.json"
    theirs = {tuple(re.findall(r"[1-9]\d*", name)[1:]) for name in json.loads(path.read_text())["all"]}
    assert {tuple(re.findall(r"\d+", " ".join(ballot))) for ballot in ballots} == theirs
    assert len({WCDF.to_string(play(WCDF, start(WCDF), *ballot)) for ballot in ballots}) == len(ballots) == 174
