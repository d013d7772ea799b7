"""Boards drawn in lines of text, as `env.to_text` gives them; and axial coordinates of cells."""

from typing import Any

import numpy as np
import pytest

from jaxgames import ParameterError, make
from tests.helpers.positions import play, start

KINGS = """
    .1      .2      b3      .4
.5      B6      .7      .8
    w9      .10     .11     .12
.13     .14     .15     .16
    .17     w18     .19     .20
.21     .22     .23     .24
    .25     .26     .27     .28
.29     .30     .31     W32
b, B: man and king of seat 0, Black    w, W: of seat 1, White
seat 0 to move"""


def test_board_is_drawn_with_the_names_of_its_cells() -> None:
    """Those of the other games are in the terminal's boards in tests/data/transcripts."""
    env = make("checkers")
    assert env.to_text(env.from_string("B:W9,18,K32:BK6,3")) == KINGS.strip("\n")


def test_star_fits_80_columns_and_a_wide_one_has_the_first_number_of_each_row() -> None:
    for size, num_players in ((4, 6), (5, 2), (8, 2)):
        env = make("chinese_checkers", size=size, num_players=num_players)
        lines = env.to_text(start(env)).split("\n")
        assert max(map(len, lines)) <= 80
        assert all(line == line.rstrip() for line in lines)
        assert size != 5 or lines[4:6] == ["  10             A A A A A", "  15  . . . . . . . . . . . . . . . ."]


def test_last_line_says_how_the_game_ended() -> None:
    env = make("dots_and_boxes(rows=1, cols=1)")
    state = play(env, start(env), "h(0,0)", "h(1,0)", "v(0,0)", "v(0,1)")
    assert env.to_text(state).split("\n")[-1] == "won by seat 1: all edges drawn"


# -- cells of both boards of Chinese Checkers --------------------------------------------------------------------------

STAR: Any = make("chinese_checkers(size=2)")
DIAMOND: Any = make("chinese_checkers_diamond(size=4)")


@pytest.mark.parametrize(
    ("env", "known"),
    [
        # the centre, the tips of the top and bottom triangles, and the left end of the third row
        (STAR, {np.int32(18): (0, 0), 0: (2, -4), 36: (-2, 4), 3: (-2, -2)}),
        (DIAMOND, {0: (0, 0), 1: (1, 0), 4: (0, 1), 15: (3, 3)}),
        (make("chinese_checkers"), {}),
        (make("chinese_checkers_diamond"), {}),
    ],
    ids=str,
)
def test_cells_have_axial_coordinates(env: Any, known: dict[int, tuple[int, int]]) -> None:
    assert {cell: env.axial(cell) for cell in known} == known
    places = [env.axial(cell) for cell in range(env.num_cells)]
    assert len({*places}) == env.num_cells
    assert [env.cell(np.int64(q), r) for q, r in places] == list(range(env.num_cells))


@pytest.mark.parametrize("env", [STAR, DIAMOND], ids=str)
def test_places_outside_of_the_board_are_refused(env: Any) -> None:
    with pytest.raises(ParameterError, match=f"cell .* from 0 to {env.num_cells - 1}, not 99"):
        env.axial(99)
    for q, r in ((9, 0), (0, 0.5), (4, 4)):  # the last is between the points of the star
        with pytest.raises(ParameterError, match=rf"no cell .* \({q}, {r}\): env.axial"):
            env.cell(q, r)
