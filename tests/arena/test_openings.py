"""Openings before the agents play, the same ones for all agents: random plies, and fixed lists of moves."""

from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from tests.arena.test_playing import KEY, ONE, STICKS
from tests.helpers.commands import NAME, saved_by_editors
from tests.helpers.positions import board, compiled, start

BOXES = jaxgames.make("dots_and_boxes", rows=1, cols=2)  # seven edges, two boxes


@cache
def of_sticks() -> Any:
    return jax.device_get(arena.random_openings(STICKS, KEY, 12, 10))  # random games have from 3 to 7 plies


def replayed(env: Any, actions: list[int]) -> list[Any]:
    """The states before and after each action, one step at a time."""
    states = [start(env)]
    for action in actions:
        assert compiled(env).mask(states[-1])[action]
        states.append(compiled(env).step(states[-1], action))
    return states


@pytest.mark.parametrize("env", [STICKS, BOXES], ids=str)
def test_opening_is_a_game_of_legal_actions_that_is_live_at_the_beginning_of_a_turn(env: Any) -> None:
    openings = of_sticks() if env is STICKS else jax.device_get(arena.random_openings(env, KEY, 12, 5))
    for i in range(12):
        kept = int(openings.plies[i])
        states = replayed(env, openings.actions[i, :kept].tolist())
        assert env.to_string(board(openings.boards, i)) == env.to_string(states[-1])
        assert env.outcome(states[-1]).kind == "live"
        assert kept == 0 or states[-2].current_player != states[-1].current_player
        assert (openings.actions[i, kept:] == -1).all()
    assert len(set(openings.plies.tolist())) > 1  # some were cut


def test_opening_of_a_game_that_would_end_is_cut_before_its_last_turn() -> None:
    """Every game of seven sticks ends within ten plies."""
    boards: Any = of_sticks().boards
    taken = np.where(of_sticks().actions >= 0, of_sticks().actions + 1, 0).sum(-1)
    assert (boards.left == 7 - taken).all()
    assert (boards.left >= 1).all()
    assert (boards.left <= 3).all()  # the ply that was cut took all that were left
    assert not boards.terminated.any()


def test_longer_list_begins_with_the_shorter_one() -> None:
    few = arena.random_openings(STICKS, KEY, 3, 10)
    for short, long in zip(jax.tree.leaves(few), jax.tree.leaves(of_sticks()), strict=True):
        np.testing.assert_array_equal(short, long[:3])


def test_each_opening_is_played_by_games_in_a_row() -> None:
    openings = arena.random_openings(STICKS, KEY, 3, 10)
    spread = openings.for_games(8, games_each=2)
    assert spread.number.tolist() == [0, 0, 1, 1, 2, 2, 0, 0]
    assert spread.plies.tolist() == [int(openings.plies[i]) for i in (0, 0, 1, 1, 2, 2, 0, 0)]
    assert openings.for_games(4).number.tolist() == [0, 1, 2, 0]


def test_games_start_after_the_opening_and_count_from_there() -> None:
    """After two plies in which a and b sticks are taken, seat 2 moves first; every agent takes one stick per turn."""
    openings = arena.random_openings(STICKS, KEY, 6, 2)
    assert openings.plies.tolist() == [2] * 6
    seats = jnp.zeros((6, 3), jnp.int32)
    games = arena.play(STICKS, (ONE,), seats, KEY, openings=openings)
    left = 7 - (np.asarray(openings.actions) + 1).sum(-1)
    assert len(set(left.tolist())) > 1
    np.testing.assert_array_equal(games.length, left)
    np.testing.assert_array_equal(games.turns, [[np.sum((2 + np.arange(n)) % 3 == s) for s in range(3)] for n in left])


# -- lists -----------------------------------------------------------------------------------------------------------

CHECKERS = jaxgames.make("checkers")
LINES = ["9-13 22-18 6-9", "10-14 22-17", "9-14 23-18 14x23"]


def texts(env: Any, openings: arena.Openings) -> list[str]:
    boards = jax.device_get(openings.boards)
    return [env.to_string(board(boards, i)) for i in range(len(openings.number))]


def test_opening_is_the_board_after_its_moves() -> None:
    openings = arena.openings_of_moves(CHECKERS, LINES)
    assert texts(CHECKERS, openings) == [
        "W:W18,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,7,8,9,10,11,12,13",
        "B:W17,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,11,12,14",
        "W:W21,22,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,10,11,12,23",
    ]
    np.testing.assert_array_equal(openings.plies, [3, 2, 3])
    np.testing.assert_array_equal(openings.actions[:, 2] == -1, [False, True, False])
    np.testing.assert_array_equal(openings.boards.rewards, np.zeros((3, 2)))


def test_drawn_openings_occur_equally_often_and_a_longer_draw_begins_with_the_shorter_one() -> None:
    openings = arena.openings_of_moves(CHECKERS, LINES)
    numbers = np.asarray(openings.drawn(jax.random.key(1), 12).number)
    assert all(sorted(part) == [0, 1, 2] for part in numbers.reshape(4, 3))
    assert len({*map(tuple, numbers.reshape(4, 3))}) > 1
    shorter = openings.drawn(jax.random.key(1), 5)
    np.testing.assert_array_equal(shorter.number, numbers[:5])
    assert [texts(CHECKERS, openings)[number] for number in numbers[:5]] == texts(CHECKERS, shorter)


def test_file_has_a_line_per_opening_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("# two openings\n9-13 22-18 6-9\n\n10-14 22-17  # a shorter one\n")
    assert texts(CHECKERS, arena.load_openings(CHECKERS, str(path))) == texts(
        CHECKERS, arena.openings_of_moves(CHECKERS, LINES[:2])
    )


def test_file_is_read_as_editors_save_it(tmp_path: Path) -> None:
    text, path = "# by Müller\n9-13 22-18 6-9\n", tmp_path / NAME
    wanted = texts(CHECKERS, arena.openings_of_moves(CHECKERS, LINES[:1]))
    for content in (*saved_by_editors(text), text.encode("cp1252")):
        path.write_bytes(content)
        assert texts(CHECKERS, arena.load_openings(CHECKERS, str(path))) == wanted


def test_games_begin_with_the_boards_of_a_list_and_their_records_are_replayed(tmp_path: Path) -> None:
    boards = jax.tree.map(lambda *leaves: np.stack(leaves), *map(BOXES.from_string, ("1000000 .. 1", "0100000 .. 1")))
    openings = arena.openings_of_boards(boards).for_games(4, games_each=2)
    first, seats = jaxgames.agents.make("first", BOXES), arena.seating((1, 1), "alternating", 4)
    with arena.GameFile(tmp_path / "games.jsonl") as file:
        recorder = file.recorder(BOXES, ["first", "first"], seats, openings)
        arena.play(BOXES, [first, first], seats, KEY, openings=openings, on_recorded=recorder)
    games = list(arena.read_games(tmp_path / "games.jsonl"))
    assert [game["start"] for game in games] == ["1000000 .. 1"] * 2 + ["0100000 .. 1"] * 2
    for game in games:
        assert len(arena.replay(game)) == 1 + game["length"]
        altered: Any = {**game, "opening": {**(game["opening"] or {}), "position": "0010000 .. 1"}}
        with pytest.raises(ValueError, match="the actions do not fit the record"):
            arena.replay(altered, BOXES)
    over = jax.tree.map(lambda leaf: np.asarray(leaf)[None], BOXES.from_string("1111111 01 0"))
    with pytest.raises(ValueError, match="opening 1 is a board that is over"):
        arena.openings_of_boards(over)
