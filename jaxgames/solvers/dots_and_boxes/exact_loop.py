"""The loop of the exact search in Dots and Boxes: nodes, their stack, and the table of positions.

The stack of the search is in arrays. So `advance` can return after a number of nodes, and the next call goes on from
there. The transposition table keeps a lower and an upper bound per key, the smallest of the keys of a position. It is
jaxgames/solvers/alphabeta/table.py. In a table of all sets of edges, the key is the number of its only entry. With the
chain rules, a capture that is the only move is played at once, so it has no node.
"""

from typing import NamedTuple

from jaxgames.solvers.alphabeta.compiled import Ints, compiled
from jaxgames.solvers.alphabeta.table import (
    BOUNDS_WORDS,
    bounds_slot,
    lower_in,
    probe_bounds,
    store_bounds,
    upper_in,
)
from jaxgames.solvers.dots_and_boxes.chains import Chains, chain_openers, fewest_boxes_first, value_of_chains
from jaxgames.solvers.dots_and_boxes.moves import (
    CAPTURABLE,
    LOOSE,
    OPEN_BOXES,
    OPEN_EDGES,
    Board,
    Position,
    candidates,
    canonical_key,
    captures,
    draw,
    undraw,
)

WAYS = 4  # entries in which a key can be, one line of the cache
MAX_ABS_MARGIN = 63  # beyond every margin

# Words of one level of the stack.
ALPHA, BETA = 0, 1  # the window of the node
BEST = 2  # the largest value of a move so far
LOWER, UPPER = 3, 4  # bounds that the table knew
NEXT, END = 5, 6  # the next move to try and the end of the moves, as places in `Work.moves`
KEY = 7
GAIN, SIGN = 8, 9  # the move to this node is worth GAIN + SIGN * its value for the mover before
PATH = 10  # the first edge of that move in `Work.path`
LEVEL_WORDS = 11

# Places in `Work.counters`.
LEVEL = 0  # of the current node
NODES = 1
KEYS = 2  # entries of the table in use
VALUE = 3  # of the node that was finished last
IS_NEW = 4  # 1 if the current node has not been looked at
PATH_END = 5
NUM_COUNTERS = 6


class Rules(NamedTuple):
    """The options that the compiled loop reads; the others are in the tables of the board."""

    table: bool
    chains: bool
    alphabeta: bool
    early_termination: bool
    fewest_boxes_first: bool
    openers: bool


class Work(NamedTuple):
    """The stack, the moves of its nodes, and the table."""

    stack: Ints  # [levels * LEVEL_WORDS]
    moves: Ints  # [levels * num_edges]
    path: Ints  # [num_edges], the edges drawn since the start, those of a level from its PATH on
    counters: Ints  # [6]
    table: Ints  # [BOUNDS_WORDS * table_size]
    chains: Chains


# -- the loop ----------------------------------------------------------------------------------------------------------


@compiled
def advance(board: Board, position: Position, rules: Rules, work: Work, max_nodes: int) -> bool:
    """Goes on with a search for at most `max_nodes` nodes; returns whether it is finished."""
    stack, counters = work.stack, work.counters
    level = counters[LEVEL]
    limit = counters[NODES] + max_nodes
    while True:
        node = level * LEVEL_WORDS
        if counters[IS_NEW] == 1:
            if counters[NODES] >= limit:
                counters[LEVEL] = level
                return False
            counters[NODES] += 1
            counters[IS_NEW] = 0
            finished = _enter(board, position, rules, work, level)
        else:
            is_cut = rules.alphabeta and stack[node + BEST] >= stack[node + BETA]
            finished = is_cut or stack[node + NEXT] == stack[node + END]
            if finished:
                _leave(board, position, rules, work, level)
            else:
                level += 1
                _descend(board, position, rules, work, level)
        if finished:
            if level == 0:
                counters[LEVEL] = 0
                return True
            _undo(board, position, work, level)
            value = stack[node + GAIN] + stack[node + SIGN] * counters[VALUE]
            level -= 1
            parent = level * LEVEL_WORDS
            stack[parent + BEST] = max(stack[parent + BEST], value)


@compiled
def _enter(board: Board, position: Position, rules: Rules, work: Work, level: int) -> bool:
    """Prepares the moves of a new node; returns whether its value is known without them, in VALUE."""
    stack, counters = work.stack, work.counters
    node = level * LEVEL_WORDS
    if position.counts[OPEN_EDGES] == 0:
        counters[VALUE] = 0
        return True
    nothing_taken = position.counts[CAPTURABLE] == 0
    if rules.openers and nothing_taken and position.counts[LOOSE] == 0:
        counters[VALUE] = value_of_chains(board, position, work.chains)
        return True
    upper = position.counts[OPEN_BOXES] if rules.early_termination else MAX_ABS_MARGIN
    lower = -upper
    if rules.table:
        key = canonical_key(position)
        stack[node + KEY] = key
        slot, ways = _slot(board, work.table, key)
        bounds = probe_bounds(work.table, slot, ways, key)
        if bounds != 0:
            lower, upper = max(lower, lower_in(bounds)), min(upper, upper_in(bounds))
    if lower == upper or lower >= stack[node + BETA]:
        counters[VALUE] = lower
        return True
    if upper <= stack[node + ALPHA]:
        counters[VALUE] = upper
        return True
    stack[node + LOWER], stack[node + UPPER] = lower, upper
    stack[node + ALPHA] = max(stack[node + ALPHA], lower)
    stack[node + BETA] = min(stack[node + BETA], upper)
    stack[node + BEST] = -MAX_ABS_MARGIN
    begin = level * len(board.order)
    stack[node + NEXT] = begin
    if rules.openers and nothing_taken:
        number = chain_openers(board, position, work.chains, work.moves, begin)
    else:
        number = candidates(board, position, work.moves, begin, rules.chains)
        if rules.fewest_boxes_first and nothing_taken:
            fewest_boxes_first(board, position, work.chains, work.moves, begin, number)
    stack[node + END] = stack[node + NEXT] + number
    return False


@compiled
def _leave(board: Board, position: Position, rules: Rules, work: Work, level: int) -> None:
    """Writes the value of a node, or the bound that is known, to VALUE and to the table."""
    node = level * LEVEL_WORDS
    best = work.stack[node + BEST]
    work.counters[VALUE] = best
    if not rules.table:
        return
    lower, upper = best, best
    if best <= work.stack[node + ALPHA]:
        lower = work.stack[node + LOWER]
    elif best >= work.stack[node + BETA]:
        upper = work.stack[node + UPPER]
    key, open_edges = work.stack[node + KEY], position.counts[OPEN_EDGES]
    slot, ways = _slot(board, work.table, key)
    work.counters[KEYS] += store_bounds(work.table, slot, ways, key, lower, upper, open_edges)


@compiled
def _slot(board: Board, table: Ints, key: int) -> tuple[int, int]:
    """Returns the place of the first entry in which a key can be, and the number of such entries."""
    if len(table) // BOUNDS_WORDS >= 1 << len(board.order):
        return BOUNDS_WORDS * key, 1
    return bounds_slot(table, key, WAYS), WAYS


@compiled
def _descend(board: Board, position: Position, rules: Rules, work: Work, level: int) -> None:
    """Plays the next move of the node above this level, and the captures that are the only move after it."""
    stack, counters = work.stack, work.counters
    node, parent = level * LEVEL_WORDS, (level - 1) * LEVEL_WORDS
    move = work.moves[stack[parent + NEXT]]
    stack[parent + NEXT] += 1
    end = counters[PATH_END]
    stack[node + PATH] = end
    gain = draw(board, position, move)
    sign = 1 if gain > 0 else -1
    work.path[end] = move
    end += 1
    begin = level * len(board.order)
    while rules.chains and captures(board, position, work.moves, begin) == 1:
        move = work.moves[begin]
        gain += sign * draw(board, position, move)
        work.path[end] = move
        end += 1
    counters[PATH_END] = end
    stack[node + GAIN], stack[node + SIGN] = gain, sign

    alpha, beta = stack[parent + ALPHA], stack[parent + BETA]
    if rules.alphabeta:
        alpha = max(alpha, stack[parent + BEST])
    stack[node + ALPHA] = alpha - gain if sign > 0 else gain - beta
    stack[node + BETA] = beta - gain if sign > 0 else gain - alpha
    counters[IS_NEW] = 1


@compiled
def _undo(board: Board, position: Position, work: Work, level: int) -> None:
    """Makes the edges open again that led to this level."""
    begin = work.stack[level * LEVEL_WORDS + PATH]
    for place in range(work.counters[PATH_END] - 1, begin - 1, -1):
        undraw(board, position, work.path[place])
    work.counters[PATH_END] = begin
