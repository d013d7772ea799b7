"""Evaluations and solutions have equal values on the images of a position, and opposite ones for the opponent."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxgames.games.checkers import search as checkers
from jaxgames.games.checkers.search_moves import rotated
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.minichess import Minichess
from jaxgames.games.minichess import search as minichess
from jaxgames.games.minichess.search_moves import Pieces, make_chess
from tests.games.chinese_checkers_diamond.test_symmetry import exchanged, mirrored
from tests.games.dots_and_boxes.test_symmetry import SYMMETRIES, numbers
from tests.helpers.positions import board, read_all
from tests.helpers.solved import solved_boxes, solved_diamond

CHESS = make_chess(Minichess(), compiled=False)
WORDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60, deadline=None, database=None)
@given(st.sampled_from([*checkers.WEIGHTS]), WORDS, WORDS, WORDS)
def test_evaluation_of_checkers_is_the_opposite_for_the_opponent(
    name: str, own: int, occupied: int, kings: int
) -> None:
    occupied |= 1
    own, opponents, kings = own & occupied, ~own & occupied, kings & occupied
    value = checkers.evaluation(checkers.WEIGHTS[name], own, opponents, kings)
    turned = (rotated(word) for word in (opponents, own, kings))
    assert checkers.evaluation(checkers.WEIGHTS[name], *turned) == -value


@settings(max_examples=60, deadline=None, database=None)
@given(st.sampled_from([*minichess.WEIGHTS]), st.lists(st.integers(-6, 6), min_size=25, max_size=25))
def test_evaluation_of_minichess_is_symmetric(name: str, board: list[int]) -> None:
    """Equal with the files in reverse order, opposite for the opponent. Kinds of the opponent's pieces are negative."""

    def value(board: list[int]) -> int:
        sets = [[kind > 0 for kind in board], *([abs(kind) & bit > 0 for kind in board] for bit in (1, 2, 4))]
        words = (sum(1 << cell for cell in range(25) if cells[cell]) for cells in sets)
        return minichess.evaluation(minichess.WEIGHTS[name], CHESS, Pieces(*words))

    files = [board[5 * file : 5 * file + 5] for file in range(5)]
    assert value([kind for file in reversed(files) for kind in file]) == value(board)
    assert value([-kind for file in files for kind in reversed(file)]) == -value(board)


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (2, 3)])
def test_solution_of_boxes_has_equal_values_on_all_images(rows: int, cols: int) -> None:
    table, edges = solved_boxes(rows, cols).table, numbers(rows, cols)[0]
    drawn = np.arange(len(table))
    images = [symmetry(edges) for symmetry in SYMMETRIES.values()]
    images = [image for image in images if image.shape == edges.shape]
    assert len(images) == (8 if rows == cols else 4)
    for image in images:
        moved = np.concatenate([image[::2, 1::2].ravel(), image[1::2, ::2].ravel()])
        np.testing.assert_array_equal(table[sum((drawn >> bit & 1) << edge for edge, bit in enumerate(moved))], table)


def test_solution_of_the_diamond_has_equal_values_on_all_images() -> None:
    solution, env = solved_diamond(3, 3), ChineseCheckersDiamond(3, 3)
    states = solution.states_at(np.arange(0, solution.num_states, 17))
    texts = [env.to_string(board(states, number)) for number in range(len(states.terminated))]
    for image in (mirrored, exchanged):
        others = read_all(env, [image(text) for text in texts])
        np.testing.assert_array_equal(solution.value(others), solution.value(states))
        np.testing.assert_array_equal(solution.plies(others), solution.plies(states))
