"""Axial coordinates of the cells of both boards of Chinese Checkers."""

from typing import Any

import numpy as np
import pytest

from jaxgames import ParameterError, make

STAR: Any = make("chinese_checkers(size=2)")
DIAMOND: Any = make("chinese_checkers_diamond(size=4)")


@pytest.mark.parametrize("env", [STAR, DIAMOND, make("chinese_checkers"), make("chinese_checkers_diamond")], ids=str)
def test_cell_is_the_inverse_of_axial(env: Any) -> None:
    places = [env.axial(cell) for cell in range(env.num_cells)]
    assert len({*places}) == env.num_cells
    assert [env.cell(q, r) for q, r in places] == list(range(env.num_cells))


@pytest.mark.parametrize(
    ("env", "cell", "place"),
    [
        (STAR, 18, (0, 0)),  # the centre
        (STAR, 0, (2, -4)),  # the tip of the top triangle
        (STAR, 36, (-2, 4)),
        (STAR, 3, (-2, -2)),  # the left end of the third row
        (DIAMOND, 0, (0, 0)),
        (DIAMOND, 1, (1, 0)),
        (DIAMOND, 4, (0, 1)),
        (DIAMOND, 15, (3, 3)),
    ],
    ids=str,
)
def test_some_coordinates_are_known(env: Any, cell: int, place: tuple[int, int]) -> None:
    assert env.axial(cell) == place


@pytest.mark.parametrize("env", [STAR, DIAMOND], ids=str)
def test_places_outside_of_the_board_are_refused_in_words(env: Any) -> None:
    with pytest.raises(ParameterError, match=f"cell must be an integer from 0 to {env.num_cells - 1}, not 99"):
        env.axial(99)
    for q, r in ((9, 0), (0, 0.5), (4, 4)):  # the last is between the points of the star
        with pytest.raises(ParameterError, match=rf"no cell of .* is at \(q, r\) = \({q}, {r}\): env.axial"):
            env.cell(q, r)


def test_integers_of_numpy_are_cells_and_coordinates() -> None:
    assert STAR.axial(np.int32(18)) == (0, 0)
    assert STAR.cell(np.int64(0), np.int32(0)) == 18
