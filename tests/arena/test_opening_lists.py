"""Fixed lists of openings: their moves are played by the rules, and lines that cannot be played are named."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import arena
from tests.helpers.texts import NAME, saved_by_editors

BOXES = jaxgames.make("dots_and_boxes", rows=1, cols=2)
CHECKERS = jaxgames.make("checkers")
LINES = ["9-13 22-18 6-9", "10-14 22-17", "9-14 23-18 14x23"]


def texts(env: Any, openings: arena.Openings) -> list[str]:
    boards = jax.device_get(openings.boards)
    return [env.to_string(jax.tree.map(lambda leaf, i=i: leaf[i], boards)) for i in range(len(openings.number))]


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


@pytest.mark.parametrize(
    ("env", "lines", "message"),
    [
        (CHECKERS, ["9-13", "9-13 9-14"], r"opening 2, '9-13 9-14': 9-14 is not legal in W:W21"),
        (CHECKERS, ["9-13 22-18 hello"], r"opening 1, '9-13 22-18 hello': expected a step '11-15'"),
        (CHECKERS, ["12-16 22-17 11-15 24-19 15x24 28x19"], "ends in the middle of a turn: add the rest of the turn"),
        (CHECKERS, [], "expected at least one opening"),
        (BOXES, ["h(0,0) h(0,1) h(1,0) h(1,1) v(0,0) v(0,1) v(0,2)"], "ends the game: leave out its last moves"),
    ],
)
def test_line_that_cannot_be_played_is_refused(env: Any, lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        arena.openings_of_moves(env, lines)


def test_drawn_openings_occur_equally_often_and_a_longer_draw_begins_with_the_shorter_one() -> None:
    openings = arena.openings_of_moves(CHECKERS, LINES)
    numbers = np.asarray(openings.drawn(jax.random.key(1), 12).number)
    assert all(sorted(part) == [0, 1, 2] for part in numbers.reshape(4, 3))
    assert len({*map(tuple, numbers.reshape(4, 3))}) > 1
    shorter = openings.drawn(jax.random.key(1), 5)
    np.testing.assert_array_equal(shorter.number, numbers[:5])
    assert [texts(CHECKERS, openings)[number] for number in numbers[:5]] == texts(CHECKERS, shorter)
    with pytest.raises(ValueError, match="num_openings must be an integer from 1"):
        openings.drawn(jax.random.key(1), 0)


# -- lists by name, and files --------------------------------------------------------------------------------------


def test_file_has_a_line_per_opening_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("# two openings\n9-13 22-18 6-9\n\n10-14 22-17  # a shorter one\n")
    assert texts(CHECKERS, arena.load_openings(CHECKERS, str(path))) == texts(
        CHECKERS, arena.openings_of_moves(CHECKERS, LINES[:2])
    )
    path.write_text("# two openings\n9-13 22-18\n\n9-13 9-14\n")
    with pytest.raises(ValueError, match=r"openings.txt: line 4, '9-13 9-14': 9-14 is not legal"):
        arena.load_openings(CHECKERS, str(path))
    path.write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"openings.txt is not a text: expected the moves of one opening per line"):
        arena.load_openings(CHECKERS, str(path))


def test_file_is_read_as_editors_save_it(tmp_path: Path) -> None:
    text, path = "# by Müller\n9-13 22-18 6-9\n", tmp_path / NAME
    wanted = texts(CHECKERS, arena.openings_of_moves(CHECKERS, LINES[:1]))
    for content in (*saved_by_editors(text), text.encode("cp1252")):
        path.write_bytes(content)
        assert texts(CHECKERS, arena.load_openings(CHECKERS, str(path))) == wanted


def test_list_of_another_game_and_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"ballots is not a file of openings: expected one$"):
        arena.load_openings(BOXES, "ballots")
    with pytest.raises(FileNotFoundError, match="expected one, or one of the lists of checkers, ballots"):
        arena.load_openings(CHECKERS, str(tmp_path / "missing.txt"))
