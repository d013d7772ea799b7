"""The search for a shortest game of a lone player on the star: breadth first from both ends, which are one.

Turns are reversible, and the board rotated by 180 degrees swaps home and goal. So the positions d turns before the end
are the positions d turns after the start, rotated. A game of at most L turns exists if a position within (L + 1) / 2
turns is also, rotated, a position within L / 2 turns. Only one of these two searches is run.

A position after d turns is left out if the row game needs more than L - d turns from it to the goal. The row game is in
`jaxgames.solvers.chinese_checkers.moves`; its distances are lower bounds. The bound becomes sharper on the way: a
game with d or more turns to go passes through a rotated position of level d. So at least d turns are left, plus the
distance in the row game to the nearest rotated position of level d.

Sources: perimeter search, Dillenburg and Nelson, Artificial Intelligence 65, 1994. The same problem on a board without
the other corners of the star: Bell, The Shortest Game of Chinese Checkers and Related Problems, Integers 9, 2009.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxgames._progress import progress_bar
from jaxgames.games.chinese_checkers.board import tables
from jaxgames.solvers.alphabeta.compiled import function_for
from jaxgames.solvers.chinese_checkers.moves import (
    UNREACHED,
    expand,
    fill_row_distances,
    make_board,
    make_work,
    num_row_positions,
    reverse,
    spread_distances,
    start_distances,
)
from jaxgames.solvers.chinese_checkers.star import hop_paths, mirrored_cells

MAX_AFTER = 2**24  # numbers that are collected before repetitions are removed
MIN_FOR_DISTANCES = 100_000  # positions of a level, from which on sharper distances save more time than they take
MAX_PARTS = 8  # sorted arrays before they are merged

Position = frozenset[int]  # the cells of the pegs


class SearchResult(NamedTuple):
    """The result of one search."""

    positions: list[Position] | None  # of a game, from the home to the goal; None if none was found
    is_complete: bool  # whether no position was left out that could be part of a game
    visited: int  # positions that were expanded, mirror images counted once


class Search:
    """Searches for games on one board.

    Args:
      size: N = 1..4.
      compiled: whether numba compiles the functions.
      progress: whether to show the progress of each level on standard error.
    """

    def __init__(self, size: int, *, compiled: bool, progress: bool) -> None:
        self.size = size
        self._function = function_for(compiled)
        self._progress = progress
        self._board = make_board(size)
        self._work = make_work(self._board)
        per_position = self._board.pegs * self._board.cells
        self._after = np.zeros(max(MAX_AFTER, per_position) if compiled else 100 * per_position, np.int64)
        self._home = np.array([number_of(size, frozenset(range(self._board.pegs)))])
        self._from_goal = self.row_distances(self._home, 0, UNREACHED - 1)
        self.lower_bound: int = int(self.distances_of(self._home, self._from_goal)[0])
        """Turns that every game takes at least, by the row game."""

    def run(self, limit: int, width: int | None = None) -> SearchResult:
        """Returns a game of the fewest turns, if there is one of at most `limit`.

        Args:
          limit: turns of the game, at most.
          width: positions to keep per level, at most; those closest to the goal in the row game are kept. None: all.
        """
        levels, distances, is_complete, visited = [self._home], self._from_goal, True, 0
        for depth in range(1, (limit + 1) // 2 + 1):
            visited += len(levels[-1])
            level = self._next_level(levels, distances, limit - depth, f"positions after {depth - 1} of {limit} turns")
            meeting = self._meeting(level, levels, limit)
            if meeting is not None:
                return SearchResult(meeting, is_complete, visited)
            if len(level) > MIN_FOR_DISTANCES and 2 * depth <= limit:
                distances = self.row_distances(level, depth, limit - depth)
            of_level = self.distances_of(level, distances)
            level, of_level = level[of_level <= limit - depth], of_level[of_level <= limit - depth]
            if width is not None and len(level) > width:
                level, is_complete = np.sort(level[np.argsort(of_level, kind="stable")[:width]]), False
            levels.append(level)
        return SearchResult(None, is_complete, visited)

    def _next_level(self, levels: list[np.ndarray], distances: np.ndarray, limit: int, unit: str) -> np.ndarray:
        """Returns the sorted numbers of the positions that are reached with one more turn, and not before."""
        last, begin = levels[-1], 0
        parts: list[np.ndarray] = []
        with progress_bar(len(last), unit, shown=self._progress) as bar:
            while begin < len(last):
                already = begin
                begin, end = self._function(expand)(self._board, self._work, last, begin, distances, limit, self._after)
                parts.append(_sorted_set(self._after[:end]))
                if len(parts) > MAX_PARTS:
                    parts = [_sorted_set(np.concatenate(parts))]
                bar.update(begin - already)
        level = _sorted_set(np.concatenate([*parts, np.zeros(0, np.int64)]))
        for earlier in levels[-2:]:  # turns are reversible: no turn leads further back
            level = level[~_is_in(level, earlier)]
        return level

    def _meeting(self, level: np.ndarray, levels: list[np.ndarray], limit: int) -> list[Position] | None:
        """Returns the positions of a game through a level, if it meets its reversal or the reversed level before it."""
        reversed_level = level.copy()
        self._function(reverse)(self._board, self._work, reversed_level)
        all_levels, depth = [*levels, level], len(levels)
        for other in (depth - 1, depth):
            common = level[_is_in(reversed_level, all_levels[other])]
            if len(common) and depth + other <= limit:
                middle = position_of(self.size, int(common[0]))
                to_middle = self._way_from_home(middle, all_levels[: depth + 1])
                from_goal = self._way_from_home(rotated(self.size, middle), all_levels[: other + 1])
                return to_middle + [rotated(self.size, position) for position in reversed(from_goal)][1:]
        return None

    def _way_from_home(self, end: Position, levels: list[np.ndarray]) -> list[Position]:
        """Returns the positions from the home to one of the last level."""
        way = [end]
        for level in reversed(levels[:-1]):
            earlier = [position for position, _ in turns_from(self.size, way[-1])]
            numbers = np.array([number_of(self.size, position) for position in earlier])
            way.append(earlier[int(np.flatnonzero(_is_in(numbers, level))[0])])
        return way[::-1]

    def row_distances(self, level: np.ndarray, depth: int, limit: int) -> np.ndarray:
        """Returns int8[positions of the row game], the turns to the goal through a reversed level, up to `limit`.

        The true number of turns is not lower if the position is at least `depth` turns from the goal.
        """
        distances = np.full(num_row_positions(self._board), UNREACHED, np.int8)
        queue = np.zeros(len(distances), np.int32)
        end = self._function(start_distances)(self._board, self._work, level, depth, distances, queue)
        self._function(spread_distances)(self._board, self._work, distances, queue, end, limit)
        return distances

    def distances_of(self, level: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Returns int8[positions], the distances of positions."""
        of_level = np.zeros(len(level), np.int8)
        self._function(fill_row_distances)(self._board, self._work, level, distances, of_level)
        return of_level


def _sorted_set(numbers: np.ndarray) -> np.ndarray:
    ordered = np.sort(numbers)
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


def _is_in(numbers: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Returns bool[n], which numbers are in a sorted array."""
    if len(ordered) == 0:
        return np.zeros(len(numbers), np.bool_)
    return ordered[np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)] == numbers


# -- positions as sets -------------------------------------------------------------------------------------------------


def number_of(size: int, position: Position) -> int:
    """Returns the number of a position, the lower rank of the position and its mirror image."""
    mirrored = mirrored_cells(size)
    images = (sorted(position), sorted(int(mirrored[cell]) for cell in position))
    return min(sum(math.comb(cell, i + 1) for i, cell in enumerate(image)) for image in images)


def position_of(size: int, number: int) -> Position:
    """Returns the position of a number."""
    board, cells = make_board(size), list[int]()
    for i in reversed(range(board.pegs)):
        cell = max(cell for cell in range(board.cells) if math.comb(cell, i + 1) <= number)
        cells.append(cell)
        number -= math.comb(cell, i + 1)
    return frozenset(cells)


def rotated(size: int, position: Position) -> Position:
    """Returns a position after a rotation by 180 degrees."""
    last = make_board(size).cells - 1
    return frozenset(last - cell for cell in position)


def turns_from(size: int, position: Position) -> Iterator[tuple[Position, list[int]]]:
    """Yields every position one turn later, with the cells that the peg visits, from its origin to its target."""
    t = tables(size)
    for origin in sorted(position):
        others = position - {origin}
        paths = hop_paths(size, others, origin)
        for to in t.neighbour[origin].tolist():
            if to < len(t.row) and to not in others:
                paths[to] = [origin, to]
        del paths[origin]
        for target, path in paths.items():
            yield others | {target}, path
