"""Dots and Boxes for searches in a loop over single boards: tables of a board, positions, and the moves worth trying.

A `Board` holds the tables of a board of up to 8 x 8 boxes, a `Position` what is drawn on it. Edges have the numbers of
jaxgames/games/dots_and_boxes/rules.py. Box `rows * cols` is the outside. The degree of a box is the number of its drawn
edges, and the outside counts as a box that is never complete. Where functions are not compiled, lists take the place of
arrays.

Chains. A box of degree 3 can be taken. A chain leads from it, through its open edge, to the next box as long as that
box has degree 2:

    *---*---*---*        half-open: taken from one end, the other end leads to the outside or to a box of degree 0 or 1;
    | a   b   c          here a, b, c, with the far edge of c open
    *---*---*---*

    *---*---*---*---*    closed: both ends are boxes of degree 3
    | a   b   c   d |
    *---*---*---*---*

Sources: Berlekamp, The Dots and Boxes Game, 2000; Barker and Korf, Solving Dots-and-Boxes, AAAI 2012 (chain rules,
interchangeable edges of a corner, edges from the centre outwards).
"""

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, Ints, compiled, ints

MAX_EDGES_IN_KEY = 62  # a key is the set of edges itself up to here

# Places in `Position.counts`.
CAPTURABLE = 0  # boxes of degree 3
LOOSE = 1  # boxes of degree 0 or 1
OPEN_BOXES = 2  # boxes that are not complete
OPEN_EDGES = 3

OUTSIDE_DEGREE = -1_000  # of the outside: less than 2, whatever is drawn


class Board(NamedTuple):
    """The tables of a board."""

    boxes_of: Ints  # [2 * num_edges], the boxes on both sides of edge e at 2 * e and 2 * e + 1
    key_of: Ints  # [num_edges * num_symmetries], edge e at e * num_symmetries; the edge's part of each key
    order: Ints  # [num_edges], the edges in the order in which they are tried: from the centre outwards
    before: Ints  # [num_edges], the edge of the same class that must be drawn before this one, or -1


class Position(NamedTuple):
    """The drawn edges, and what follows from them. Only `draw` and `undraw` change it."""

    drawn: Ints  # [num_edges], 1 for a drawn edge, otherwise 0
    degree: Ints  # [num_boxes + 1], drawn edges of each box; the last is the outside
    open_edges: Ints  # [num_boxes + 1], the exclusive or of the open edges of each box
    keys: Ints  # [num_symmetries], the position under each symmetry as a number; the first is as it lies
    counts: Ints  # [4], see above


# -- tables ------------------------------------------------------------------------------------------------------------


def make_board(rows: int, cols: int, *, symmetries: bool = True, compiled: bool = HAS_NUMBA) -> Board:
    """Returns the tables of a board.

    The edges between one box and the outside are interchangeable: they are drawn in ascending order.

    Args:
      rows: rows of boxes, 1..8.
      cols: boxes per row, 1..8.
      symmetries: whether a position has a key for each of the 4 symmetries of the board, 8 of a square one, or one key.
      compiled: whether tables are arrays, for compiled functions, or lists, for plain ones.
    """
    boxes_of = sides_of_edges(rows, cols)
    classes = outer_edges(rows, cols)
    permutations = edge_symmetries(rows, cols, classes) if symmetries else [list(range(len(boxes_of)))]
    before = [-1] * len(boxes_of)
    for edges in classes.values():
        for first, second in itertools.pairwise(edges):
            before[second] = first
    places = [edge_place(rows, cols, edge) for edge in range(len(boxes_of))]
    order = sorted(range(len(places)), key=lambda edge: math.dist(places[edge], (rows, cols)))
    tables = (list(itertools.chain(*boxes_of)), keys_of_edges(permutations), order, before)
    return Board(*(ints(table, compiled) for table in tables))


def make_position(board: Board, drawn: Iterable[int] = ()) -> Position:
    """Returns the position with these drawn edges, on arrays or lists as the board's tables are."""
    num_edges, num_boxes = len(board.order), max(board.boxes_of[side] for side in range(len(board.boxes_of)))
    position = Position(
        drawn=[0] * num_edges,
        degree=[0] * num_boxes + [OUTSIDE_DEGREE],
        open_edges=[0] * (num_boxes + 1),
        keys=[0] * (len(board.key_of) // num_edges),
        counts=[0, num_boxes, num_boxes, num_edges],
    )
    for side in range(2 * num_edges):
        position.open_edges[board.boxes_of[side]] ^= side // 2
    for edge in drawn:
        draw(board, position, edge)
    return Position(*(ints(part, not isinstance(board.order, list)) for part in position))


def edge_place(rows: int, cols: int, edge: int) -> tuple[int, int]:
    """Returns the row and column of an edge on the grid [2 * rows + 1, 2 * cols + 1] of dots, edges and boxes."""
    num_horizontal = (rows + 1) * cols
    if edge < num_horizontal:
        return 2 * (edge // cols), 2 * (edge % cols) + 1
    row, col = divmod(edge - num_horizontal, cols + 1)
    return 2 * row + 1, 2 * col


def sides_of_edges(rows: int, cols: int) -> list[tuple[int, int]]:
    """Returns the two boxes of each edge: above and below, or left and right of it."""
    box_at = {(2 * (box // cols) + 1, 2 * (box % cols) + 1): box for box in range(rows * cols)}
    sides: list[tuple[int, int]] = []
    for edge in range((rows + 1) * cols + rows * (cols + 1)):
        y, x = edge_place(rows, cols, edge)
        before, behind = ((y - 1, x), (y + 1, x)) if y % 2 == 0 else ((y, x - 1), (y, x + 1))
        sides.append((box_at.get(before, rows * cols), box_at.get(behind, rows * cols)))
    return sides


def outer_edges(rows: int, cols: int) -> dict[int, list[int]]:
    """Returns the edges to the outside, in ascending order, of each box that has some.

    They are interchangeable: with either of them drawn, the same boxes can be taken in the same ways.
    """
    outside = rows * cols
    classes: dict[int, list[int]] = {}
    for edge, pair in enumerate(sides_of_edges(rows, cols)):
        if outside in pair:
            classes.setdefault(min(pair), []).append(edge)
    return classes


def edge_symmetries(rows: int, cols: int, classes: dict[int, list[int]]) -> list[list[int]]:
    """Returns the image of each edge under each symmetry of the board; the first symmetry changes nothing.

    The edges of a class are mapped in ascending order. So a position in which each class is drawn in ascending order
    has images that are drawn so, too.
    """
    places = [edge_place(rows, cols, edge) for edge in range((rows + 1) * cols + rows * (cols + 1))]
    number = {place: edge for edge, place in enumerate(places)}
    maps: list[list[int]] = []
    for swap, flip_y, flip_x in itertools.product((False, True) if rows == cols else (False,), *[(False, True)] * 2):
        flipped = [(2 * rows - y if flip_y else y, 2 * cols - x if flip_x else x) for y, x in places]
        images = [number[(x, y) if swap else (y, x)] for y, x in flipped]
        for edges in classes.values():
            for edge, image in zip(edges, sorted(images[edge] for edge in edges), strict=True):
                images[edge] = image
        maps.append(images)
    return maps


def keys_of_edges(permutations: list[list[int]]) -> list[int]:
    """Returns the parts of edges in the keys, edge by edge: bits up to 62 edges, otherwise fixed random numbers."""
    num_edges = len(permutations[0])
    if num_edges <= MAX_EDGES_IN_KEY:
        parts = [1 << edge for edge in range(num_edges)]
    else:
        parts = np.random.default_rng(0).integers(1, 2**62, num_edges).tolist()
    return [parts[images[edge]] for edge in range(num_edges) for images in permutations]


# -- positions ---------------------------------------------------------------------------------------------------------


@compiled
def draw(board: Board, position: Position, edge: int) -> int:
    """Draws an open edge; returns the number of boxes that it completes, 0 to 2."""
    counts = position.counts
    completed = 0
    for side in range(2 * edge, 2 * edge + 2):
        box = board.boxes_of[side]
        degree = position.degree[box] + 1
        position.degree[box] = degree
        position.open_edges[box] ^= edge
        if degree == 2:
            counts[LOOSE] -= 1
        elif degree == 3:
            counts[CAPTURABLE] += 1
        elif degree == 4:
            counts[CAPTURABLE] -= 1
            completed += 1
    position.drawn[edge] = 1
    counts[OPEN_EDGES] -= 1
    counts[OPEN_BOXES] -= completed
    num_keys = len(position.keys)
    for symmetry in range(num_keys):
        position.keys[symmetry] ^= board.key_of[edge * num_keys + symmetry]
    return completed


@compiled
def undraw(board: Board, position: Position, edge: int) -> None:
    """Makes a drawn edge open again."""
    counts = position.counts
    for side in range(2 * edge, 2 * edge + 2):
        box = board.boxes_of[side]
        degree = position.degree[box]
        position.degree[box] = degree - 1
        position.open_edges[box] ^= edge
        if degree == 2:
            counts[LOOSE] += 1
        elif degree == 3:
            counts[CAPTURABLE] -= 1
        elif degree == 4:
            counts[CAPTURABLE] += 1
            counts[OPEN_BOXES] += 1
    position.drawn[edge] = 0
    counts[OPEN_EDGES] += 1
    num_keys = len(position.keys)
    for symmetry in range(num_keys):
        position.keys[symmetry] ^= board.key_of[edge * num_keys + symmetry]


@compiled
def place(board: Board, position: Position, drawn: Ints) -> None:
    """Draws and undraws edges until the position has those with drawn[edge] == 1."""
    for edge in range(len(drawn)):
        if drawn[edge] == 1 and position.drawn[edge] == 0:
            draw(board, position, edge)
        elif drawn[edge] == 0 and position.drawn[edge] == 1:
            undraw(board, position, edge)


@compiled
def canonical_key(position: Position) -> int:
    """Returns the smallest key of the position, the same for all its images under the symmetries of the board."""
    smallest = position.keys[0]
    for symmetry in range(1, len(position.keys)):
        smallest = min(smallest, position.keys[symmetry])
    return smallest


@compiled
def is_safe(board: Board, position: Position, edge: int) -> bool:
    """Returns whether an open edge completes no box and leaves none that the opponent can take."""
    return position.degree[board.boxes_of[2 * edge]] < 2 and position.degree[board.boxes_of[2 * edge + 1]] < 2


@compiled
def is_first_open(board: Board, position: Position, edge: int) -> bool:
    """Returns whether an edge is open, and the first open one of those that are interchangeable with it."""
    before = board.before[edge]
    return position.drawn[edge] == 0 and (before < 0 or position.drawn[before] == 1)


# -- moves -------------------------------------------------------------------------------------------------------------


@compiled
def captures(board: Board, position: Position, moves: Ints, begin: int) -> int:
    """Writes one or two moves among which is a best one to moves[begin:], and returns their number; 0 if none takes.

    Boxes are taken one by one, those that cost nothing first, then closed chains, then half-open ones. In the last
    chain, two boxes of a half-open one, or four of a closed one, can be left. The opponent takes them and must move
    elsewhere. So there are two moves: to take, and the second edge of the chain, which leaves them.
    """
    if position.counts[CAPTURABLE] == 0:
        return 0
    closed_ends = half_open = 0
    closed_move = closed_leave = half_open_move = half_open_leave = -1
    for box in range(len(position.degree) - 1):
        if position.degree[box] != 3:
            continue
        edge = position.open_edges[box]
        move, leave, length = edge, -1, 1
        to = board.boxes_of[2 * edge] + board.boxes_of[2 * edge + 1] - box
        while position.degree[to] == 2:
            edge ^= position.open_edges[to]
            length += 1
            if length == 2:
                leave = edge
            to = board.boxes_of[2 * edge] + board.boxes_of[2 * edge + 1] - to
        is_closed = position.degree[to] == 3
        if length == 1:
            moves[begin] = move
            return 1
        if is_closed:
            closed_ends += 1
            closed_move, closed_leave = move, leave if length == 3 else -1
        else:
            half_open += 1
            half_open_move, half_open_leave = move, leave if length == 2 else -1
    moves[begin] = closed_move if closed_ends > 0 else half_open_move
    leave = closed_leave if closed_ends > 0 else half_open_leave
    if closed_ends // 2 + half_open > 1 or leave < 0:
        return 1
    moves[begin + 1] = leave
    return 2
