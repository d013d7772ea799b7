"""A solved game as arrays over its states: moves, values, distances. The measures of strength work on them.

States are numbered as in the solution: the position in the mover's frame, so a number is the same for both seats. The
mover alternates: every move leads to a state in which the other seat is to move. A row of `children` has one entry per
legal move, in ascending order of the actions, and then the number S, which is not a state.
"""

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jaxgames._checks import ParameterError
from jaxgames.solvers.exact.solution import Solution, start_of

CHUNK = 1 << 16  # states whose children are computed at once
MAX_ENTRIES = 1 << 31  # of the table of children
ENTRY_BYTES = 6  # of a child and an int16 action; 8 with int32
NO_VALUE = -128  # the entry of a table for the number S, which is not a state

States = NDArray[np.integer[Any]]  # their numbers
Slots = NDArray[np.integer[Any]]  # the places of moves among the moves of their states
Mask = NDArray[np.bool_]


class Graph(NamedTuple):
    """All states of a solved game. S is their number, K the largest number of legal moves."""

    actions: NDArray[np.integer]  # int16 or int32[S, K], ascending; -1 behind the last legal move
    children: NDArray[np.int32]  # [S, K], states of the other seat; S behind the last legal move
    value: NDArray[np.int8]  # [S + 1], for the mover: 1, 0, -1; NO_VALUE in the last entry
    plies: NDArray[np.int32]  # [S + 1], to the end; -1 where the value is 0, NO_VALUE in the last entry
    is_over: Mask  # [S + 1], finished games; False in the last entry
    is_live: Mask  # [S], legal states of unfinished games
    num_moves: NDArray[np.int16]  # [S]
    num_best: NDArray[np.int16]  # [S], moves that keep the value
    distance: NDArray[np.int16]  # [S], the fewest plies from the start; -1 for states that no game reaches
    start: int

    slot_type = np.int16
    gain_ends_game = True

    @property
    def size(self) -> int:
        """The number of states, S."""
        return len(self.actions)

    @property
    def live(self) -> States:
        """The legal states of unfinished games, in ascending order."""
        return np.flatnonzero(self.is_live).astype(np.int32)

    def slots(self, states: States, actions: NDArray[Any]) -> Slots:
        """Returns the places of actions in the rows of the table; -1 where an action is illegal."""
        matches = self.actions[states] == np.where(actions < 0, -2, actions)[:, None]
        return np.where(matches.any(-1), matches.argmax(-1), -1)

    def after(self, states: States, slots: Slots) -> States:
        return self.children[states, slots]

    def gains(self, states: States, slots: Slots) -> NDArray[np.integer[Any]]:
        """Returns 1 for a move that wins the game, else 0."""
        return self.is_over[self.after(states, slots)].astype(np.int8)

    def losses(self, states: States, slots: Slots) -> tuple[NDArray[np.integer[Any]], Mask]:
        """Returns how much value moves lose, from 0 to 2, and whether some move of each state loses any."""
        lost = self.value[states] + self.value[self.after(states, slots)]
        return lost, self.num_best[states] < self.num_moves[states]

    def keeps_value(self, states: States, children: States) -> Mask:
        """Returns whether the moves that lead from `states` to `children` keep the value."""
        return self.value[children] == -self.value[states]

    def keeps_distance(self, states: States, children: States) -> Mask:
        """Returns whether the moves keep the value, and win as soon or lose as late as any move."""
        same = (self.value[states] == 0) | (self.plies[children] == self.plies[states] - 1)
        return self.keeps_value(states, children) & same


_graphs: "weakref.WeakKeyDictionary[Solution[Any], Graph]" = weakref.WeakKeyDictionary()


def graph_of(solution: Solution[Any]) -> Graph:
    """Returns the states of a solution as arrays. They are computed once and kept as long as the solution is.

    The game must be one in which the mover alternates. Raises ValueError for a game with more than MAX_ENTRIES moves.
    """
    if solution not in _graphs:
        _graphs[solution] = _build(solution)
    return _graphs[solution]


def _build(solution: Solution[Any]) -> Graph:
    size, width = solution.num_states, solution.max_moves
    if size * width > MAX_ENTRIES:
        raise ParameterError(
            f"{solution.env} has {size:,} states with up to {width} moves, which would take "
            f"{size * width * ENTRY_BYTES / 2**30:,.0f} GiB: the measures take games of up to {MAX_ENTRIES:,} entries"
        )
    actions = np.full((size, width), -1, np.int16 if solution.env.num_actions < 1 << 15 else np.int32)
    children = np.full((size, width), size, np.int32)
    value = np.full(size + 1, NO_VALUE, np.int8)
    plies = np.full(size + 1, NO_VALUE, np.int32)
    is_over, is_legal = np.zeros(size + 1, bool), np.zeros(size, bool)
    num_moves, num_best = np.zeros(size, np.int16), np.zeros(size, np.int16)
    for begin in range(0, size, CHUNK):
        indices = np.arange(begin, min(begin + CHUNK, size), dtype=np.uint32)
        states, moves = solution.states_at(indices), solution.children(indices)
        actions[indices] = np.where(moves.live, moves.actions, -1)
        children[indices] = np.where(moves.live, moves.children, size)
        value[indices], plies[indices] = solution.value(states), solution.plies(states)
        is_over[indices], is_legal[indices] = states.terminated, solution.is_legal(states)
    for begin in range(0, size, CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, size))
        after = value[children[rows]]
        num_moves[rows] = (after != NO_VALUE).sum(-1)
        num_best[rows] = (after == -value[rows, None]).sum(-1)
    start = int(solution.index(start_of(solution.env))[0])
    is_live = is_legal & ~is_over[:size]
    distance = _distances(children, start)
    return Graph(actions, children, value, plies, is_over, is_live, num_moves, num_best, distance, start)


def _distances(children: States, start: int) -> NDArray[np.int16]:
    """Returns int16[S], the fewest plies from the start; -1 for states that no game reaches."""
    size = len(children)
    distance = np.full(size + 1, -1, np.int16)
    distance[start] = 0
    reached, ply = np.array([start]), 0
    while reached.size:
        ply += 1
        following = unique(children[reached].ravel(), size)
        reached = following[distance[following] < 0]
        distance[reached] = ply
    return distance[:size]


def unique(states: States, size: int) -> States:
    """Returns the different states among these, in ascending order, without the number `size`."""
    occurs = np.zeros(size + 1, bool)
    occurs[states] = True
    return np.flatnonzero(occurs[:size]).astype(np.int32)
