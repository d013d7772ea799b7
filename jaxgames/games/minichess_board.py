"""How the pieces of 5 x 5 chess move: bitboards, attacks, pins, and the numbers of the actions.

A set of cells is a uint32, bit file * 5 + rank; everything is seen by the mover, whose pawns go up:

    5   4  9 14 19 24      Action = from * 49 + plane. From a cell X the planes lead to
    4   3  8 13 18 23
    3   2  7 12 17 22             33          16          32      0-8 are underpromotions:
    2   1  6 11 16 21                34       15       31         plane // 3 rook, bishop, knight,
    1   0  5 10 15 20                   35 44 14 48 30            plane % 3 forward, right, left.
        a  b  c  d  e                   42 36 13 29 46            A pawn that goes to its last rank
                                  17 18 19 20  X 21 22 23 24      by any other plane becomes a queen.
                                        41 28 12 37 45
                                        27 43 11 47 38
                                     26       10       39
                                  25           9          40

Steps are shifts, and a piece that slides is a flood in one direction (Kogge-Stone): two doublings cover the board.
There is no castling and no en passant, so pins and checks settle which moves are legal.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.bits import union

BOARD = (1 << 25) - 1
RANK = [sum(1 << (5 * file + rank) for file in range(5)) for rank in range(5)]
DARK = sum(1 << cell for cell in range(0, 25, 2))  # the colour of a1
NUM_PLANES = 49
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
THOUSANDTHS = (np.arange(1000) / 1000).astype(np.float32)
VALUES = (100, 280, 320, 479, 929, 60_000)  # of these, in thousandths of the unit of rewards

Direction = tuple[int, int]  # files to the right, ranks up
UP, UP_RIGHT, UP_LEFT = (0, 1), (1, 1), (-1, 1)
STRAIGHT: list[Direction] = [(0, -1), (0, 1), (-1, 0), (1, 0)]
DIAGONAL: list[Direction] = [(-1, -1), (1, 1), (-1, 1), (1, -1)]
JUMPS: list[Direction] = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]


def _planes() -> list[Direction]:
    """Where each plane leads: underpromotions, straight and diagonal lines, each from far to near to far, jumps."""
    planes = [direction for _ in range(3) for direction in (UP, UP_RIGHT, UP_LEFT)]
    for file, rank in ((0, 1), (1, 0), (1, 1), (1, -1)):
        planes += [(file * far, rank * far) for far in (-4, -3, -2, -1, 1, 2, 3, 4)]
    return planes + JUMPS


def _targets() -> np.ndarray:
    """int[25, 49], the cell that each action leads to, -1 off the board and for underpromotions from other ranks."""
    to = np.full((25, NUM_PLANES), -1)
    for cell in range(25):
        for plane, (files, ranks) in enumerate(_planes()):
            file, rank = cell // 5 + files, cell % 5 + ranks
            if file in range(5) and rank in range(5) and (plane >= 9 or rank == 4):
                to[cell, plane] = 5 * file + rank
    return to


TARGET = _targets()
TARGET_SET = np.where(TARGET < 0, 0, 1 << np.maximum(TARGET, 0)).astype(np.uint32)
CELL_SET = (1 << np.arange(25)).astype(np.uint32)

# Random odd numbers for the hash of a position: two words, made from four.
MULTIPLIERS = np.random.default_rng(5).integers(0, 1 << 31, (5, 2)).astype(np.uint32) * np.uint32(2) + np.uint32(1)


# -- sets of cells -----------------------------------------------------------------------------------------


def _into(direction: Direction) -> int:
    """The cells that a step in that direction can reach."""
    files, ranks = direction
    inside = [c for c in range(25) if c // 5 - files in range(5) and c % 5 - ranks in range(5)]
    return sum(1 << cell for cell in inside)


def _shifted(cells: jax.Array, direction: Direction, times: int = 1) -> jax.Array:
    by = times * (5 * direction[0] + direction[1])
    return cells << by if by > 0 else cells >> -by


def step(cells: jax.Array, direction: Direction) -> jax.Array:
    """The cells one step (or jump) further, on the board."""
    return _shifted(cells, direction) & _into(direction)


def slide(cells: jax.Array, empty: jax.Array, direction: Direction) -> jax.Array:
    """All cells that pieces on `cells` reach: over empty ones up to the first that is not, which is included."""
    free = empty & _into(direction)
    cells = cells | (free & _shifted(cells, direction))
    free = free & _shifted(free, direction)
    cells = cells | (free & _shifted(cells, direction, 2))
    return step(cells, direction)


def jumps(cells: jax.Array) -> jax.Array:
    return union([step(cells, jump) for jump in JUMPS])


def neighbours(cells: jax.Array) -> jax.Array:
    column = cells | step(cells, (0, 1)) | step(cells, (0, -1))
    return (column | step(column, (1, 0)) | step(column, (-1, 0))) & ~cells


def mirrored(cells: jax.Array) -> jax.Array:
    """The same cells seen by the other side: rank 1 becomes rank 5."""
    one, two, three, four, five = (cells & rank for rank in RANK)
    return (one << 4) | (two << 2) | three | (four >> 2) | (five >> 4)


# -- positions ---------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Position:
    """Who stands where, seen by the mover: seven sets of cells, each uint32[]."""

    own: jax.Array  # the mover's pieces; all others are the opponent's
    pawns: jax.Array  # of both sides, as all that follow
    knights: jax.Array
    bishops: jax.Array
    rooks: jax.Array
    queens: jax.Array
    kings: jax.Array

    @property
    def pieces(self) -> tuple[jax.Array, ...]:
        """Both sides' pieces by type: pawns, knights, bishops, rooks, queens, kings."""
        return self.pawns, self.knights, self.bishops, self.rooks, self.queens, self.kings

    @property
    def occupied(self) -> jax.Array:
        return union(list(self.pieces))

    def turned(self) -> "Position":
        """The same position seen by the opponent."""
        return Position(mirrored(self.occupied & ~self.own), *map(mirrored, self.pieces))


@dataclass(frozen=True)
class Freedom:
    """What restricts the mover's pieces, each uint32[]."""

    empty: jax.Array
    enemy: jax.Array  # what may be captured
    walkers: dict[Direction, jax.Array]  # own pieces that may leave their cell in a direction
    jumpers: jax.Array  # own pieces that may leave their line
    allowed: jax.Array  # where pieces other than the king may go
    safe: jax.Array  # where the king may go
    checkers: jax.Array  # enemy pieces that give check


def pseudo_legal(position: Position) -> Freedom:
    """Nothing is restricted: the king may be left in check, and captured."""
    occupied = position.occupied
    enemy, board = occupied & ~position.own, jnp.uint32(BOARD)
    walkers = dict.fromkeys([*STRAIGHT, *DIAGONAL], position.own)
    return Freedom(board & ~occupied, enemy, walkers, position.own, board, board, jnp.uint32(0))


def legal(position: Position) -> Freedom:
    """The king must be safe after the move. A king is never captured."""
    own, occupied = position.own, position.occupied
    enemy, empty, king = occupied & ~own, BOARD & ~occupied, position.kings & own

    # A pinned piece is the first that the king sees in a direction and that a slider sees from the other end.
    attacked = jumps(enemy & position.knights) | neighbours(enemy & position.kings)
    attacked |= union([step(enemy & position.pawns, side) for side in ((-1, -1), (1, -1))])
    pawn_cells = step(king, UP_LEFT) | step(king, UP_RIGHT)
    checkers = jumps(king) & position.knights | pawn_cells & position.pawns | neighbours(king) & position.kings
    checkers &= enemy
    between = jnp.uint32(0)
    pinned: dict[Direction, jax.Array] = {}
    for directions, kind in ((STRAIGHT, position.rooks), (DIAGONAL, position.bishops)):
        sliders = enemy & (kind | position.queens)
        for files, ranks in directions:
            seen = slide(king, empty, (files, ranks))
            attacks = slide(sliders, empty | king, (-files, -ranks))  # through the king: it cannot flee along the line
            attacked |= attacks
            checkers |= seen & sliders
            between |= jnp.where((seen & sliders) != 0, seen, 0)
            pinned[files, ranks] = seen & own & attacks
    all_pinned = union(list(pinned.values()))
    walkers = {
        (files, ranks): own & (~all_pinned | pinned[files, ranks] | pinned[-files, -ranks]) for files, ranks in pinned
    }
    double = (checkers & (checkers - 1)) != 0
    answers = jnp.where(checkers == 0, jnp.uint32(BOARD), jnp.where(double, 0, checkers | between))
    return Freedom(
        empty=empty,
        enemy=enemy & ~position.kings,
        walkers=walkers,
        jumpers=own & ~all_pinned,
        allowed=answers,
        safe=BOARD & ~attacked,
        checkers=checkers,
    )


def reach(position: Position, freedom: Freedom, cells: jax.Array, double_step: bool) -> jax.Array:
    """The cells that the mover's pieces on `cells` (uint32, any shape) may go to, in one set."""
    out = jumps(cells & position.knights & freedom.jumpers)
    for directions, kind in ((STRAIGHT, position.rooks), (DIAGONAL, position.bishops)):
        sliders = kind | position.queens
        for direction in directions:
            out |= slide(cells & sliders & freedom.walkers[direction], freedom.empty, direction)
    out &= freedom.empty | freedom.enemy
    for direction in (UP_LEFT, UP_RIGHT):
        out |= step(cells & position.pawns & freedom.walkers[direction], direction) & freedom.enemy
    forward = step(cells & position.pawns & freedom.walkers[UP], UP) & freedom.empty
    if double_step:
        forward |= step(forward & RANK[2], UP) & freedom.empty  # only pawns from the second rank stand on the third
    out |= forward
    king = neighbours(cells & position.kings & position.own)
    return out & freedom.allowed | king & freedom.safe & (freedom.empty | freedom.enemy)


def moved(position: Position, origin: jax.Array, target: jax.Array, promotion: jax.Array) -> Position:
    """The position after a move from one cell to another, still seen by who moved.

    `promotion` (int32[]) is the place in `Position.pieces` of what a pawn becomes on its last rank.
    """
    promotes = ((position.pawns & origin) != 0) & ((target & RANK[4]) != 0)
    pieces: list[jax.Array] = []
    for kind, cells in enumerate(position.pieces):
        arrives = jnp.where(promotes, promotion == kind, (cells & origin) != 0)
        pieces.append(cells & ~(origin | target) | jnp.where(arrives, target, 0))
    return Position(position.own & ~origin | target, *pieces)


# -- questions about a position ---------------------------------------------------------------------------


def hashed(position: Position) -> jax.Array:
    """uint32[2], different for different positions but for one pair in 2**64."""
    pawns, knights, bishops, rooks, queens, kings = position.pieces
    words = (position.own, pawns | bishops | queens, knights | bishops | kings, rooks | queens | kings)  # all there is
    halves: list[jax.Array] = []
    for half in range(2):
        mixed = jnp.uint32(0)
        for word, multiplier in zip((*words, jnp.uint32(0)), MULTIPLIERS[:, half], strict=True):
            mixed = (mixed ^ word) * multiplier
            mixed = mixed ^ (mixed >> 15)
        halves.append(mixed)
    return jnp.stack(halves)


def cannot_mate(position: Position) -> jax.Array:
    """bool[]: bare kings, a single minor piece, or bishops on one colour only."""
    minors = position.knights | position.bishops
    one_minor = (minors & (minors - 1)) == 0
    one_color = ((position.bishops & DARK) == 0) | ((position.bishops & ~jnp.uint32(DARK)) == 0)
    heavy = (position.pawns | position.rooks | position.queens) != 0
    return ~heavy & (one_minor | ((position.knights == 0) & one_color))


def material(position: Position) -> jax.Array:
    """int32[], the mover's material less the opponent's."""
    balance = jnp.int32(0)
    for cells, value in zip(position.pieces, VALUES, strict=True):
        own, theirs = (
            jax.lax.population_count(side).astype(jnp.int32) for side in (cells & position.own, cells & ~position.own)
        )
        balance += value * (own - theirs)
    return balance


def in_thousands(amount: jax.Array) -> jax.Array:
    """float32[], int32[] / 1000 as numpy rounds it: XLA makes a division by a constant a product, and rounds twice."""
    whole, rest = jnp.divmod(jnp.abs(amount), 1000)
    return jnp.sign(amount) * (whole + jnp.asarray(THOUSANDTHS)[rest])
