"""Chains of Dots and Boxes while no box can be taken: one move for each of them, and the exact value of chains alone.

The words are defined in search_moves.py beside this file. Without a box of degree 3, an open edge is safe if both of
its boxes have a degree below 2. Every other one belongs to a chain: boxes of degree 2 that open edges join. A chain
that is closed in itself is a loop.

A player who draws an edge of a chain opens it. Then the opponent takes its boxes. The last 2 of a chain of at least 3,
or 4 of a loop, can be left. Whichever edge opens a chain, the value is the same. Only in a chain of 2 boxes is the
edge between them better, because the opponent must then take both. So `chain_openers` writes one edge for each chain.

If all open boxes have degree 2, chains and loops are independent. Let the mover open one of b boxes, and let V be the
value for a mover of the rest. It is worth to the mover

    -(b + V)              a chain of 1 or 2: the opponent takes all, and moves
    -(b - 2 + |V + 2|)    a longer chain: the opponent takes all and moves, or leaves 2 and does not
    -(b - 4 + |V + 4|)    a loop: the same with 4

The mover opens the shortest chain or the shortest loop, whichever is worth more. `value_of_chains` tries both for every
number of chains and loops left.

Sources: Berlekamp, The Dots and Boxes Game, 2000 (control); Buzzard and Ciere, Playing simple loony dots and boxes
endgames optimally, 2014 (the values of independent chains and loops).
"""

from typing import NamedTuple

from jaxgames.games.dots_and_boxes.search_moves import Board, Position, is_first_open, is_safe
from jaxgames.solvers.alphabeta.compiled import Ints, compiled

LONG_CHAIN = 3  # boxes
LEFT_OF_CHAIN = 2  # boxes that the opponent can leave of a long chain
LEFT_OF_LOOP = 4


class Chains(NamedTuple):
    """Work space of the functions below."""

    seen: Ints  # [num_boxes], 1 for a box whose chain is written
    sizes: Ints  # [num_edges], 2 * boxes of the chain that this edge opens, 1 more of a loop; 0 for a safe edge
    moves: Ints  # [num_edges]
    lengths: Ints  # [2 * num_boxes], of the chains, in ascending order; then of the loops, from num_boxes on
    values: Ints  # [num_boxes + 1]; entry i is the value after i loops are opened


@compiled
def chain_openers(board: Board, position: Position, chains: Chains, moves: Ints, begin: int) -> int:
    """Writes moves among which is a best one to moves[begin:], and returns their number. No box has degree 3.

    They are the safe edges, of interchangeable ones the first, and one edge for each chain, the shortest chain first.
    """
    end = begin
    for place in range(len(board.order)):
        edge = board.order[place]
        if is_first_open(board, position, edge) and is_safe(board, position, edge):
            chains.sizes[edge] = 0
            moves[end] = edge
            end += 1
    first_chain = end
    for box in range(len(chains.seen)):
        chains.seen[box] = 0
    for place in range(len(board.order)):
        edge = board.order[place]
        if not is_first_open(board, position, edge) or is_safe(board, position, edge):
            continue
        box = board.boxes_of[2 * edge]
        if position.degree[box] != 2:
            box = board.boxes_of[2 * edge + 1]
        if chains.seen[box] == 1:
            continue
        move = _follow(board, position, chains, edge, box)
        size = chains.sizes[move]
        at = end
        while at > first_chain and chains.sizes[moves[at - 1]] > size:
            moves[at] = moves[at - 1]
            at -= 1
        moves[at] = move
        end += 1
    return end - begin


@compiled
def _follow(board: Board, position: Position, chains: Chains, edge: int, box: int) -> int:
    """Returns the edge that opens the chain of a box and its open edge; marks its boxes, and writes its size."""
    chains.seen[box] = 1
    length, middle, is_loop = 1, edge, 0
    for side in range(2):
        step = edge if side == 0 else position.open_edges[box] ^ edge
        to = board.boxes_of[2 * step] + board.boxes_of[2 * step + 1] - box
        while position.degree[to] == 2 and chains.seen[to] == 0:
            chains.seen[to] = 1
            length += 1
            if length == 2:
                middle = step
            step ^= position.open_edges[to]
            to = board.boxes_of[2 * step] + board.boxes_of[2 * step + 1] - to
        if side == 0 and to == box:
            is_loop = 1
    move = middle if length == 2 else edge
    chains.sizes[move] = 2 * length + is_loop
    return move


@compiled
def value_of_chains(board: Board, position: Position, chains: Chains) -> int:
    """Returns the value for the mover of a position whose open boxes all have degree 2."""
    number = chain_openers(board, position, chains, chains.moves, 0)
    loops = len(chains.seen)  # the first place of their lengths
    num_chains = num_loops = 0
    for place in range(number):
        size = chains.sizes[chains.moves[place]]
        if size & 1:
            chains.lengths[loops + num_loops] = size // 2
            num_loops += 1
        else:
            chains.lengths[num_chains] = size // 2
            num_chains += 1
    for chain in range(num_chains, -1, -1):
        for loop in range(num_loops, -1, -1):
            best = 0 if chain == num_chains and loop == num_loops else -len(board.order)
            if chain < num_chains:
                best = max(best, _opened(chains.lengths[chain], chains.values[loop], LEFT_OF_CHAIN))
            if loop < num_loops:
                best = max(best, _opened(chains.lengths[loops + loop], chains.values[loop + 1], LEFT_OF_LOOP))
            chains.values[loop] = best
    return chains.values[0]


@compiled
def _opened(length: int, value: int, left: int) -> int:
    """Returns what it is worth to open a chain, with the value for a mover of the rest, and the boxes to leave."""
    return -(length + value) if length < LONG_CHAIN else -(length - left + abs(value + left))
