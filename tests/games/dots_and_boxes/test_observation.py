"""The observations of both seats."""

import jax
import numpy as np
import pytest

from tests.games.dots_and_boxes.pictures import game, read
from tests.helpers.positions import compiled

EDGES = """
    .#.#.#.
    #.#.#.#
    .#...#.
    #...#.#
    .....#.
"""
ZERO = """
    .......
    .#.....
    .......
    .......
    .......
"""
ONE = """
    .......
    .....#.
    .......
    .....#.
    .......
"""


def plane(picture: str) -> np.ndarray:
    return np.array([[letter == "#" for letter in row] for row in picture.split()])


@pytest.mark.parametrize("mover", [0, 1])
def test_observation_has_edges_own_boxes_and_the_others_boxes(mover: int) -> None:
    """On the grid on which they are drawn, the same from both sides but for the order of the last two planes."""
    env = game()
    picture = """
        *---*---*---*
        | 0 |   | 1 |
        *---*   *---*
        |       | 1 |
        *   *   *---*
    """
    of_seats = [np.stack([plane(p) for p in planes], axis=-1) for planes in [(EDGES, ZERO, ONE), (EDGES, ONE, ZERO)]]
    look = compiled(env).look(read(env, picture, mover))
    assert look.mover.shape == env.observation_shape == (5, 7, 3)
    assert look.mover.dtype == bool
    np.testing.assert_array_equal(look.seats, of_seats)
    np.testing.assert_array_equal(look.mover, of_seats[mover])


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (5, 5)])
def test_observation_support_is_the_union_of_full_boards(rows: int, cols: int) -> None:
    env = game(rows, cols)
    full = [env.from_string(f"{'1' * env.num_actions} {owner * rows * cols} 0") for owner in "01"]
    seen = [np.asarray(compiled(env).look(state).mover) for state in jax.device_get(full)]
    np.testing.assert_array_equal(env.observation_support, seen[0] | seen[1])
