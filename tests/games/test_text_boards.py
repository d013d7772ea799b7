"""Boards drawn in lines of text, as `env.to_text` gives them."""

from typing import Any

import pytest

from jaxgames import make
from jaxgames.wrappers import auto_reset
from tests.helpers.positions import play, start

DRAWN = {
    ("checkers", "B:W9,18,K32:BK6,3"): """
    .1      .2      b3      .4
.5      B6      .7      .8
    w9      .10     .11     .12
.13     .14     .15     .16
    .17     w18     .19     .20
.21     .22     .23     .24
    .25     .26     .27     .28
.29     .30     .31     W32
b, B: man and king of seat 0, Black    w, W: of seat 1, White
seat 0 to move""",
    ("minichess", "r3k/1P3/5/5/4K b - - 0 1"): """
5  r . . . k
4  . P . . .
3  . . . . .
2  . . . . .
1  . . . . K

   a b c d e
capitals: seat 0, White    small letters: seat 1, Black
seat 1 to move""",
    ("chinese_checkers(size=1, num_players=3)", "0/..../..1/2.../. 2 - 7"): """
      A0
.1  .2  .3  .4
  .5  .6  B7
C8  .9  .10 .11
      .12
seat 0: A    seat 1: B    seat 2: C
seat 2 to move""",
    ("chinese_checkers_diamond(size=3, pieces=1)", "0../.1./... 1 1"): """
    A0
  .3  .1
.6  B4  .2
  .7  .5
    .8
seat 0: A    seat 1: B
seat 1 to move""",
    ("dots_and_boxes(rows=2, cols=3)", "11010010011000100 1..... 0"): """
    0   1   2   3
 0  +---+---+   +
    | B |
 1  +---+   +   +
        |
 2  +---+   +   +
seat 0 A: 0 boxes    seat 1 B: 1 boxes
seat 0 to move""",
}


@pytest.mark.parametrize(("game", "position"), DRAWN)
def test_board_is_drawn_with_the_names_of_its_cells(game: str, position: str) -> None:
    env = make(game)
    assert env.to_text(env.from_string(position)) == DRAWN[game, position].strip("\n")


@pytest.mark.parametrize(
    "game",
    [
        "chinese_checkers(size=4, num_players=6)",
        "chinese_checkers(size=5, num_players=2)",
        "chinese_checkers(size=8, num_players=2)",
        "chinese_checkers_diamond(size=9, pieces=10)",
        "dots_and_boxes(rows=16, cols=16)",
        "dots_and_boxes(rows=1, cols=16)",
    ],
)
def test_large_board_fits_80_columns(game: str) -> None:
    env = make(game)
    lines = env.to_text(start(env)).split("\n")
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_wide_star_has_the_number_of_the_first_cell_of_each_row() -> None:
    env = make("chinese_checkers(size=5, num_players=2)")
    lines = env.to_text(start(env)).split("\n")
    assert lines[4:6] == ["  10             A A A A A", "  15  . . . . . . . . . . . . . . . ."]


def test_last_line_says_how_the_game_ended() -> None:
    env = make("dots_and_boxes(rows=1, cols=1)")
    state = play(env, start(env), "h(0,0)", "h(1,0)", "v(0,0)", "v(0,1)")
    assert env.to_text(state).split("\n")[-1] == "won by seat 1: all edges drawn"


def test_wrapper_draws_the_board_inside() -> None:
    env = make("dots_and_boxes(rows=1, cols=1)")
    wrapped: Any = auto_reset(env)
    assert wrapped.to_text(wrapped.init()) == env.to_text(env.init())
