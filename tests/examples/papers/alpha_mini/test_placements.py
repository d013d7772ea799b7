"""Random placements of 5 x 5 chess: legal by the slow reference, and openings of games that are recorded."""

from collections import Counter
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.alpha_mini.placements import random_placements
from jaxgames import Env, arena
from jaxgames._checks import ParameterError
from jaxgames.games.minichess import Minichess
from tests.games.minichess.cases import make_reference
from tests.games.minichess.reference import from_fen
from tests.helpers.positions import board, stacked

BOXES = jaxgames.make("dots_and_boxes", rows=1, cols=2)
GAMES = [Minichess(), Minichess(board="mallet", rules="king_capture")]
NUMBER = 200
ARMIES = {"gardner": ("PPPPPRNBQ", "ppppprnbq"), "mallet": ("PPPPPRNQN", "ppppprbqb")}


def texts(env: Env[Any], boards: Any) -> list[str]:
    boards = jax.device_get(boards)
    return [env.to_string(board(boards, number)) for number in range(len(boards.current_player))]


@pytest.mark.parametrize("env", GAMES, ids=str)
def test_placement_is_live_and_the_side_that_moved_is_not_in_check(env: Minichess) -> None:
    reference = make_reference(env)
    found = texts(env, random_placements(env, NUMBER))
    for text in found:
        position = reference.from_string(text)
        assert not position.over
        assert not reference.can_take_king(position), text
        white, black = ("".join(filter(side, position.board.values())) for side in (str.isupper, str.islower))
        assert len(white) == len(black) > 1
        for pieces, army in zip((white, black), ARMIES[env.board], strict=True):
            assert not Counter(pieces) - Counter(army + "Kk")
            assert Counter(pieces.upper())["K"] == 1
        assert all(0 < rank < 4 for (_, rank), letter in position.board.items() if letter in "pP")
    assert len({*found}) > 0.95 * NUMBER
    numbers = Counter(len(from_fen(text).board) for text in found)
    assert {*numbers} == {*range(4, 21, 2)}
    assert 0.35 < np.mean([" w " in text for text in found]) < 0.65


def test_longer_list_begins_with_the_shorter_one() -> None:
    env = GAMES[0]
    long, short, other = (random_placements(env, *numbers) for numbers in ((NUMBER, 0), (7, 0), (7, 1)))
    assert texts(env, board(long, slice(7))) == texts(env, short) != texts(env, other)


def load(env: Env[Any]) -> arena.Openings:
    if env is not BOXES:
        return arena.openings_of_boards(random_placements(env, NUMBER))
    return arena.openings_of_boards(stacked([env.from_string(text) for text in ("1000000 .. 1", "0100000 .. 1")]))


@pytest.mark.parametrize(
    ("env", "other"),
    [
        (BOXES, "0010000 .. 1"),
        pytest.param(GAMES[1], "k4/5/5/5/R3K w - - 0 1", marks=pytest.mark.slow),  # compiles for seconds
    ],
    ids=["dots_and_boxes", "minichess"],
)
def test_games_begin_with_the_boards_and_their_records_are_replayed(env: Env[Any], other: str, tmp_path: Path) -> None:
    openings = load(env).for_games(4, games_each=2)
    expected = texts(env, openings.boards)
    assert expected[0] == expected[1] != expected[2]
    first, seats = jaxgames.agents.make("first", env), arena.seating((1, 1), "alternating", 4)
    with arena.GameFile(tmp_path / "games.jsonl") as file:
        recorder = file.recorder(env, ["first", "first"], seats, openings)
        arena.play(env, [first, first], seats, jax.random.key(0), openings=openings, on_recorded=recorder)
    games = list(arena.read_games(tmp_path / "games.jsonl"))
    assert [game["start"] for game in games] == expected
    for game in games:
        assert len(arena.replay(game)) == 1 + game["length"]
        assert game["opening"] is not None
        altered = {**game, "opening": {**game["opening"], "position": other}}
        with pytest.raises(ValueError, match="the actions do not fit the record"):
            arena.replay(altered, env)  # pyright: ignore[reportArgumentType]  # a dictionary with the same fields


def test_other_games_and_finished_boards_are_refused() -> None:
    with pytest.raises(ParameterError, match="random placements are of minichess, not of dots_and_boxes"):
        random_placements(jaxgames.make("dots_and_boxes", rows=1, cols=1), 1)
    with pytest.raises(ValueError, match="the number of placements must be at least 1, not 0"):
        random_placements(GAMES[0], 0)
    over = [GAMES[0].from_string(text) for text in ("k4/5/K4/5/4R w - - 0 20", "k3R/5/K4/5/5 b - - 5 9")]
    boards: Any = jax.tree.map(lambda *leaves: np.stack(leaves), *over)
    with pytest.raises(ValueError, match="opening 2 is a board that is over"):
        arena.openings_of_boards(boards)
