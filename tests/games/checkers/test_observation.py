"""The planes that a network sees."""

import jax
import numpy as np

from tests.games.checkers.pictures import WCDF, drawn
from tests.helpers.positions import compiled, start


def test_observation_shows_men_kings_and_the_jumper_from_both_sides() -> None:
    """Own men, own kings, the opponent's, the piece that must continue; [i // 4, i % 4], upside down for seat 0."""
    picture = """
        . b . . . . . W
        . . . . . . . .
        . . . . . . . .
        b . b . . . . .
        . . . w . . . .
        . . . . . . . .
        . . . w . . . .
        B . . . . . . .
    """
    state = drawn(picture, jumper=14)
    # printed: black men on 1, 13, 14, a king on 29; white men on 18, 26, a king on 4
    men_0, kings_0, men_1, kings_1, jumper = {(0, 0), (3, 0), (3, 1)}, {(7, 0)}, {(4, 1), (6, 1)}, {(0, 3)}, {(3, 1)}

    def places(plane: np.ndarray) -> set[tuple[int, int]]:
        return {(int(row), int(column)) for row, column in np.argwhere(plane)}

    def upside_down(cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {(7 - row, 3 - column) for row, column in cells}

    look = jax.device_get(compiled(WCDF).look(state))
    assert [places(look.seats[1, :, :, i]) for i in range(5)] == [men_1, kings_1, men_0, kings_0, jumper]
    expected = [upside_down(plane) for plane in (men_0, kings_0, men_1, kings_1, jumper)]
    for seen in (look.mover, look.seats[0]):
        assert [places(seen[:, :, i]) for i in range(5)] == expected


def test_start_shows_12_men_of_each_side() -> None:
    seen = np.asarray(compiled(WCDF).look(start(WCDF)).mover)
    assert seen[5:, :, 0].all()
    assert seen[:3, :, 2].all()
    assert seen.sum() == 24


def test_observation_support_is_the_whole_array() -> None:
    assert WCDF.observation_support.all()
