"""Chains in Dots and Boxes that nobody has opened: the moves that open them, and the value of chains alone."""

import numpy as np
import pytest

from jaxgames.games.dots_and_boxes.chains import Chains, chain_openers, value_of_chains
from jaxgames.games.dots_and_boxes.search import ExactSearch
from jaxgames.games.dots_and_boxes.search_moves import (
    Board,
    Position,
    draw,
    make_board,
    make_position,
    undraw,
)
from tests.games.dots_and_boxes.pictures import game, written
from tests.helpers.solved import solved_boxes
from tests.solvers.dots_and_boxes.slow_boxes import SlowBoxes

# A loop of four boxes and a chain of five.
LOOP_AND_CHAIN = """
    *---*---*   *
    |       |   |
    *   *   *   *
    |       |   |
    *---*---*   *
                |
    *---*---*---*
"""


def sets_with_degrees(rows: int, cols: int, allowed: set[int], number: int) -> list[int]:
    """Random sets of drawn edges in which each box has one of the allowed degrees; all of them if they are fewer."""
    slow, random = SlowBoxes(rows, cols), np.random.default_rng(0)
    size = 2**slow.num_edges
    sets = np.arange(size - 1) if size <= 2**17 else np.unique(random.integers(0, size, 2**20))
    for box in slow.boxes:
        sets = sets[np.isin(sum(sets >> edge & 1 for edge in box), [*allowed])]
    return random.permutation(sets)[:number].tolist()


def position_of(board: Board, drawn: int) -> Position:
    return make_position(board, [edge for edge in range(len(board.order)) if drawn >> edge & 1])


def work_space(board: Board, rows: int, cols: int) -> Chains:
    edges, boxes = len(board.order), rows * cols
    seen, sizes, moves, lengths, values = ([0] * size for size in (boxes, edges, edges, 2 * boxes, boxes + 1))
    return Chains(seen, sizes, moves, lengths, values)


@pytest.mark.parametrize(
    ("rows", "cols", "number"),
    [(1, 3, 100), (2, 2, 500), (2, 3, 300), pytest.param(3, 3, 3000, marks=pytest.mark.slow)],
)
def test_value_of_chains_is_that_of_the_solved_game(rows: int, cols: int, number: int) -> None:
    board, table = make_board(rows, cols, compiled=False), solved_boxes(rows, cols).table
    chains, found = work_space(board, rows, cols), set[int]()
    for drawn in sets_with_degrees(rows, cols, {2, 4}, number):
        position = position_of(board, drawn)
        assert value_of_chains(board, position, chains) == table[drawn], drawn
        found |= {chains.sizes[chains.moves[0]]}
    assert {size & 1 for size in found} == ({0} if rows == 1 else {0, 1})  # loops need two rows


def test_loop_is_opened_before_a_chain_if_that_costs_less() -> None:
    """The opponent leaves the four boxes, and must open the chain of five: 5 - 4 = 1. The chain first would cost 5."""
    board, state = make_board(3, 3, compiled=False), game(3, 3).from_string(written(LOOP_AND_CHAIN))
    position = make_position(board, np.flatnonzero(state.edges).tolist())
    assert ExactSearch(game(3, 3), compiled=False).search(state).value == -1
    assert value_of_chains(board, position, work_space(board, 3, 3)) == -1


@pytest.mark.parametrize(("rows", "cols", "number"), [(2, 2, 400), (2, 3, 300)])
def test_a_best_move_is_a_safe_edge_or_opens_a_chain(rows: int, cols: int, number: int) -> None:
    board, table = make_board(rows, cols, compiled=False), solved_boxes(rows, cols).table
    chains, moves = work_space(board, rows, cols), [0] * len(board.order)
    for drawn in sets_with_degrees(rows, cols, {0, 1, 2, 4}, number):
        position = position_of(board, drawn)
        values: list[int] = []
        for place in range(chain_openers(board, position, chains, moves, 0)):
            assert draw(board, position, moves[place]) == 0
            values.append(-int(table[position.keys[0]]))
            undraw(board, position, moves[place])
        assert max(values) == table[drawn], drawn
