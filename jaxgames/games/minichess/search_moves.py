"""Moves of 5 x 5 chess as words, for the search of `jaxgames.games.minichess.search`.

`Pieces` are four words of 25 bits in the mover's frame. Bit file * 5 + rank is a cell, as in
`jaxgames.games.minichess.board`, which draws the board and the numbers of the actions. The kinds of pieces:

    P 1    N 2    B 3    R 4    Q 5    K 6

The actions are those of the env. All numbers are integers of at most 62 bits.
"""

from typing import NamedTuple

import numpy as np

from jaxgames.games.minichess.board import (
    BOARD,
    DARK,
    DIAGONAL,
    KNIGHT_JUMPS,
    NUM_PLANES,
    RANK,
    STRAIGHT,
    TARGET,
    Direction,
)
from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits, ints

MAX_MOVES = 512  # of a position: no piece has more than 20 targets, or four actions each for three
NUM_ACTIONS = 25 * NUM_PLANES
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)  # kinds
BOTTOM, SECOND, TOP = RANK[0], RANK[1], RANK[4]
THIRD, FOURTH = RANK[2], RANK[3]

# The directions of rays: the first four lead to cells of higher numbers, the others back.
DIRECTIONS: tuple[Direction, ...] = ((0, 1), (1, 0), (1, 1), (1, -1), (0, -1), (-1, 0), (-1, -1), (-1, 1))
assert {*DIRECTIONS} == {*STRAIGHT, *DIAGONAL}


class Pieces(NamedTuple):
    """The pieces on the board, as sets of cells."""

    own: int  # the mover's
    kind_bit_0: int  # those whose kind has the bit of value 1; an empty cell has no bit of a kind
    kind_bit_1: int  # of value 2
    kind_bit_2: int  # of value 4


class Chess(NamedTuple):
    """The rules of a game, each 0 or 1, and tables of the moves of the pieces. Sets of cells are words."""

    king_capture: int  # kings are captured
    double_step: int  # a pawn on its second rank may go two cells
    queen_only: int  # a pawn can become only a queen
    rays: Ints  # [8 * 25], the cells in each of DIRECTIONS from each cell
    jumps: Ints  # [25], of a knight
    steps: Ints  # [25], of a king
    strikes: Ints  # [25], where a pawn of the mover captures
    actions: Ints  # [25 * 25], from * 25 + to: the action; of a pawn on its last rank, that which makes a queen
    targets: Ints  # [NUM_ACTIONS], the cell that an action leads to; -1 for none


def make_chess(env: Minichess, compiled: bool) -> Chess:
    """Returns the rules and the tables, as arrays for compiled functions or as lists for plain ones."""
    actions = np.zeros((25, 25), np.int64)
    for cell, plane in zip(*np.nonzero(TARGET[:, 9:] >= 0), strict=True):
        actions[cell, TARGET[cell, 9 + plane]] = NUM_PLANES * cell + 9 + plane
    rays = [_reached(cell, direction, 4) for direction in DIRECTIONS for cell in range(25)]
    jumps, steps, strikes = (
        [sum(_reached(cell, direction, 1) for direction in directions) for cell in range(25)]
        for directions in (KNIGHT_JUMPS, DIRECTIONS, ((-1, 1), (1, 1)))
    )
    rules = (int(env.rules == "king_capture"), int(env.double_step), int(env.promotion == "queen"))
    tables = (rays, jumps, steps, strikes, actions.ravel(), TARGET.ravel())
    return Chess(*rules, *(ints(values, compiled) for values in tables))


def _reached(cell: int, direction: Direction, steps: int) -> int:
    """Returns the set of cells that at most that many steps in a direction lead to."""
    cells = 0
    for times in range(1, steps + 1):
        file, rank = cell // 5 + times * direction[0], cell % 5 + times * direction[1]
        if file in range(5) and rank in range(5):
            cells |= 1 << (5 * file + rank)
    return cells


def pieces_of(state: MinichessState) -> Pieces:
    """Returns the pieces of a board on the host."""
    position = state.position
    own, *by_kind = (int(cells) for cells in (position.own, *position.pieces))
    return Pieces(own, *(sum(by_kind[kind - 1] for kind in range(PAWN, KING + 1) if kind & bit) for bit in (1, 2, 4)))


# -- sets of cells -----------------------------------------------------------------------------------------------------


@compiled
def mirrored(word: int) -> int:
    """Returns the same cells in the opponent's frame: rank 1 becomes rank 5."""
    return (word & BOTTOM) << 4 | (word & SECOND) << 2 | word & THIRD | (word & FOURTH) >> 2 | (word & TOP) >> 4


@compiled
def line_attacks(rays: Ints, cell: int, occupied: int, direction: int) -> int:
    """Returns the cells that a slider sees in a direction (0 to 3) and back: up to the first piece, and this one."""
    ahead = rays[25 * direction + cell]
    blockers = ahead & occupied
    seen = ahead & ((blockers & -blockers) * 2 - 1)
    back = rays[25 * (direction + 4) + cell]
    blockers = back & occupied
    blockers |= blockers >> 1
    blockers |= blockers >> 2
    blockers |= blockers >> 4
    blockers |= blockers >> 8
    blockers |= blockers >> 16
    return seen | back & ~(blockers >> 1)


@compiled
def attacks(chess: Chess, cell: int, kind: int, occupied: int) -> int:
    """Returns the cells that a piece on a cell attacks, a pawn one of the mover's."""
    if kind == PAWN:
        return chess.strikes[cell]
    if kind == KNIGHT:
        return chess.jumps[cell]
    if kind == KING:
        return chess.steps[cell]
    seen = 0
    if kind != ROOK:
        for direction in range(2, 4):
            seen |= line_attacks(chess.rays, cell, occupied, direction)
    if kind != BISHOP:
        for direction in range(2):
            seen |= line_attacks(chess.rays, cell, occupied, direction)
    return seen


@compiled
def occupied_cells(pieces: Pieces) -> int:
    """Returns the cells with a piece."""
    return pieces.kind_bit_0 | pieces.kind_bit_1 | pieces.kind_bit_2


@compiled
def kind_on(pieces: Pieces, cell: int) -> int:
    """Returns the kind of the piece on a cell; 0 on an empty one."""
    _, bit_0, bit_1, bit_2 = pieces
    return (bit_0 >> cell & 1) + 2 * (bit_1 >> cell & 1) + 4 * (bit_2 >> cell & 1)


@compiled
def kings_of(pieces: Pieces) -> int:
    """Returns the cells of the mover's kings."""
    return pieces.own & pieces.kind_bit_1 & pieces.kind_bit_2


@compiled
def king_is_attacked(chess: Chess, pieces: Pieces) -> bool:
    """Returns whether the opponent's pieces attack a king of the mover."""
    own, bit_0, bit_1, bit_2 = pieces
    occupied = occupied_cells(pieces)
    theirs = occupied & ~own
    kings = kings_of(pieces)
    while kings != 0:
        first = kings & -kings
        kings ^= first
        cell = count_bits(first - 1)
        hit = chess.strikes[cell] & bit_0 & ~bit_1 & ~bit_2  # where a pawn of the opponent would capture from
        hit |= chess.jumps[cell] & bit_1 & ~bit_0 & ~bit_2
        hit |= chess.steps[cell] & bit_1 & bit_2
        if hit & theirs != 0:
            return True
        straight, diagonal = theirs & bit_2 & ~bit_1, theirs & bit_0 & (bit_1 ^ bit_2)
        for direction in range(2):
            if straight != 0 and line_attacks(chess.rays, cell, occupied, direction) & straight != 0:
                return True
        for direction in range(2, 4):
            if diagonal != 0 and line_attacks(chess.rays, cell, occupied, direction) & diagonal != 0:
                return True
    return False


@compiled
def cannot_mate(pieces: Pieces) -> bool:
    """Returns whether the material is insufficient for a mate, as `jaxgames.games.minichess.board.cannot_mate`."""
    _, bit_0, bit_1, bit_2 = pieces
    if bit_2 & ~bit_1 != 0 or bit_0 & ~bit_1 != 0:  # a rook, a queen or a pawn
        return False
    minors = bit_1 & ~bit_2
    bishops = minors & bit_0
    one_color = bishops & DARK == 0 or bishops & ~DARK == 0
    return minors & (minors - 1) == 0 or (minors == bishops and one_color)


# -- moves -------------------------------------------------------------------------------------------------------------


@compiled
def write_moves(chess: Chess, pieces: Pieces, noisy: int, moves: Ints, begin: int) -> int:
    """Writes the mover's actions to moves[begin:], the safety of its king left out; returns their number.

    With `noisy` 1 they are captures and pawns that become queens only; no pawn becomes another piece then.
    """
    own, occupied = pieces.own, occupied_cells(pieces)
    theirs = occupied & ~own
    allowed = theirs if noisy == 1 else BOARD & ~own
    end = begin
    left = own
    while left != 0:
        first = left & -left
        left ^= first
        cell = count_bits(first - 1)
        kind = kind_on(pieces, cell)
        targets = attacks(chess, cell, kind, occupied)
        if kind == PAWN:
            targets &= theirs
            forward = first << 1 & ~occupied & ~BOTTOM & BOARD
            if chess.double_step == 1:
                forward |= (forward & THIRD) << 1 & ~occupied
            targets |= forward & TOP if noisy == 1 else forward
        else:
            targets &= allowed
        while targets != 0:
            target = targets & -targets
            targets ^= target
            to = count_bits(target - 1)
            moves[end] = chess.actions[25 * cell + to]
            end += 1
            if kind == PAWN and target & TOP != 0 and noisy == 0 and chess.queen_only == 0:
                side = 0 if to - cell == 1 else 1 if to > cell else 2
                for piece in range(3):
                    moves[end] = NUM_PLANES * cell + 3 * piece + side
                    end += 1
    return end - begin


@compiled
def moved(chess: Chess, pieces: Pieces, action: int) -> tuple[Pieces, bool]:
    """Returns the pieces after an action, still in the mover's frame, and whether it was a capture or a pawn's move."""
    cell, plane = action // NUM_PLANES, action % NUM_PLANES
    to = chess.targets[action]
    origin, target = 1 << cell, 1 << to
    kind = kind_on(pieces, cell)
    is_irreversible = kind == PAWN or occupied_cells(pieces) & target != 0
    if kind == PAWN and target & TOP != 0:
        kind = QUEEN if plane >= 9 else ROOK - plane // 3
    rest = ~(origin | target)
    own, bit_0, bit_1, bit_2 = pieces
    after = Pieces(
        own & rest | target,
        bit_0 & rest | (kind & 1) << to,
        bit_1 & rest | (kind >> 1 & 1) << to,
        bit_2 & rest | kind >> 2 << to,
    )
    return after, is_irreversible


@compiled
def turned(pieces: Pieces) -> Pieces:
    """Returns the same pieces in the opponent's frame."""
    own, bit_0, bit_1, bit_2 = pieces
    theirs = occupied_cells(pieces) & ~own
    return Pieces(mirrored(theirs), mirrored(bit_0), mirrored(bit_1), mirrored(bit_2))


@compiled
def is_legal(chess: Chess, pieces: Pieces, action: int) -> bool:
    """Returns whether one of `write_moves` is legal under standard rules: it leaves the king safe and captures none."""
    if 1 << chess.targets[action] & pieces.kind_bit_1 & pieces.kind_bit_2 & ~pieces.own != 0:
        return False
    after, _ = moved(chess, pieces, action)
    return not king_is_attacked(chess, after)


@compiled
def write_legal_moves(chess: Chess, pieces: Pieces, moves: Ints, begin: int) -> int:
    """Writes the legal actions to moves[begin:], and returns their number; see `write_moves`.

    Under `king_capture` all moves are legal while the mover has a king, and none without.
    """
    if chess.king_capture == 1 and kings_of(pieces) == 0:
        return 0
    noisy = 0  # no argument is a literal: numba would compile the function again for each
    number = write_moves(chess, pieces, noisy, moves, begin)
    if chess.king_capture == 1:
        return number
    end = begin
    for place in range(begin, begin + number):
        if is_legal(chess, pieces, moves[place]):
            moves[end] = moves[place]
            end += 1
    return end - begin
