"""Values of first moves in Dots and Boxes: classes of edges, and windows around guesses."""

import numpy as np
import pytest

from examples.papers.dots_and_boxes.first_moves import edge_classes, value_by_windows
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.search import ExactSearch
from tests.helpers.solved import solved_boxes


@pytest.mark.parametrize(("name", "classes"), [("2x2", 2), ("2x3", 5), ("3x3", 4), ("3x5", 11), ("4x4", 6)])
def test_symmetries_and_corners_leave_few_first_edges(name: str, classes: int) -> None:
    """On 2 x 2, an edge is outer or inner. On 3 x 5 the edges of a corner are one class, and ten others are left."""
    rows, cols = map(int, name.split("x"))
    board = DotsAndBoxes(rows, cols)
    found = edge_classes(board)
    assert len(found) == classes
    assert sum(number for _, number in found) == board.num_actions


@pytest.mark.parametrize("guess", [-4, 0, 2, 4])
def test_value_does_not_depend_on_the_guess(guess: int) -> None:
    env = DotsAndBoxes(2, 2)
    search = ExactSearch(env, compiled=False)
    for drawn in (0, 0b1, 0b100):
        state = solved_boxes(2, 2).states_at(np.array([drawn]))
        state = type(state)(**{name: leaf[0] for name, leaf in vars(state).items()})
        assert value_by_windows(search, state, guess)["value"] == solved_boxes(2, 2).table[drawn]
