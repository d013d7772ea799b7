"""Boards in the terminal, from the side of the person."""

from collections.abc import Sequence

import pytest

from jaxgames.play import Session
from jaxgames.play.text_board import board_text, rotated


def test_rotation_by_half_a_turn_keeps_words_readable() -> None:
    assert rotated(["a1  b2", "", "   c10"]) == ["c10", "", "b2  a1"]
    assert rotated(rotated(["a1  b2", "  c3"])) == ["a1  b2", "  c3"]


@pytest.mark.parametrize(
    ("game", "seats", "first_line"),
    [
        ("checkers", ["human", "first"], "    w32     w31     w30     w29"),
        ("checkers", ["first", "human"], "    b1      b2      b3      b4"),
        ("checkers", ["human", "human"], "    b1      b2      b3      b4"),
        ("minichess", ["human", "first"], "5  r n b q k"),
        ("minichess", ["first", "human"], "e d c b a"),
        ("chinese_checkers_diamond(size=3, pieces=1)", ["human", "first"], "    B8"),
        ("chinese_checkers_diamond(size=3, pieces=1)", ["first", "human"], "    A0"),
    ],
)
def test_only_person_sits_at_the_bottom(game: str, seats: Sequence[str], first_line: str) -> None:
    assert board_text(Session(game, seats)).split("\n")[0].rstrip() == first_line


@pytest.mark.parametrize(
    ("game", "seats", "goal"),
    [
        ("chinese_checkers(size=1, num_players=3)", ["human", "first", "first"], "the point at the top, cells 12"),
        ("chinese_checkers(size=1, num_players=2)", ["first", "human"], "the point at the top, cells 0"),
        (
            "chinese_checkers(size=1, num_players=3)",
            ["first", "human", "first"],
            "the point at the upper left, cells 1",
        ),
        ("chinese_checkers_diamond(size=3, pieces=3)", ["human", "first"], "the corner at the top, cells 5, 7, 8"),
        ("chinese_checkers_diamond(size=3, pieces=3)", ["first", "human"], "the corner at the top, cells 0, 1, 3"),
    ],
)
def test_goal_of_the_person_is_named(game: str, seats: Sequence[str], goal: str) -> None:
    assert f"your goal: {goal}\n" in board_text(Session(game, seats)) + "\n"


def test_goal_of_ten_cells_is_broken_into_lines_of_80_characters() -> None:
    text = board_text(Session("chinese_checkers(size=4, num_players=6)", ["human", *["first"] * 5]))
    assert "your goal: the point at the top, cells 111, 112, 113" in text
    assert max(map(len, text.split("\n"))) <= 80


def test_agents_alone_have_no_goal_line_and_the_mover_is_named() -> None:
    text = board_text(Session("chinese_checkers(size=1, num_players=2)", ["first", "first"]))
    assert "your goal" not in text
    assert text.endswith("Red: A    Blue: B\nRed to move")


def test_legend_has_the_names_of_the_seats() -> None:
    assert "b, B: man and king of Black    w, W: of White" in board_text(Session("checkers", ["human", "human"]))
    boxes = board_text(Session("dots_and_boxes(rows=1, cols=1)", ["human", "human"]))
    assert boxes.endswith("Red A: 0 boxes    Blue B: 0 boxes")
