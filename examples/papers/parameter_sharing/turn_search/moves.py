"""Whole turns on the star with six seats: the greedy agent's turns, a seat's own turns, and a linear value of its pegs.

A board is int64[cells] in the mover's frame: 0 is the mover's peg, 1 ... 5 are the other seats' pegs clockwise. An
empty cell is -1. A cell that the moving peg has left in this turn is -2: no peg can land there before the turn is over.

The value estimates how many turns the mover still needs. It is the sum of

    cell        per peg: the weight of its cell
    pair        per pair of pegs: the weight of their two cells
    farthest    the weight of the steps from the farthest peg to the far corner of the goal
    second      the same for the second farthest peg
    others      the weight of the number of other seats' pegs in the goal
    free        a weight times the sum of the steps from each peg outside of the goal to the nearest free cell of it

The functions here are compiled where numba is installed; without it the same source runs in plain Python.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxgames.games._hexagons import hexagonal_distance
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.solvers.alphabeta.compiled import Ints, compiled

SEATS = 6
EMPTY = -1
LEFT = -2  # a cell that the moving peg has left in this turn
WON_VALUE = -1000.0  # of a full goal
NO_FREE_CELL = 1_000_000  # in place of the steps to a free cell of the goal
STEP_SCORE, END_OF_TURN_SCORE = 128, 1  # of the greedy agent, in units of 1/128: jaxgames/greedy.py
FREE_CELL_SCORE = 2
MULTIPLIER, INCREMENT, STATE_MASK = 25214903917, 11, 2**48 - 1  # of the random numbers, as in POSIX's drand48
SEED_OFFSET = 0x330E  # of its srand48

Floats = NDArray[np.float64]


class Star(NamedTuple):
    """The board of one size. Index `cells` is every place outside of the star."""

    size: int
    cells: int
    pegs: int
    neighbour: Ints  # [6 * cells]
    landing: Ints  # [6 * cells], where a hop lands
    rotated: Ints  # [cells], the cell of the last mover's frame that a cell of the next mover's frame was
    to_tip: Ints  # [cells], steps to the far corner of the goal
    to_goal: Ints  # [cells * pegs], steps to each cell of the goal


class Work(NamedTuple):
    """Arrays that the functions overwrite."""

    remaining: Ints  # [cells]
    spare: Ints  # [cells]
    seen: Ints  # [cells], zeros between calls
    queue: Ints  # [cells]
    random: Ints  # [1], the state of the random numbers


class Weights(NamedTuple):
    """The weights of the value."""

    cell: Floats  # [cells]
    pair: Floats  # [cells * cells]
    farthest: Floats  # [4N + 1], by steps
    second: Floats  # [4N + 1], by steps
    others: Floats  # [pegs + 1], by number
    free: Floats  # [1]


@functools.lru_cache
def make_star(size: int) -> Star:
    """Returns the board of size N = `size`."""
    t = tables(size)
    cells, pegs = len(t.row), size * (size + 1) // 2
    steps = distances(size)
    return Star(
        size=size,
        cells=cells,
        pegs=pegs,
        neighbour=t.neighbour[:-1].astype(np.int64).ravel(),
        landing=t.beyond[:-1].astype(np.int64).ravel(),
        rotated=t.rotated[1].astype(np.int64),
        to_tip=steps[:, -1].copy(),
        to_goal=steps[:, -pegs:].ravel(),
    )


@functools.lru_cache
def distances(size: int) -> np.ndarray:
    """Returns int64[cells, cells], the steps between two cells of an empty board."""
    axial = tables(size).axial
    return hexagonal_distance(axial[:, None] - axial).astype(np.int64)


def make_work(star: Star) -> Work:
    """Returns arrays for the functions of this file; the seed of the random numbers is 0."""
    zeros = [np.zeros(star.cells, np.int64) for _ in range(4)]
    return Work(*zeros, random=np.array([SEED_OFFSET], np.int64))


# -- random numbers and frames -----------------------------------------------------------------------------------------


@compiled
def random_below(work: Work, limit: int) -> int:
    """Returns a random integer from 0 to `limit` - 1."""
    work.random[0] = (int(work.random[0]) * MULTIPLIER + INCREMENT) & STATE_MASK
    return (int(work.random[0]) >> 17) % limit


@compiled
def rotate(star: Star, work: Work, board: Ints) -> None:
    """Turns the board into the frame of the next seat, which is the next mover."""
    for cell in range(star.cells):
        owner = board[star.rotated[cell]]
        work.spare[cell] = owner - 1 if owner > 0 else SEATS - 1 if owner == 0 else EMPTY
    for cell in range(star.cells):
        board[cell] = work.spare[cell]


@compiled
def is_full(star: Star, board: Ints) -> bool:
    for cell in range(star.cells - star.pegs, star.cells):  # noqa: SIM110  # no generators in compiled functions
        if board[cell] != 0:
            return False
    return True


@compiled
def fill_pegs(star: Star, board: Ints, pegs: Ints) -> None:
    end = 0
    for cell in range(star.cells):
        if board[cell] == 0:
            pegs[end] = cell
            end += 1


# -- the greedy agent --------------------------------------------------------------------------------------------------


@compiled
def steps_to_free(star: Star, board: Ints, cell: int) -> int:
    """Returns the steps from a cell to the nearest free cell of the goal; NO_FREE_CELL if none is free."""
    best = NO_FREE_CELL
    for place in range(star.pegs):
        if board[star.cells - star.pegs + place] < 0:
            best = min(best, star.to_goal[cell * star.pegs + place])
    return best


@compiled
def fill_remaining(star: Star, work: Work, board: Ints) -> None:
    """Writes `remaining_on_star` of the greedy scores of the mover into `work.remaining`, in units of 1/128."""
    goal = star.cells - star.pegs
    deepest, is_closed = star.size, False
    for cell in range(goal, star.cells):
        if board[cell] > 0:
            deepest = min(deepest, star.to_tip[cell])
    for cell in range(goal, star.cells):
        is_closed = is_closed or star.to_tip[cell] > deepest
    for cell in range(star.cells):
        steps = STEP_SCORE * star.to_tip[cell]
        if cell >= goal:
            if star.to_tip[cell] > deepest:
                steps = STEP_SCORE * star.size
        elif not is_closed:
            free = steps_to_free(star, board, cell)
            if free < NO_FREE_CELL:
                steps += FREE_CELL_SCORE * free
        work.remaining[cell] = steps


@compiled
def greedy_turn(star: Star, work: Work, board: Ints) -> bool:
    """Plays a whole turn of the greedy agent; returns True if it fills its goal."""
    peg, has_won, goes_on = -1, False, True
    while goes_on:
        fill_remaining(star, work, board)
        best, ties, best_cell, best_to, best_is_hop = -1, 0, -1, -1, False
        if peg >= 0:
            best, ties, best_cell, best_to = END_OF_TURN_SCORE, 1, peg, peg
        for cell in range(star.cells):
            if board[cell] != 0 or (peg >= 0 and cell != peg):
                continue
            for direction in range(6):
                to = star.neighbour[6 * cell + direction]
                is_hop = to < star.cells and board[to] >= 0
                if is_hop:
                    to = star.landing[6 * cell + direction]
                elif peg >= 0:
                    continue
                if to >= star.cells or board[to] != EMPTY:
                    continue
                gain = max(work.remaining[cell] - work.remaining[to], 0)
                if gain > best:
                    best, ties = gain, 0
                if gain == best:
                    ties += 1
                    if random_below(work, ties) == 0:  # 1 of 1 always is
                        best_cell, best_to, best_is_hop = cell, to, is_hop
        if best_cell == best_to:  # the end of the turn, or no move
            break
        board[best_cell] = LEFT if best_is_hop else EMPTY
        board[best_to] = 0
        has_won = is_full(star, board)
        peg, goes_on = best_to, best_is_hop and not has_won
    end_turn(star, board)
    return has_won


@compiled
def end_turn(star: Star, board: Ints) -> None:
    """Makes the cells that the moving peg has left empty."""
    for cell in range(star.cells):
        if board[cell] == LEFT:
            board[cell] = EMPTY


# -- the turns of a seat -----------------------------------------------------------------------------------------------


@compiled
def fill_turns(star: Star, work: Work, board: Ints, pegs: Ints, chain: int, turns: Ints) -> int:
    """Writes all turns of the mover, each the index of its peg and its last cell; returns their number.

    `chain` is the cell of the peg that has hopped in this turn, and may hop on or stay; -1: the turn begins.
    """
    number, queue, seen = 0, work.queue, work.seen
    for index in range(star.pegs):
        origin = pegs[index]
        if chain >= 0 and origin != chain:
            continue
        board[origin] = LEFT
        queue[0] = origin
        seen[origin] = 1
        head, end = 0, 1
        while head < end:  # hops, from each cell that the peg reaches
            place = 6 * queue[head]
            head += 1
            for direction in range(6):
                over, to = star.neighbour[place + direction], star.landing[place + direction]
                if to < star.cells and board[over] >= 0 and board[to] == EMPTY and seen[to] == 0:
                    seen[to] = 1
                    queue[end] = to
                    end += 1
        hops = end
        for direction in range(6):
            to = star.neighbour[6 * origin + direction]
            if chain < 0 and to < star.cells and board[to] == EMPTY and seen[to] == 0:
                queue[end] = to
                end += 1
        for place in range(hops):
            seen[queue[place]] = 0
        for place in range(0 if chain >= 0 else 1, end):
            turns[2 * number], turns[2 * number + 1] = index, queue[place]
            number += 1
        board[origin] = 0
    return number


@compiled
def move(board: Ints, pegs: Ints, index: int, to: int) -> int:
    """Moves a peg; returns the cell that it has left."""
    origin = pegs[index]
    board[origin] = EMPTY
    board[to] = 0
    pegs[index] = to
    return origin


@compiled
def turns_left(star: Star, weights: Weights, board: Ints, pegs: Ints) -> float:
    """Returns the value: the turns that the mover still needs, estimated; WON_VALUE if its goal is full."""
    if is_full(star, board):
        return WON_VALUE
    goal, value, others, farthest, second = star.cells - star.pegs, 0.0, 0, 0, 0
    for index in range(star.pegs):
        cell = pegs[index]
        value += weights.cell[cell]
        for other in range(index):
            value += weights.pair[cell * star.cells + pegs[other]]
        steps = star.to_tip[cell]
        second = max(second, min(steps, farthest))
        farthest = max(farthest, steps)
        if cell < goal:
            free = steps_to_free(star, board, cell)
            if free < NO_FREE_CELL:
                value += weights.free[0] * free
    for cell in range(goal, star.cells):
        if board[cell] > 0:
            others += 1
    return value + weights.farthest[farthest] + weights.second[second] + weights.others[others]


@compiled
def best_turn(star: Star, work: Work, weights: Weights, board: Ints, pegs: Ints, turns: Ints) -> tuple[int, float]:
    """Returns the number of the turn with the lowest value after it, in `turns`, and this value; -1 without a turn."""
    best, lowest = -1, 1.0 * NO_FREE_CELL
    for number in range(fill_turns(star, work, board, pegs, -1, turns)):
        index, to = turns[2 * number], turns[2 * number + 1]
        origin = move(board, pegs, index, to)
        value = turns_left(star, weights, board, pegs)
        move(board, pegs, index, origin)
        if value < lowest:
            best, lowest = number, value
    return best, lowest
