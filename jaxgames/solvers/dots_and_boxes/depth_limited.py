"""Alpha-beta search of Dots and Boxes with a limit of nodes, to the end of the game or to a limited depth.

The value of a position is the margin to go for the mover. There are three kinds of search.

TO_THE_END: exact. A table keeps bounds of positions without boxes to take. It ends early where only chains are left.
BY_CHAINS: to a limited depth. The static evaluation is by the playouts of jaxgames/solvers/dots_and_boxes/playouts.py.
    A position with safe edges is always a leaf. Quiescence search: a position with boxes to take never is. A forced
    capture takes no depth.
BY_BOXES: to a limited depth. The static evaluation is 0: only the boxes that the search itself took count, and each
    edge takes depth. With safe edges, one random safe edge is the only move. With neither boxes to take nor safe edges,
    the moves are all open edges, or at most counts[MAX_MOVES] random ones. This is the search of El Kaddouri, Rys and
    Gao, Multi Agent Reinforcement Learning With Dots And Boxes, 2024, section 5.
"""

from typing import NamedTuple

from jaxgames.solvers.alphabeta.clock import MAX_NODES, NODES
from jaxgames.solvers.alphabeta.compiled import Ints, compiled
from jaxgames.solvers.alphabeta.table import (
    MINUS_INFINITY,
    bounds_slot,
    lower_in,
    probe_bounds,
    store_bounds,
    upper_in,
)
from jaxgames.solvers.dots_and_boxes.chains import chain_openers, value_of_chains
from jaxgames.solvers.dots_and_boxes.moves import (
    LOOSE,
    OPEN_BOXES,
    OPEN_EDGES,
    Board,
    Position,
    candidates,
    captures,
    draw,
    is_safe,
    undraw,
)
from jaxgames.solvers.dots_and_boxes.playouts import NODES_PER_PLAYOUT, Playouts, play_out, random_below

TO_THE_END, BY_CHAINS, BY_BOXES = 0, 1, 2

PLAYOUTS_PER_LEAF = 32  # of a leaf with safe edges
WAYS = 1  # entries in which a key can be
KIND, MAX_MOVES = 2, 3  # places in `Search.counts`, after NODES and MAX_NODES; MAX_MOVES 0: no limit


class Search(NamedTuple):
    """A position and the work space of its search."""

    board: Board
    position: Position
    playouts: Playouts
    moves: Ints  # [(num_edges + 1) * num_edges], of each level
    counts: Ints  # [4], see above
    table: Ints  # [BOUNDS_WORDS * size], the size a power of two


@compiled
def alphabeta(search: Search, level: int, depth: int, alpha: int, beta: int) -> int:
    """Returns the value of the position for the mover, by a search of the kind counts[KIND].

    It is exact within the window (alpha, beta); below or above it, it is a bound. It is any number if counts[NODES] is
    above counts[MAX_NODES] afterwards. The moves of the levels from `level` on are overwritten.
    """
    board, position, counts, moves = search.board, search.position, search.counts, search.moves
    kind = counts[KIND]
    begin = level * len(board.order)
    open_boxes = position.counts[OPEN_BOXES]
    lower, upper = -open_boxes, open_boxes
    if position.counts[OPEN_EDGES] == 0 or (kind == BY_BOXES and depth <= 0):
        return 0
    number = captures(board, position, moves, begin)
    is_forced = number == 1 and kind != BY_BOXES
    if not is_forced:
        counts[NODES] += 1
        if counts[NODES] > counts[MAX_NODES]:
            return 0
    key, slot = position.keys[0], -1
    if kind == TO_THE_END and number == 0:
        if position.counts[LOOSE] == 0:
            return value_of_chains(board, position, search.playouts.chains)
        slot = bounds_slot(search.table, key, WAYS)
        bounds = probe_bounds(search.table, slot, WAYS, key)
        if bounds != 0:
            lower, upper = lower_in(bounds), upper_in(bounds)
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
    if number == 0:
        if kind == BY_BOXES:
            number = one_safe_or_some(board, position, search.playouts, moves, begin, counts[MAX_MOVES])
        else:
            number = chain_openers(board, position, search.playouts.chains, moves, begin)
            has_safe_edge = is_safe(board, position, moves[begin])  # they are first
            if kind == BY_CHAINS and (has_safe_edge or depth <= 0):
                number = PLAYOUTS_PER_LEAF if has_safe_edge else 1
                counts[NODES] += number * NODES_PER_PLAYOUT
                return play_out(board, position, search.playouts, number, False) // number
    best = MINUS_INFINITY
    for place in range(begin, begin + number):
        move = moves[place]
        low, deeper = max(alpha, best), depth if is_forced else depth - 1
        boxes = draw(board, position, move)
        if boxes > 0:
            value = boxes + alphabeta(search, level + 1, deeper, low - boxes, beta - boxes)
        else:
            value = -alphabeta(search, level + 1, deeper, -beta, -low)
        undraw(board, position, move)
        best = max(best, value)
        if best >= beta or counts[NODES] > counts[MAX_NODES]:
            break
    if slot >= 0 and counts[NODES] <= counts[MAX_NODES]:
        # All values of a position are even, or all are odd, as the number of its open boxes.
        rest = (best ^ open_boxes) & 1
        if best <= alpha:
            upper = best - rest
        elif best >= beta:
            lower = best + rest
        else:
            lower, upper = best, best
        store_bounds(search.table, slot, WAYS, key, lower, upper, 0)
    return best


@compiled
def one_safe_or_some(
    board: Board, position: Position, playouts: Playouts, moves: Ints, begin: int, max_moves: int
) -> int:
    """Writes one random safe edge to moves[begin:], or open edges if none is safe; returns their number.

    The open edges are all, or `max_moves` random ones if that is above 0 and less.
    """
    number = candidates(board, position, moves, begin, False)
    num_safe = 0
    for place in range(begin, begin + number):
        if is_safe(board, position, moves[place]):
            moves[begin + num_safe], moves[place] = moves[place], moves[begin + num_safe]
            num_safe += 1
    if num_safe > 0:
        moves[begin] = moves[begin + random_below(playouts.random, num_safe)]
        return 1
    if max_moves == 0 or max_moves >= number:
        return number
    for place in range(max_moves):
        other = begin + place + random_below(playouts.random, number - place)
        moves[begin + place], moves[other] = moves[other], moves[begin + place]
    return max_moves
