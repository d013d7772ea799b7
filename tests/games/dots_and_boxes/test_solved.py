"""Small boards of Dots and Boxes solved: the values that others have found, and the env's own rules behind them.

The solver has its own arithmetic on sets of edges. Here the env's mask and step decide what is legal, what it pays, who
moves next and when the game is over: every value of the solver must be the best of the values after each legal edge.
"""

import copy

import numpy as np
import pytest

from jaxgames.solvers.exact.verify import count_errors
from tests.helpers.solved import solved_boxes


@pytest.mark.parametrize(
    ("rows", "cols", "value"),
    [
        (1, 1, -1),
        (1, 2, 0),
        (1, 3, -1),
        (2, 2, 2),
        (2, 3, -2),
        # One more board to compile for each.
        pytest.param(2, 1, 0, marks=pytest.mark.slow),
        pytest.param(1, 4, 0, marks=pytest.mark.slow),
        pytest.param(3, 2, -2, marks=pytest.mark.slow),
        pytest.param(2, 4, 2, marks=pytest.mark.slow),
        pytest.param(3, 3, -3, marks=pytest.mark.slow),
    ],
)
def test_margin_under_perfect_play_is_the_known_one(rows: int, cols: int, value: int) -> None:
    """Boxes by which the first player is ahead."""
    assert solved_boxes(rows, cols).facts()["start_value"] == value


@pytest.mark.slow
def test_every_opening_of_3x3_is_worth_the_same() -> None:
    openings = solved_boxes(3, 3).states_at(2 ** np.arange(24))
    assert solved_boxes(3, 3).value(openings).tolist() == [3] * 24  # for the second player


def test_every_value_is_the_best_of_those_after_a_step_of_the_env() -> None:
    """With 10,000 draws of the 4,096 sets of edges, nine in ten of them."""
    assert count_errors(solved_boxes(2, 2), 10_000, progress=False) == 0


def test_one_wrong_value_is_found() -> None:
    wrong = copy.copy(solved_boxes(2, 2))
    vars(wrong)["table"] = solved_boxes(2, 2).arrays()["table"].copy()
    vars(wrong)["table"][17] += 1
    assert count_errors(wrong, 10_000, progress=False) > 0


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "cols"), [(2, 3), (1, 4), (3, 3)])
def test_values_of_larger_boards_are_the_best_of_those_after_a_step_of_the_env(rows: int, cols: int) -> None:
    assert count_errors(solved_boxes(rows, cols), 20_000, progress=False) == 0
