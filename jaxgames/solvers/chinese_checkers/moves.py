"""Positions and turns of a lone player on the star, for `jaxgames.solvers.chinese_checkers.lone_player_search`.

A position is the set of cells of the pegs, c_0 < c_1 < ... < c_{k-1}. Its number is the rank of the set, the sum of the
binomial coefficients C(c_i, i + 1). A position and its left-right mirror image count as one, under the lower number.

    others without the peg that moves       o_0 < ... < o_{k-2}
    number after it lands on t              sum of C(o_i, i + 1) for i < j, C(t, j + 1), C(o_i, i + 2) for i >= j

where j of the others come before t. `_fill_bases` computes the parts without t, so a turn takes one addition.

The row game keeps only the number of pegs in each row. A turn is a step to the next row, or hops
by two rows over rows that hold a peg, always to a row with room. Every turn of the true game is one of the row game, or
leaves the rows as they are. So a distance of the row game is a lower bound of the true one. A position of the row game
is also a set of different numbers, row + i for the i-th peg, and has the rank of that set.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from jaxgames.games.chinese_checkers.board import tables
from jaxgames.solvers.alphabeta.compiled import Ints, compiled
from jaxgames.solvers.chinese_checkers.star import EMPTY, fill_reached, hop_tables, mirrored_cells

UNREACHED = 127  # the distance in rows of a position that was not reached


class Board(NamedTuple):
    """The board of one size. Index `cells` is every place outside of the star."""

    cells: int
    pegs: int
    rows: int
    neighbour: Ints  # [6 * cells]
    landing: Ints  # [6 * cells], where a hop lands
    mirrored: Ints  # [cells], the cell on the other side of the vertical axis
    row: Ints  # [cells]
    room: Ints  # [rows], cells per row
    binomial: Ints  # [(pegs + 1) * width], C(n, r) at r * width + n
    width: int


class Work(NamedTuple):
    """Arrays that the functions overwrite."""

    pegs: Ints  # [pegs]
    others: Ints  # [pegs]
    mirrored_others: Ints  # [pegs]
    rows_of_others: Ints  # [pegs]
    base: Ints  # [pegs], the parts of numbers without the target, by j
    mirrored_base: Ints  # [pegs]
    row_base: Ints  # [pegs]
    content: Ints  # [cells]: 0 with a peg, EMPTY without
    seen: Ints  # [cells]
    reached: Ints  # [cells]
    in_row: Ints  # [rows], pegs per row


@functools.lru_cache
def make_board(size: int) -> Board:
    """Returns the board of size N = `size`."""
    t = tables(size)
    cells, rows, pegs = len(t.row), len(t.lengths), size * (size + 1) // 2
    width = max(cells, rows + pegs) + 1
    neighbour, landing = hop_tables(size)
    binomial = [min(math.comb(n, r), 2**62) for r in range(pegs + 1) for n in range(width)]
    return Board(
        cells=cells,
        pegs=pegs,
        rows=rows,
        neighbour=neighbour,
        landing=landing,
        mirrored=mirrored_cells(size),
        row=t.row.astype(np.int64),
        room=t.lengths.astype(np.int64),
        binomial=np.array(binomial, np.int64),
        width=width,
    )


def make_work(board: Board) -> Work:
    """Returns arrays for the functions of this file; each thread needs its own."""

    def zeros(length: int) -> np.ndarray:
        return np.zeros(length, np.int64)

    return Work(
        pegs=zeros(board.pegs),
        others=zeros(board.pegs),
        mirrored_others=zeros(board.pegs),
        rows_of_others=zeros(board.pegs),
        base=zeros(board.pegs),
        mirrored_base=zeros(board.pegs),
        row_base=zeros(board.pegs),
        content=np.full(board.cells, EMPTY, np.int64),
        seen=zeros(board.cells),
        reached=zeros(board.cells),
        in_row=zeros(board.rows),
    )


def num_row_positions(board: Board) -> int:
    """Returns the number of positions of the row game, those with too many pegs in a row included."""
    return math.comb(board.rows + board.pegs - 1, board.pegs)


# -- numbers -----------------------------------------------------------------------------------------------------------


@compiled
def unrank(board: Board, number: int, pegs: Ints) -> None:
    """Writes the cells of a position into `pegs`, in ascending order."""
    member = board.cells
    for i in range(board.pegs - 1, -1, -1):
        member -= 1
        while board.binomial[(i + 1) * board.width + member] > number:
            member -= 1
        pegs[i] = member
        number -= board.binomial[(i + 1) * board.width + member]


@compiled
def rank(board: Board, pegs: Ints) -> int:
    """Returns the number of a position from its cells in ascending order, without its mirror image."""
    number = 0
    for i in range(board.pegs):
        number += board.binomial[(i + 1) * board.width + pegs[i]]
    return number


@compiled
def _row_number(board: Board, pegs: Ints, is_reversed: bool) -> int:
    """Returns the number of a position in the row game; of the position rotated by 180 degrees if `is_reversed`."""
    number = 0
    for i in range(board.pegs):
        row = board.rows - 1 - board.row[pegs[board.pegs - 1 - i]] if is_reversed else board.row[pegs[i]]
        number += board.binomial[(i + 1) * board.width + row + i]
    return number


@compiled
def _fill_bases(board: Board, others: Ints, step: int, base: Ints) -> None:
    """Writes the parts of numbers that do not depend on the target, by the number of others before the target.

    `step` is 0 for cells, and 1 for rows, where the i-th peg counts as row + i.
    """
    total = 0
    for i in range(board.pegs - 1):
        total += board.binomial[(i + 2) * board.width + others[i] + step * (i + 1)]
    base[0] = total
    for i in range(board.pegs - 1):
        total -= board.binomial[(i + 2) * board.width + others[i] + step * (i + 1)]
        total += board.binomial[(i + 1) * board.width + others[i] + step * i]
        base[i + 1] = total


@compiled
def _number_with(board: Board, others: Ints, base: Ints, target: int) -> int:
    """Returns the number of the position of the others and one more peg."""
    j = 0
    while j < board.pegs - 1 and others[j] < target:
        j += 1
    return base[j] + board.binomial[(j + 1) * board.width + target]


@compiled
def reverse(board: Board, work: Work, numbers: Ints) -> None:
    """Replaces each number by the number of the position rotated by 180 degrees; the lower one of its mirror images."""
    pegs, others = work.pegs, work.others
    for index in range(len(numbers)):
        unrank(board, numbers[index], pegs)
        for i in range(board.pegs):
            others[i] = board.cells - 1 - pegs[board.pegs - 1 - i]
        number = rank(board, others)
        _fill_mirrored(board, others, board.pegs, pegs)
        numbers[index] = min(number, rank(board, pegs))


@compiled
def _fill_mirrored(board: Board, cells: Ints, length: int, mirrored: Ints) -> None:
    """Writes the mirror images of the first `length` cells into `mirrored`, in ascending order."""
    for i in range(length):
        cell = board.mirrored[cells[i]]
        place = i
        while place > 0 and mirrored[place - 1] > cell:
            mirrored[place] = mirrored[place - 1]
            place -= 1
        mirrored[place] = cell


# -- turns -------------------------------------------------------------------------------------------------------------


@compiled
def expand(
    board: Board, work: Work, numbers: Ints, begin: int, distances: Ints, limit: int, after: Ints
) -> tuple[int, int]:
    """Writes the numbers of the positions one turn after those from `begin` on, with repetitions.

    Positions with a distance above `limit` are left out.

    Args:
      numbers: of positions.
      distances: of the positions of the row game.
      after: filled from its start, until it might not hold the numbers of one more position.

    Returns:
      The place in `numbers` to continue at, and the end of what was written.
    """
    end = 0
    while begin < len(numbers) and end + board.pegs * board.cells <= len(after):
        unrank(board, numbers[begin], work.pegs)
        begin += 1
        for i in range(board.pegs):
            work.content[work.pegs[i]] = 0
        for moving in range(board.pegs):
            end = _expand_peg(board, work, moving, distances, limit, after, end)
        for i in range(board.pegs):
            work.content[work.pegs[i]] = EMPTY
    return begin, end


@compiled
def _expand_peg(board: Board, work: Work, moving: int, distances: Ints, limit: int, after: Ints, end: int) -> int:
    """Adds the numbers of the positions after the turns of one peg; returns their end."""
    origin = work.pegs[moving]
    work.content[origin] = EMPTY
    for i in range(board.pegs - 1):
        work.others[i] = work.pegs[i if i < moving else i + 1]
        work.rows_of_others[i] = board.row[work.others[i]]
    _fill_mirrored(board, work.others, board.pegs - 1, work.mirrored_others)
    _fill_bases(board, work.others, 0, work.base)
    _fill_bases(board, work.mirrored_others, 0, work.mirrored_base)
    _fill_bases(board, work.rows_of_others, 1, work.row_base)
    end_reached = fill_reached(board.neighbour, board.landing, work.content, origin, True, work.seen, work.reached)
    for place in range(1, end_reached):
        target = work.reached[place]
        if distances[_row_number_with(board, work, board.row[target])] <= limit:
            number = _number_with(board, work.others, work.base, target)
            mirrored = _number_with(board, work.mirrored_others, work.mirrored_base, board.mirrored[target])
            after[end] = min(number, mirrored)
            end += 1
    work.content[origin] = 0
    return end


# -- the row game ------------------------------------------------------------------------------------------------------


@compiled
def _row_number_with(board: Board, work: Work, target: int) -> int:
    """Returns the number in the row game of the others and one more peg, in the row `target`."""
    j = 0
    while j < board.pegs - 1 and work.rows_of_others[j] < target:
        j += 1
    return work.row_base[j] + board.binomial[(j + 1) * board.width + target + j]


@compiled
def start_distances(board: Board, work: Work, numbers: Ints, value: int, distances: Ints, queue: Ints) -> int:
    """Gives the rows of positions, rotated by 180 degrees, the distance `value`.

    Writes them into `queue`, without repetitions, and returns their end.
    """
    end = 0
    for index in range(len(numbers)):
        unrank(board, numbers[index], work.pegs)
        rows = _row_number(board, work.pegs, True)
        if distances[rows] == UNREACHED:
            distances[rows] = value
            queue[end] = rows
            end += 1
    return end


@compiled
def spread_distances(board: Board, work: Work, distances: Ints, queue: Ints, end: int, limit: int) -> None:
    """Fills in the distances of the row game up to `limit`, from the positions in `queue` up to `end`."""
    in_row, rows = work.in_row, work.rows_of_others
    head = 0
    while head < end and distances[queue[head]] < limit:
        distance = distances[queue[head]] + 1
        _fill_rows(board, work, queue[head])
        head += 1
        for origin in range(board.rows):
            if in_row[origin] == 0:
                continue
            in_row[origin] -= 1
            place = 0
            for row in range(board.rows):
                for _ in range(in_row[row]):
                    rows[place] = row
                    place += 1
            _fill_bases(board, rows, 1, work.row_base)
            for sign in (-1, 1):
                end = _spread_from(board, work, origin, sign, distance, distances, queue, end)
            in_row[origin] += 1


@compiled
def _spread_from(
    board: Board, work: Work, origin: int, sign: int, distance: int, distances: Ints, queue: Ints, end: int
) -> int:
    """Gives positions after a step or hops up (`sign` -1) or down (1) their distance; returns the end of `queue`."""
    row = origin + sign
    is_step = True
    while 0 <= row < board.rows:
        if work.in_row[row] < board.room[row]:
            number = _row_number_with(board, work, row)
            if distances[number] == UNREACHED:
                distances[number] = distance
                queue[end] = number
                end += 1
        elif not is_step:
            break
        next_row = origin + 2 * sign if is_step else row + 2 * sign
        if not 0 <= next_row < board.rows or work.in_row[next_row - sign] == 0:
            break
        row = next_row
        is_step = False
    return end


@compiled
def _fill_rows(board: Board, work: Work, number: int) -> None:
    """Writes the pegs per row of a position of the row game."""
    for row in range(board.rows):
        work.in_row[row] = 0
    member = board.rows + board.pegs - 1
    for i in range(board.pegs - 1, -1, -1):
        member -= 1
        while board.binomial[(i + 1) * board.width + member] > number:
            member -= 1
        work.in_row[member - i] += 1
        number -= board.binomial[(i + 1) * board.width + member]


@compiled
def fill_row_distances(board: Board, work: Work, numbers: Ints, distances: Ints, of_rows: Ints) -> None:
    """Writes the distance of the rows of each position."""
    for index in range(len(numbers)):
        unrank(board, numbers[index], work.pegs)
        of_rows[index] = distances[_row_number(board, work.pegs, False)]
