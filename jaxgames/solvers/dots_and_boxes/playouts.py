"""Estimates of positions of Dots and Boxes that are too large to search to their end: random orders of the safe edges.

An edge is safe if it completes no box and leaves none that the opponent can take. While there are safe edges, a player
who draws another one usually loses boxes by it. So `sample` draws the safe edges in a random order until none is left.
Then every open edge opens a chain: the opponent takes its boxes. After an even number of safe edges, the mover must
open the first chain; after an odd number, the opponent must.

The rest is estimated as if the shortest chain were always opened, and taken as a whole or but for its last boxes. Let
the chains have b(1), b(2), ... boxes in this order. Let v(i) be the margin of the player who takes chain i, from then
on. This player takes all boxes and opens chain i + 1, or leaves d(i) boxes, 2 of a chain and 4 of a loop. Then the
opponent must open chain i + 1:

    v(i) = max(b(i) - v(i + 1), b(i) - 2 d(i) + v(i + 1)),    only the first where b(i) < 3

Chains that a box of degree 0 or 1 joins grow together when one of them is taken. As soon as no such box is left, the
estimate is exact.

The edges that one sample draws could be drawn in any order, with the same result. So the sample counts for each of
them: `totals` has the sum of the values of all samples that draw an edge, and `drawn` their number. That is the long
chain rule: each player wants an even or an odd number of moves before the first chain is opened. The number of long
chains decides it.

Source: Berlekamp, The Dots and Boxes Game, 2000 (long chain rule, control).
"""

from typing import NamedTuple

from jaxgames.solvers.alphabeta.compiled import Ints, compiled
from jaxgames.solvers.dots_and_boxes.chains import (
    LEFT_OF_CHAIN,
    LEFT_OF_LOOP,
    LONG_CHAIN,
    Chains,
    openings,
    value_of_chains,
)
from jaxgames.solvers.dots_and_boxes.moves import LOOSE, OPEN_BOXES, Board, Position, draw, is_safe, undraw

NODES_PER_SAMPLE = 10  # a sample takes about as long as this many nodes of a search
RANDOM_BITS = 48  # of the state of the random numbers: a linear congruential generator, as in POSIX drand48


class Samples(NamedTuple):
    """Work space of `sample`, and what it counts."""

    random: Ints  # [1], the state of the random numbers
    safe: Ints  # [num_edges], the safe edges in their random order
    path: Ints  # [num_edges + 1], the edges that are drawn; their number is last
    chains: Chains
    boxes: Ints  # [num_edges], b(i) of each chain
    left: Ints  # [num_edges], d(i) of each chain
    totals: Ints  # [num_edges], the sum of the values of the samples that draw this edge, for the mover
    drawn: Ints  # [num_edges], the number of these samples


@compiled
def random_below(samples: Samples, number: int) -> int:
    """Returns a random integer from 0 to number - 1."""
    state = (samples.random[0] * 0x5DEECE66D + 11) & ((1 << RANDOM_BITS) - 1)
    samples.random[0] = state
    return (state >> 16) % number


@compiled
def sample(board: Board, position: Position, samples: Samples, number: int, count_edges: bool) -> int:
    """Returns the sum of the estimates of `number` random orders, for the mover of a position without captures.

    With `count_edges` it also adds to `totals` and `drawn`.
    """
    num_edges = len(board.order)
    num_safe = 0
    for edge in range(num_edges):
        if position.drawn[edge] == 0 and is_safe(board, position, edge):
            samples.safe[num_safe] = edge
            num_safe += 1
    total = 0
    for _ in range(number):
        samples.path[num_edges] = 0
        for place in range(num_safe - 1, -1, -1):
            other = random_below(samples, place + 1)
            edge = samples.safe[other]
            samples.safe[other] = samples.safe[place]
            samples.safe[place] = edge
            if is_safe(board, position, edge):
                _draw(board, position, samples, edge)
        num_drawn = samples.path[num_edges]
        value = -taken_from_chains(board, position, samples) * (-1 if num_drawn % 2 == 1 else 1)
        total += value
        _undraw_to(board, position, samples, num_drawn)
        if count_edges:
            for place in range(num_drawn):
                samples.totals[samples.path[place]] += value
                samples.drawn[samples.path[place]] += 1
        _undraw_to(board, position, samples, 0)
    return total


@compiled
def taken_from_chains(board: Board, position: Position, samples: Samples) -> int:
    """Returns v(1) of a position without captures and safe edges. It draws edges, which stand in `path` afterwards."""
    num_chains = 0
    while position.counts[LOOSE] > 0:
        openings(board, position, samples.chains, samples.chains.moves, 0)
        _open(board, position, samples, samples.chains.moves[0], num_chains)
        num_chains += 1
    value = -value_of_chains(board, position, samples.chains)
    for chain in range(num_chains - 1, -1, -1):
        boxes, left = samples.boxes[chain], samples.left[chain]
        takes_all = boxes - value
        value = max(takes_all, boxes - 2 * left + value) if left > 0 else takes_all
    return value


@compiled
def _open(board: Board, position: Position, samples: Samples, edge: int, chain: int) -> None:
    """Draws an edge of a chain and then all its others; writes the chain's boxes, and those to leave, at `chain`."""
    before = position.counts[OPEN_BOXES]
    _draw(board, position, samples, edge)
    first, second = board.boxes_of[2 * edge], board.boxes_of[2 * edge + 1]
    _take_from(board, position, samples, first)
    _take_from(board, position, samples, second)
    boxes = before - position.counts[OPEN_BOXES]
    samples.boxes[chain] = boxes
    left = LEFT_OF_LOOP if samples.chains.sizes[edge] & 1 else LEFT_OF_CHAIN
    samples.left[chain] = left if boxes >= LONG_CHAIN else 0


@compiled
def _take_from(board: Board, position: Position, samples: Samples, box: int) -> None:
    """Takes this box and those behind it, as long as each has degree 3 in its turn."""
    while position.degree[box] == 3:
        edge = position.open_edges[box]
        to = board.boxes_of[2 * edge] + board.boxes_of[2 * edge + 1] - box
        _draw(board, position, samples, edge)
        box = to


@compiled
def _draw(board: Board, position: Position, samples: Samples, edge: int) -> None:
    """Draws an edge and adds it to `path`."""
    num_edges = len(board.order)
    draw(board, position, edge)
    samples.path[samples.path[num_edges]] = edge
    samples.path[num_edges] += 1


@compiled
def _undraw_to(board: Board, position: Position, samples: Samples, number: int) -> None:
    """Undraws the last edges of `path` until `number` of them are left."""
    num_edges = len(board.order)
    for place in range(samples.path[num_edges] - 1, number - 1, -1):
        undraw(board, position, samples.path[place])
    samples.path[num_edges] = number
