"""The tables of Dots and Boxes for searches: drawing, keys, moves among which is a best one, and chains."""

import itertools
from typing import Any

import numpy as np
import pytest

from jaxgames.games.dots_and_boxes.chains import Chains, chain_openers, value_of_chains
from jaxgames.games.dots_and_boxes.search_moves import (
    CAPTURABLE,
    OPEN_EDGES,
    Board,
    Position,
    canonical_key,
    captures,
    draw,
    edge_symmetries,
    is_first_open,
    keys_of_edges,
    make_board,
    make_position,
    outer_edges,
    undraw,
)
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from tests.helpers.solved import solved_boxes
from tests.solvers.slow_boxes import SlowBoxes

BOARDS = [(1, 1), (1, 3), (2, 2), (3, 2), (3, 3)]


def without_corners(rows: int, cols: int, symmetries: bool = True, compiled: bool = False) -> Board:
    """A board on which no edges are interchangeable."""
    board = make_board(rows, cols, compiled=compiled)
    maps = edge_symmetries(rows, cols, {})[: None if symmetries else 1]
    return board._replace(key_of=ints(keys_of_edges(maps), compiled), before=ints([-1] * len(board.order), compiled))


def contents(position: Position) -> list[list[int]]:
    return [[part[place] for place in range(len(part))] for part in position]


def edges_of(drawn: int) -> list[int]:
    return [edge for edge in range(drawn.bit_length()) if drawn >> edge & 1]


# -- drawing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
def test_drawn_edge_follows_the_rules_until_it_is_undrawn(rows: int, cols: int) -> None:
    board, slow, random = make_board(rows, cols, compiled=False), SlowBoxes(rows, cols), np.random.default_rng(0)
    position = make_position(board)
    before: list[list[list[int]]] = []
    order = random.permutation(slow.num_edges).tolist()
    for number, edge in enumerate(order):
        before.append(contents(position))
        assert draw(board, position, edge) == slow.gain(sum(1 << each for each in order[:number]), edge)
        assert contents(position) == contents(make_position(board, sorted(order[: number + 1])))
    assert position.counts == [0, 0, 0, 0]
    for edge, expected in zip(reversed(order), reversed(before), strict=True):
        undraw(board, position, edge)
        assert contents(position) == expected


# -- keys --------------------------------------------------------------------------------------------------------------


def test_keys_of_a_large_board_differ() -> None:
    """A key is then a sum of random numbers: all sets of one or two of its 144 edges have keys of their own."""
    board = make_board(8, 8, symmetries=False, compiled=False)
    sets = [*itertools.combinations(range(144), 1), *itertools.combinations(range(144), 2)]
    assert len({make_position(board, edges).keys[0] for edges in sets[::7]} | {0}) == len(sets[::7]) + 1


@pytest.mark.parametrize(
    ("rows", "cols", "orbits"),
    [(1, 2, 48), (1, 3, 312), (2, 2, 570), pytest.param(2, 3, 33_408, marks=pytest.mark.slow)],
)
def test_canonical_keys_are_as_many_as_orbits_by_burnside(rows: int, cols: int, orbits: int) -> None:
    """Burnside: the mean over the symmetries of 2 to the number of their cycles of edges."""
    board = without_corners(rows, cols)
    keys: set[int] = set()
    position, moves = make_position(board), list(range(len(board.order)))
    for gray in range(2 ** len(moves)):
        keys.add(canonical_key(position))
        edge = (~gray & gray + 1).bit_length() - 1  # of the Gray code: one edge changes at a time
        if edge < len(moves):
            (undraw if position.drawn[edge] else draw)(board, position, edge)
    assert len(keys) == orbits


# -- moves -------------------------------------------------------------------------------------------------------------


def test_edges_of_a_corner_are_interchangeable() -> None:
    assert outer_edges(3, 3) == {
        **{0: [0, 12], 2: [2, 15], 6: [9, 20], 8: [11, 23]},
        **{1: [1], 3: [16], 5: [19], 7: [10]},
    }


@compiled
def captures_or_open_edges(board: Board, position: Position, moves: Any) -> int:
    """Writes the moves of `captures`, or if there are none the open edges, of equal ones the first."""
    if position.counts[CAPTURABLE] > 0:
        return captures(board, position, moves, 0)
    number = 0
    for place in range(len(board.order)):
        if is_first_open(board, position, board.order[place]):
            moves[number] = board.order[place]
            number += 1
    return number


@compiled
def count_wrong_values(board: Board, position: Position, moves: Any, table: Any) -> int:
    """The number of all sets of edges whose value is not that of the best of the moves, in the order of a Gray code."""
    wrong = 0
    for gray in range(len(table)):
        best = 0 if position.counts[OPEN_EDGES] == 0 else -99
        for place in range(captures_or_open_edges(board, position, moves)):
            gain = draw(board, position, moves[place])
            to_go = table[position.keys[0]]
            undraw(board, position, moves[place])
            best = max(best, gain + to_go if gain > 0 else -to_go)
        wrong += best != table[position.keys[0]]
        edge = 0
        while gray >> edge & 1:
            edge += 1
        if edge < len(board.order):
            if position.drawn[edge]:
                undraw(board, position, edge)
            else:
                draw(board, position, edge)
    return wrong


@pytest.mark.parametrize(("rows", "cols"), [(1, 3), (2, 2), pytest.param(3, 3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("corners", [False, True])
def test_a_best_move_is_among_the_moves(rows: int, cols: int, corners: bool) -> None:
    """The chain rules, and equal edges, keep the values of all positions. Compiled if they are many."""
    is_compiled = rows == 3
    if is_compiled and not HAS_NUMBA:
        pytest.skip("16.8 million positions need the compiled functions")
    board = without_corners(rows, cols, False, is_compiled)
    if corners:
        board = make_board(rows, cols, symmetries=False, compiled=is_compiled)
    table: Any = solved_boxes(rows, cols).table
    moves = ints([0] * len(board.order), is_compiled)
    count = function_for(is_compiled)(count_wrong_values)
    assert count(board, make_position(board), moves, table if is_compiled else table.tolist()) == 0


# -- chains that nobody has opened -------------------------------------------------------------------------------------


def sets_with_degrees(rows: int, cols: int, allowed: set[int], number: int) -> list[int]:
    """Random sets of drawn edges in which each box has one of the allowed degrees; all of them if they are fewer."""
    slow, random = SlowBoxes(rows, cols), np.random.default_rng(0)
    size = 2**slow.num_edges
    sets = np.arange(size - 1) if size <= 2**17 else np.unique(random.integers(0, size, 2**20))
    for box in slow.boxes:
        sets = sets[np.isin(sum(sets >> edge & 1 for edge in box), [*allowed])]
    return random.permutation(sets)[:number].tolist()


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
        assert value_of_chains(board, make_position(board, edges_of(drawn)), chains) == table[drawn], drawn
        found |= {chains.sizes[chains.moves[0]]}
    assert {size & 1 for size in found} == ({0} if rows == 1 else {0, 1})  # loops need two rows


@pytest.mark.parametrize(("rows", "cols", "number"), [(2, 2, 400), (2, 3, 300)])
def test_a_best_move_is_a_safe_edge_or_opens_a_chain(rows: int, cols: int, number: int) -> None:
    board, table = make_board(rows, cols, compiled=False), solved_boxes(rows, cols).table
    chains, moves = work_space(board, rows, cols), [0] * len(board.order)
    for drawn in sets_with_degrees(rows, cols, {0, 1, 2, 4}, number):
        position = make_position(board, edges_of(drawn))
        values: list[int] = []
        for place in range(chain_openers(board, position, chains, moves, 0)):
            assert draw(board, position, moves[place]) == 0
            values.append(-int(table[position.keys[0]]))
            undraw(board, position, moves[place])
        assert max(values) == table[drawn], drawn
