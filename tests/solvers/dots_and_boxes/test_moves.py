"""The tables of Dots and Boxes for searches: drawing, keys, and moves among which is a best one."""

import itertools
import runpy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jaxgames.games.dots_and_boxes.search_moves import (
    CAPTURABLE,
    OPEN_EDGES,
    Board,
    Position,
    canonical_key,
    captures,
    draw,
    edge_place,
    edge_symmetries,
    is_first_open,
    is_safe,
    keys_of_edges,
    make_board,
    make_position,
    outer_edges,
    undraw,
)
from jaxgames.solvers.alphabeta import compiled as _numba
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, compiled, function_for, ints
from tests.games.dots_and_boxes.pictures import written
from tests.helpers.solved import solved_boxes
from tests.solvers.dots_and_boxes.slow_boxes import SlowBoxes

BOARDS = [(1, 1), (1, 3), (2, 2), (3, 2), (3, 3)]


def position_of(picture: str, board: Board) -> Position:
    return make_position(board, [edge for edge, bit in enumerate(written(picture).split()[0]) if bit == "1"])


@compiled
def captures_or_open_edges(board: Board, position: Position, moves: Any, chains: bool) -> int:
    """Writes the moves of `captures`, if any and with `chains`, or the open edges, of equal ones the first."""
    if chains and position.counts[CAPTURABLE] > 0:
        return captures(board, position, moves, 0)
    number = 0
    for place in range(len(board.order)):
        if is_first_open(board, position, board.order[place]):
            moves[number] = board.order[place]
            number += 1
    return number


def make_moves(board: Board) -> Any:
    return ints([0] * len(board.order), not isinstance(board.order, list))


def without_corners(rows: int, cols: int, symmetries: bool = True, compiled: bool = False) -> Board:
    """A board on which no edges are interchangeable."""
    board = make_board(rows, cols, compiled=compiled)
    maps = edge_symmetries(rows, cols, {})[: None if symmetries else 1]
    return board._replace(key_of=ints(keys_of_edges(maps), compiled), before=ints([-1] * len(board.order), compiled))


def moves_of(board: Board, position: Position, chains: bool = True) -> list[int]:
    moves = make_moves(board)
    return [moves[place] for place in range(captures_or_open_edges(board, position, moves, chains))]


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


def test_edge_is_safe_if_it_leaves_no_box_to_the_opponent() -> None:
    board, slow = make_board(2, 2, compiled=False), SlowBoxes(2, 2)
    for drawn in range(0, 4096, 7):
        position = make_position(board, edges_of(drawn))
        for edge in slow.edges(drawn):
            after = drawn | 1 << edge
            gains = sum(1 for box in slow.boxes if len(box - {*edges_of(after)}) == 1 and edge in box)
            assert is_safe(board, position, edge) == (gains == 0 and slow.gain(drawn, edge) == 0)


# -- keys --------------------------------------------------------------------------------------------------------------


def grids(rows: int, cols: int, drawn: list[int]) -> Iterator[np.ndarray]:
    """The images of a position under the symmetries of the board, as grids of dots, edges and boxes."""
    grid = np.zeros((2 * rows + 1, 2 * cols + 1), int)
    for edge in drawn:
        grid[edge_place(rows, cols, edge)] = 1
    for turns, flip in itertools.product(range(4), (False, True)):
        image = np.rot90(grid.T if flip else grid, turns)
        if image.shape == grid.shape:
            yield image


@pytest.mark.parametrize(("rows", "cols"), [*BOARDS, (4, 6), (8, 8)])
def test_keys_are_those_of_the_images_of_the_position(rows: int, cols: int) -> None:
    board = without_corners(rows, cols)
    number = {edge_place(rows, cols, edge): edge for edge in range(len(board.order))}
    random = np.random.default_rng(0)
    for share in (0.2, 0.5):
        drawn = np.flatnonzero(random.random(len(board.order)) < share).tolist()
        images = [[number[y, x] for y, x in np.argwhere(grid).tolist()] for grid in grids(rows, cols, drawn)]
        keys = [make_position(board, image).keys for image in images]
        assert len(keys) == (8 if rows == cols else 4) == len(keys[0])
        assert sorted(contents(make_position(board, drawn))[3]) == sorted(key[0] for key in keys)
        assert len({canonical_key(make_position(board, image)) for image in images}) == 1


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
def test_first_key_is_the_set_of_edges(rows: int, cols: int) -> None:
    board = make_board(rows, cols, compiled=False)
    for edges in ([], [0], [1, 3], list(range(len(board.order)))):
        assert make_position(board, edges).keys[0] == sum(1 << edge for edge in edges)


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


# -- interchangeable edges ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "cols"), BOARDS)
def test_interchangeable_edges_stay_in_order_under_every_symmetry(rows: int, cols: int) -> None:
    board, random = make_board(rows, cols, compiled=False), np.random.default_rng(0)
    position = make_position(board)
    while position.counts[OPEN_EDGES]:
        draw(board, position, random.choice(moves_of(board, position, chains=False)))
        for key, edges in itertools.product(contents(position)[3], outer_edges(rows, cols).values()):
            drawn = [key >> edge & 1 for edge in edges]
            assert drawn == sorted(drawn, reverse=True)


def test_edges_of_a_corner_are_interchangeable() -> None:
    assert outer_edges(3, 3) == {
        **{0: [0, 12], 2: [2, 15], 6: [9, 20], 8: [11, 23]},
        **{1: [1], 3: [16], 5: [19], 7: [10]},
    }


# -- chains ------------------------------------------------------------------------------------------------------------

CHAINS = {  # the edges have the numbers of tests/games/dots_and_boxes/pictures.py
    "a box beside a loose one costs nothing": ({10}, """
        *---*   *   *
        |
        *---*   *   *

        *   *   *   *
    """),
    "one edge takes two boxes": ({10}, """
        *---*---*   *
        |       |
        *---*---*   *

        *   *   *   *
    """),
    "the last chain of two is taken, or left by its second edge": ({10, 11}, """
        *---*---*   *
        |
        *---*---*   *

        *   *   *   *
    """),
    "a chain of three is begun": ({10}, """
        *---*---*---*
        |
        *---*---*---*

        *   *   *   *
    """),
    "of two chains one is begun": ({14}, """
        *---*---*   *
        |
        *---*---*   *
        |
        *---*---*   *
    """),
    "a closed chain of three is begun": ({11}, """
        *---*---*---*
        |           |
        *---*---*---*

        *   *   *   *
    """),
    "the last closed chain of four is taken, or left by its second edge": ({4, 14}, """
        *---*---*   *
        |   |   |
        *   *   *   *
        |       |
        *---*---*   *
    """),
    "a closed chain of six is begun": ({11}, """
        *---*---*---*
        |   |       |
        *   *---*   *
        |           |
        *---*---*---*
    """),
    "a closed chain comes before a half-open one": ({4}, """
        *---*---*---*
        |   |   |   |
        *   *   *   *
        |       |   |
        *---*---*   *
    """),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "picture"), CHAINS.values(), ids=CHAINS.keys())
def test_captures_follow_the_chain_rules(expected: set[int], picture: str) -> None:
    board = make_board(2, 3, compiled=False)
    assert {*moves_of(board, position_of(picture, board))} == expected


def test_all_open_edges_are_tried_where_nothing_can_be_taken() -> None:
    board = without_corners(2, 2)
    assert sorted(moves_of(board, make_position(board, [0, 3, 7]))) == [1, 2, 4, 5, 6, 8, 9, 10, 11]


def test_edges_are_tried_from_the_centre_outwards() -> None:
    board = make_board(2, 2, compiled=False)
    assert moves_of(board, make_position(board)) == [2, 3, 7, 10, 0, 1, 4, 5]


def wrong_values(board: Board, table: Any, sets: list[int], chains: bool) -> list[int]:
    """The sets of edges whose value is not that of the best of the moves."""
    wrong: list[int] = []
    for drawn in sets:
        position = make_position(board, edges_of(drawn))
        worth = [0] if position.counts[OPEN_EDGES] == 0 else []
        for move in moves_of(board, position, chains):
            gain = draw(board, position, move)
            to_go = int(table[position.keys[0]])
            worth.append(gain + to_go if gain else -to_go)
            undraw(board, position, move)
        if max(worth) != table[drawn]:
            wrong.append(drawn)
    return wrong


@pytest.mark.parametrize(("rows", "cols"), [(1, 3), (2, 2)])
@pytest.mark.parametrize("chains", [False, True])
@pytest.mark.parametrize("corners", [False, True])
def test_a_best_move_is_among_the_moves(rows: int, cols: int, chains: bool, corners: bool) -> None:
    board = make_board(rows, cols, compiled=False) if corners else without_corners(rows, cols)
    table = solved_boxes(rows, cols).table
    assert wrong_values(board, table, list(range(0, len(table), 1 if chains else 5)), chains) == []


@pytest.mark.slow
def test_chain_rules_keep_the_values_of_20_000_positions_of_3x3() -> None:
    """10,000 random sets of edges, and as many from random games, which are like those of a search."""
    board, table, random = make_board(3, 3, compiled=False), solved_boxes(3, 3).table, np.random.default_rng(0)
    sets: list[int] = random.integers(0, 2**24, 10_000).tolist()
    while len(sets) < 20_000:
        position = make_position(board)
        while position.counts[OPEN_EDGES]:
            draw(board, position, random.choice(moves_of(board, position)))
            sets.append(position.keys[0])
    assert wrong_values(board, table, sets, True) == []


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="16.8 million positions need the compiled functions")
@pytest.mark.parametrize("corners", [False, True])
def test_chain_rules_keep_all_values_of_3x3(corners: bool) -> None:
    board = make_board(3, 3, symmetries=False) if corners else without_corners(3, 3, False, HAS_NUMBA)
    count = function_for(True)(count_wrong_values)
    assert count(board, make_position(board), make_moves(board), solved_boxes(3, 3).table) == 0


@compiled
def count_wrong_values(board: Board, position: Position, moves: Any, table: Any) -> int:
    """The number of all sets of edges whose value is not that of the best of the moves, in the order of a Gray code."""
    wrong = 0
    for gray in range(len(table)):
        best = 0 if position.counts[OPEN_EDGES] == 0 else -99
        for place in range(captures_or_open_edges(board, position, moves, True)):
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


def test_numba_that_is_switched_off_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    module = runpy.run_path(_numba.__file__)
    assert not module["HAS_NUMBA"]
    assert module["compiled"](make_board) is make_board
