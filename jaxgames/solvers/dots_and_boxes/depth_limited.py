"""Alpha-beta search of Dots and Boxes with a limit of nodes, to the end of the game or to a limited depth.

The value of a position is the margin to go for the mover. There are three kinds of search.

TO_THE_END: exact. A table keeps bounds of positions without boxes to take. It ends early where only chains are left.
BY_CHAINS: to a limited depth. Leaves have the estimates of jaxgames/solvers/dots_and_boxes/playouts.py. A position
    with safe edges is always a leaf, and no position with boxes to take is one. A forced capture takes no depth.
BY_BOXES: to a limited depth. At the leaves nothing counts but the boxes that the search itself took, and each edge
    takes depth. With safe edges, one random safe edge is the only move. This is the search of El Kaddouri, Rys and Gao,
    Multi Agent Reinforcement Learning With Dots And Boxes, 2024, section 5.
"""

from typing import NamedTuple

from jaxgames.solvers.alphabeta.compiled import Ints, compiled
from jaxgames.solvers.dots_and_boxes.chains import openings, value_of_chains
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
    mixed,
    undraw,
)
from jaxgames.solvers.dots_and_boxes.playouts import NODES_PER_SAMPLE, Samples, random_below, sample

TO_THE_END, BY_CHAINS, BY_BOXES = 0, 1, 2

SAMPLES_PER_LEAF = 32  # of a leaf with safe edges
LOWEST = -1_000  # below every margin
OFFSET = 128  # makes bounds positive numbers of one byte

# Places in `Limited.counts`.
NODES = 0
MAX_NODES = 1  # a search that exceeds it returns any value
KIND = 2


class Limited(NamedTuple):
    """Work space of `value_of`."""

    moves: Ints  # [(num_edges + 1) * num_edges], of each level
    counts: Ints  # [3], see above
    table: Ints  # [2 * size], key and bounds of each entry, the size a power of two; bounds 0 mark an empty entry


@compiled
def value_of(
    board: Board,
    position: Position,
    samples: Samples,
    search: Limited,
    level: int,
    depth: int,
    alpha: int,
    beta: int,
) -> int:
    """Returns the value of a position for the mover, by a search of the kind counts[KIND].

    It is exact within the window (alpha, beta); below or above it, it is a bound. It is any number if counts[NODES] is
    above counts[MAX_NODES] afterwards. The moves of the levels from `level` on are overwritten.
    """
    kind = search.counts[KIND]
    begin = level * len(board.order)
    open_boxes = position.counts[OPEN_BOXES]
    lower, upper = -open_boxes, open_boxes
    if position.counts[OPEN_EDGES] == 0 or (kind == BY_BOXES and depth <= 0):
        return 0
    number = captures(board, position, search.moves, begin)
    is_forced = number == 1 and kind != BY_BOXES
    if not is_forced:
        search.counts[NODES] += 1
        if search.counts[NODES] > search.counts[MAX_NODES]:
            return 0
    in_table = kind == TO_THE_END and number == 0
    if in_table:
        if position.counts[LOOSE] == 0:
            return value_of_chains(board, position, samples.chains)
        bounds = find(search.table, position.keys[0])
        if bounds != 0:
            lower, upper = bounds // 256 - OFFSET, bounds % 256 - OFFSET
        if lower >= beta or lower == upper:
            return lower
        if upper <= alpha:
            return upper
    if number == 0:
        if kind == BY_BOXES:
            number = one_safe_or_all(board, position, samples, search.moves, begin)
        else:
            number = openings(board, position, samples.chains, search.moves, begin)
            has_safe_edge = is_safe(board, position, search.moves[begin])  # they are first
            if kind == BY_CHAINS and (has_safe_edge or depth <= 0):
                number = SAMPLES_PER_LEAF if has_safe_edge else 1
                search.counts[NODES] += number * NODES_PER_SAMPLE
                return sample(board, position, samples, number, False) // number
    best = LOWEST
    for place in range(begin, begin + number):
        move = search.moves[place]
        low, deeper = max(alpha, best), depth if is_forced else depth - 1
        boxes = draw(board, position, move)
        if boxes > 0:
            value = boxes + value_of(board, position, samples, search, level + 1, deeper, low - boxes, beta - boxes)
        else:
            value = -value_of(board, position, samples, search, level + 1, deeper, -beta, -low)
        undraw(board, position, move)
        best = max(best, value)
        if best >= beta or search.counts[NODES] > search.counts[MAX_NODES]:
            break
    if in_table and search.counts[NODES] <= search.counts[MAX_NODES]:
        # All values of a position are even, or all are odd, as the number of its open boxes.
        rest = (best ^ open_boxes) & 1
        if best <= alpha:
            upper = best - rest
        elif best >= beta:
            lower = best + rest
        else:
            lower, upper = best, best
        keep(search.table, position.keys[0], lower, upper)
    return best


@compiled
def find(table: Ints, key: int) -> int:
    """Returns 256 * (lower + OFFSET) + upper + OFFSET, the bounds of a key, or 0."""
    place = 2 * place_of(table, key)
    return table[place + 1] if table[place] == key else 0


@compiled
def keep(table: Ints, key: int, lower: int, upper: int) -> None:
    """Writes the bounds of a key."""
    place = 2 * place_of(table, key)
    table[place] = key
    table[place + 1] = 256 * (lower + OFFSET) + upper + OFFSET


@compiled
def clear(table: Ints) -> None:
    """Makes a table empty."""
    for place in range(len(table)):
        table[place] = 0


@compiled
def place_of(table: Ints, key: int) -> int:
    """Returns the entry in which a key can be."""
    return mixed(key) & (len(table) // 2 - 1)


@compiled
def one_safe_or_all(board: Board, position: Position, samples: Samples, moves: Ints, begin: int) -> int:
    """Writes one random safe edge to moves[begin:], or all open edges if none is safe; returns their number."""
    number = candidates(board, position, moves, begin, False)
    num_safe = 0
    for place in range(begin, begin + number):
        if is_safe(board, position, moves[place]):
            moves[begin + num_safe], moves[place] = moves[place], moves[begin + num_safe]
            num_safe += 1
    if num_safe == 0:
        return number
    moves[begin] = moves[begin + random_below(samples, num_safe)]
    return 1
