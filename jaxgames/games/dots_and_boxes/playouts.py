"""Playouts of Dots and Boxes, for positions that are too large to search to their end: the safe edges in random order.

An edge is safe if it completes no box and leaves none that the opponent can take. While there are safe edges, a player
who draws another one usually loses boxes by it. So a playout draws the safe edges in a random order until none is left.
Then every open edge opens a chain: the opponent takes its boxes. After an even number of safe edges, the mover must
open the first chain; after an odd number, the opponent must.

The rest is estimated as if the shortest chain were always opened, and taken as a whole or but for its last boxes. Let
the chains have b(1), b(2), ... boxes in this order. Let v(i) be the margin of the player who takes chain i, from then
on. This player takes all boxes and opens chain i + 1, or leaves d(i) boxes, 2 of a chain and 4 of a loop. Then the
opponent must open chain i + 1:

    v(i) = max(b(i) - v(i + 1), b(i) - 2 d(i) + v(i + 1)),    only the first where b(i) < 3

Chains that a box of degree 0 or 1 joins grow together when one of them is taken. As soon as no such box is left, the
estimate is exact.

The edges that one playout draws could be drawn in any order, with the same result. So the playout counts for each of
them: `totals` has the sum of the values of all playouts that draw an edge, and `drawn` their number. That is the long
chain rule: each player wants an even or an odd number of moves before the first chain is opened. The number of long
chains decides it.

Source: Berlekamp, The Dots and Boxes Game, 2000 (long chain rule, control).
"""

from typing import NamedTuple

from jaxgames.games.dots_and_boxes.chains import (
    LEFT_OF_CHAIN,
    LEFT_OF_LOOP,
    LONG_CHAIN,
    Chains,
    chain_openers,
    value_of_chains,
)
from jaxgames.games.dots_and_boxes.search_moves import LOOSE, OPEN_BOXES, Board, Position, draw, is_safe, undraw
from jaxgames.solvers.alphabeta.compiled import Ints, compiled

NODES_PER_PLAYOUT = 10  # a playout takes about as long as this many nodes of a search
RANDOM_BITS = 48  # of the state of the random numbers: a linear congruential generator, as in POSIX drand48


class Playouts(NamedTuple):
    """Work space of `play_out`, and what it counts."""

    random: Ints  # [1], the state of the random numbers
    safe: Ints  # [num_edges], the safe edges in their random order
    path: Ints  # [num_edges + 1], the edges that are drawn; their number is last
    chains: Chains
    boxes: Ints  # [num_edges], b(i) of each chain
    left: Ints  # [num_edges], d(i) of each chain
    totals: Ints  # [num_edges], the sum of the values of the playouts that draw this edge, for the mover
    drawn: Ints  # [num_edges], the number of these playouts


@compiled
def random_below(random: Ints, limit: int) -> int:
    """Returns a random integer from 0 to limit - 1, and advances the state of the random numbers, int64[1]."""
    random[0] = (random[0] * 0x5DEECE66D + 11) & ((1 << RANDOM_BITS) - 1)
    return (random[0] >> 16) % limit


@compiled
def play_out(board: Board, position: Position, playouts: Playouts, number: int, count_edges: bool) -> int:
    """Returns the sum of the values of `number` playouts, for the mover of a position without captures.

    With `count_edges` it also adds to `totals` and `drawn`.
    """
    num_edges = len(board.order)
    num_safe = 0
    for edge in range(num_edges):
        if position.drawn[edge] == 0 and is_safe(board, position, edge):
            playouts.safe[num_safe] = edge
            num_safe += 1
    total = 0
    for _ in range(number):
        playouts.path[num_edges] = 0
        for place in range(num_safe - 1, -1, -1):
            other = random_below(playouts.random, place + 1)
            edge = playouts.safe[other]
            playouts.safe[other] = playouts.safe[place]
            playouts.safe[place] = edge
            if is_safe(board, position, edge):
                _draw(board, position, playouts, edge)
        num_drawn = playouts.path[num_edges]
        value = -taken_from_chains(board, position, playouts) * (-1 if num_drawn % 2 == 1 else 1)
        total += value
        _undraw_to(board, position, playouts, num_drawn)
        if count_edges:
            for place in range(num_drawn):
                playouts.totals[playouts.path[place]] += value
                playouts.drawn[playouts.path[place]] += 1
        _undraw_to(board, position, playouts, 0)
    return total


@compiled
def taken_from_chains(board: Board, position: Position, playouts: Playouts) -> int:
    """Returns v(1) of a position without captures and safe edges. It draws edges, which stand in `path` afterwards."""
    num_chains = 0
    while position.counts[LOOSE] > 0:
        chain_openers(board, position, playouts.chains, playouts.chains.moves, 0)
        _open(board, position, playouts, playouts.chains.moves[0], num_chains)
        num_chains += 1
    value = -value_of_chains(board, position, playouts.chains)
    for chain in range(num_chains - 1, -1, -1):
        boxes, left = playouts.boxes[chain], playouts.left[chain]
        takes_all = boxes - value
        value = max(takes_all, boxes - 2 * left + value) if left > 0 else takes_all
    return value


@compiled
def _open(board: Board, position: Position, playouts: Playouts, edge: int, chain: int) -> None:
    """Draws an edge of a chain and then all its others; writes the chain's boxes, and those to leave, at `chain`."""
    before = position.counts[OPEN_BOXES]
    _draw(board, position, playouts, edge)
    first, second = board.boxes_of[2 * edge], board.boxes_of[2 * edge + 1]
    _take_from(board, position, playouts, first)
    _take_from(board, position, playouts, second)
    boxes = before - position.counts[OPEN_BOXES]
    playouts.boxes[chain] = boxes
    left = LEFT_OF_LOOP if playouts.chains.sizes[edge] & 1 else LEFT_OF_CHAIN
    playouts.left[chain] = left if boxes >= LONG_CHAIN else 0


@compiled
def _take_from(board: Board, position: Position, playouts: Playouts, box: int) -> None:
    """Takes this box and those behind it, as long as each has degree 3 in its turn."""
    while position.degree[box] == 3:
        edge = position.open_edges[box]
        to = board.boxes_of[2 * edge] + board.boxes_of[2 * edge + 1] - box
        _draw(board, position, playouts, edge)
        box = to


@compiled
def _draw(board: Board, position: Position, playouts: Playouts, edge: int) -> None:
    num_edges = len(board.order)
    draw(board, position, edge)
    playouts.path[playouts.path[num_edges]] = edge
    playouts.path[num_edges] += 1


@compiled
def _undraw_to(board: Board, position: Position, playouts: Playouts, number: int) -> None:
    """Undraws the last edges of `path` until `number` of them are left."""
    num_edges = len(board.order)
    for place in range(playouts.path[num_edges] - 1, number - 1, -1):
        undraw(board, position, playouts.path[place])
    playouts.path[num_edges] = number
