"""Moves of the pieces of 5 x 5 chess: bitboards, attacks, pins, and the numbers of the actions.

A set of cells is a uint32, bit file * 5 + rank. Everything is in the mover's frame, in which the mover's pawns go up:

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

Steps are shifts. A sliding piece is a fill in one direction (Kogge-Stone), and two doublings cover the board.
There is no castling and no en passant, so pins and checks decide which moves are legal.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import at
from jaxgames.bits import union

BOARD = (1 << 25) - 1  # the set of all cells
RANK = [sum(1 << (5 * file + rank) for file in range(5)) for rank in range(5)]  # set of each rank
DARK = sum(1 << cell for cell in range(0, 25, 2))  # the cells with the colour of a1
NUM_PLANES = 49
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
VALUES = (100, 280, 320, 479, 929, 60_000)  # of these pieces, in thousandths of the unit of rewards
THOUSANDTHS = (np.arange(1000) / 1000).astype(np.float32)  # [i] is i / 1000, correctly rounded

Direction = tuple[int, int]  # files to the right, ranks up
UP, UP_RIGHT, UP_LEFT = (0, 1), (1, 1), (-1, 1)
STRAIGHT: list[Direction] = [(0, -1), (0, 1), (-1, 0), (1, 0)]
DIAGONAL: list[Direction] = [(-1, -1), (1, 1), (-1, 1), (1, -1)]
KNIGHT_JUMPS: list[Direction] = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]


def _planes() -> list[Direction]:
    """Returns where each plane leads: underpromotions, lines (each from far to near to far), jumps of a knight."""
    planes = [direction for _ in range(3) for direction in (UP, UP_RIGHT, UP_LEFT)]
    for file, rank in ((0, 1), (1, 0), (1, 1), (1, -1)):
        planes += [(file * far, rank * far) for far in (-4, -3, -2, -1, 1, 2, 3, 4)]
    return planes + KNIGHT_JUMPS


PLANES = _planes()  # where each plane leads


def _targets() -> np.ndarray:
    """Returns int[25, 49], the target of each action; -1 off the board and for underpromotions to other ranks."""
    to = np.full((25, NUM_PLANES), -1, np.int32)
    for cell in range(25):
        for plane, (files, ranks) in enumerate(PLANES):
            file, rank = cell // 5 + files, cell % 5 + ranks
            if file in range(5) and rank in range(5) and (plane >= 9 or rank == 4):
                to[cell, plane] = 5 * file + rank
    return to


TARGET = _targets()  # int32[25, 49], the cell that each plane leads to from each cell

# What an action needs of the word of its origin, uint32[25, 49]: its target, NEVER_BIT if it has none, and PAWN_BIT for
# an underpromotion.
PAWN_BIT, NEVER_BIT = 31, 30
IS_UNDERPROMOTION = np.arange(NUM_PLANES) < 9
NEEDED = (1 << np.where(TARGET < 0, NEVER_BIT, TARGET) | np.where(IS_UNDERPROMOTION, 1 << PAWN_BIT, 0)).astype(
    np.uint32
)

CELL_SET = (1 << np.arange(25)).astype(np.uint32)  # the set of each cell
PLACE = (4 - np.arange(25) % 5) * 5 + np.arange(25) // 5  # the place of each cell in an observation, row by row
GRID = CELL_SET.reshape(5, 5).T[::-1]  # uint32[5, 5], the set of the cell that an observation has at [5 - rank, file]

# Random odd numbers for the hash of a position, which mixes four words into two.
MULTIPLIERS = np.random.default_rng(5).integers(0, 1 << 31, (5, 2)).astype(np.uint32) * np.uint32(2) + np.uint32(1)


def decode(action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Returns the set of an action's origin, what it needs (see NEEDED), uint32[] each, and its plane, int32[].

    What it needs has the set of its target among the bits of BOARD, none where the target is off the board.
    """
    action = jnp.clip(action, 0, 25 * NUM_PLANES - 1)
    origin = jnp.uint32(1) << (action // NUM_PLANES).astype(jnp.uint32)
    return origin, at(jnp.asarray(NEEDED.ravel()), action), action % NUM_PLANES


# -- sets of cells -----------------------------------------------------------------------------------------


def _targets_of_all(direction: Direction) -> int:
    """Returns the set of cells that a step in a direction can reach from anywhere on the board."""
    files, ranks = direction
    inside = [c for c in range(25) if c // 5 - files in range(5) and c % 5 - ranks in range(5)]
    return sum(1 << cell for cell in inside)


def _shift_bits(cells: jax.Array, direction: Direction, times: int = 1) -> jax.Array:
    """Returns the cells `times` steps further in a direction; those that leave the board come out at wrong places."""
    by = times * (5 * direction[0] + direction[1])
    return cells << by if by > 0 else cells >> -by


def shift(cells: jax.Array, direction: Direction) -> jax.Array:
    """Returns the cells one step (or jump) further in a direction, those on the board."""
    return _shift_bits(cells, direction) & _targets_of_all(direction)


def slide(cells: jax.Array, empty: jax.Array, direction: Direction) -> jax.Array:
    """Returns the cells that sliding pieces on `cells` attack: all empty ones up to the first occupied one, and it."""
    free = empty & _targets_of_all(direction)
    cells = cells | (free & _shift_bits(cells, direction))
    free = free & _shift_bits(free, direction)
    cells = cells | (free & _shift_bits(cells, direction, 2))
    return shift(cells, direction)


def knight_attacks(cells: jax.Array) -> jax.Array:
    """Returns the cells that knights on `cells` attack."""
    return union([shift(cells, jump) for jump in KNIGHT_JUMPS])


def king_attacks(cells: jax.Array) -> jax.Array:
    """Returns the cells next to `cells`, without `cells` themselves: what a single king attacks."""
    column = cells | shift(cells, (0, 1)) | shift(cells, (0, -1))
    return (column | shift(column, (1, 0)) | shift(column, (-1, 0))) & ~cells


def mirror(cells: jax.Array) -> jax.Array:
    """Returns the same cells in the opponent's frame: rank 1 becomes rank 5."""
    one, two, three, four, five = (cells & rank for rank in RANK)
    return (one << 4) | (two << 2) | three | (four >> 2) | (five >> 4)


# -- positions ---------------------------------------------------------------------------------------------


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Position:
    """The pieces on the board in the mover's frame: seven sets of cells, each uint32[]."""

    own: jax.Array  # the mover's pieces; all others are the opponent's
    pawns: jax.Array  # of both sides, as are the next five
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

    def mirrored(self) -> "Position":
        """Returns the same position in the opponent's frame."""
        return Position(mirror(self.occupied & ~self.own), *map(mirror, self.pieces))


def pack(content: np.ndarray) -> Position:
    """Returns positions of int[..., 25], leaves uint32[...]: 1..6 the mover's P N B R Q K, -1..-6 the opponent's."""

    def cells(where: np.ndarray) -> jax.Array:
        return jnp.asarray((where * CELL_SET).sum(-1, dtype=np.uint32))

    return Position(cells(content > 0), *(cells(abs(content) == kind) for kind in range(1, 7)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MoveMasks:
    """Sets of cells, each uint32[], that limit where the mover's pieces may go."""

    empty: jax.Array
    capturable: jax.Array  # the opponent's pieces that may be captured
    free_along: dict[Direction, jax.Array]  # own pieces that no pin keeps from moving in a direction
    unpinned: jax.Array  # own pieces that are not pinned
    check_mask: jax.Array  # targets of pieces other than the king that leave it safe: all cells unless in check
    king_safe: jax.Array  # targets of the king that are not attacked
    checkers: jax.Array  # the opponent's pieces that give check


def pseudo_legal_masks(position: Position) -> MoveMasks:
    """Returns masks without a limit: the king may be left in check, and captured."""
    occupied = position.occupied
    board, own = jnp.uint32(BOARD), position.own
    return MoveMasks(
        empty=board & ~occupied,
        capturable=occupied & ~own,
        free_along=dict.fromkeys([*STRAIGHT, *DIAGONAL], own),
        unpinned=own,
        check_mask=board,
        king_safe=board,
        checkers=jnp.uint32(0),
    )


def legal_masks(position: Position) -> MoveMasks:
    """Returns masks that leave the mover's king safe after the move. A king is never captured."""
    own, occupied = position.own, position.occupied
    enemy, empty, king = occupied & ~own, BOARD & ~occupied, position.kings & own

    # A pinned piece is the first one that the king sees in a direction and that a slider sees from the other end.
    attacked = knight_attacks(enemy & position.knights) | king_attacks(enemy & position.kings)
    attacked |= union([shift(enemy & position.pawns, side) for side in ((-1, -1), (1, -1))])
    pawn_cells = shift(king, UP_LEFT) | shift(king, UP_RIGHT)
    checkers = knight_attacks(king) & position.knights | pawn_cells & position.pawns
    checkers = (checkers | king_attacks(king) & position.kings) & enemy
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
    free_along = {
        (files, ranks): own & (~all_pinned | pinned[files, ranks] | pinned[-files, -ranks]) for files, ranks in pinned
    }
    double_check = (checkers & (checkers - 1)) != 0
    check_mask = jnp.where(double_check, 0, checkers | between)
    return MoveMasks(
        empty=empty,
        capturable=enemy & ~position.kings,
        free_along=free_along,
        unpinned=own & ~all_pinned,
        check_mask=jnp.where(checkers == 0, jnp.uint32(BOARD), check_mask),
        king_safe=BOARD & ~attacked,
        checkers=checkers,
    )


def targets(position: Position, masks: MoveMasks, cells: jax.Array, double_step: bool) -> jax.Array:
    """Returns the set of all cells that the mover's pieces on `cells` (uint32[...]) may go to, uint32[...]."""
    out = knight_attacks(cells & position.knights & masks.unpinned)
    for directions, kind in ((STRAIGHT, position.rooks), (DIAGONAL, position.bishops)):
        sliders = kind | position.queens
        for direction in directions:
            out |= slide(cells & sliders & masks.free_along[direction], masks.empty, direction)
    out &= masks.empty | masks.capturable
    for direction in (UP_LEFT, UP_RIGHT):
        out |= shift(cells & position.pawns & masks.free_along[direction], direction) & masks.capturable
    forward = shift(cells & position.pawns & masks.free_along[UP], UP) & masks.empty
    if double_step:
        forward |= shift(forward & RANK[2], UP) & masks.empty  # a pawn on the third rank came from the second
    out |= forward
    king = king_attacks(cells & position.kings & position.own)
    return out & masks.check_mask | king & masks.king_safe & (masks.empty | masks.capturable)


def after_move(position: Position, origin: jax.Array, target: jax.Array, promotion: jax.Array) -> Position:
    """Returns the position after a move from one cell to another, still in the frame of the player who moved.

    `promotion` (int32[]) is the place in `Position.pieces` of the type that a pawn becomes on its last rank.
    """
    promotes = ((position.pawns & origin) != 0) & ((target & RANK[4]) != 0)
    pieces: list[jax.Array] = []
    for kind, cells in enumerate(position.pieces):
        arrives = jnp.where(promotes, promotion == kind, (cells & origin) != 0)
        pieces.append(cells & ~(origin | target) | jnp.where(arrives, target, 0))
    return Position(position.own & ~origin | target, *pieces)


# -- properties of a position ------------------------------------------------------------------------------


def hashed(position: Position) -> jax.Array:
    """Returns uint32[2], a hash of the position: two positions share it with a chance of one in 2**64."""
    pawns, knights, bishops, rooks, queens, kings = position.pieces
    words = (position.own, pawns | bishops | queens, knights | bishops | kings, rooks | queens | kings)  # one-to-one
    halves: list[jax.Array] = []
    for half in range(2):
        mixed = jnp.uint32(0)
        for word, multiplier in zip((*words, jnp.uint32(0)), MULTIPLIERS[:, half], strict=True):
            mixed = (mixed ^ word) * multiplier
            mixed = mixed ^ (mixed >> 15)
        halves.append(mixed)
    return jnp.stack(halves)


def cannot_mate(position: Position) -> jax.Array:
    """Returns bool[], whether the material is insufficient for a mate.

    So it is for kings alone, with a single bishop or knight, or with bishops that are all on cells of one colour.
    """
    minors = position.knights | position.bishops
    one_minor = (minors & (minors - 1)) == 0
    one_color = ((position.bishops & DARK) == 0) | ((position.bishops & ~jnp.uint32(DARK)) == 0)
    heavy = (position.pawns | position.rooks | position.queens) != 0
    return ~heavy & (one_minor | ((position.knights == 0) & one_color))


def material(position: Position) -> jax.Array:
    """Returns int32[], the mover's material minus the opponent's, in thousandths."""
    balance = jnp.int32(0)
    for cells, value in zip(position.pieces, VALUES, strict=True):
        own, theirs = (
            jax.lax.population_count(side).astype(jnp.int32) for side in (cells & position.own, cells & ~position.own)
        )
        balance += value * (own - theirs)
    return balance


def from_thousandths(amount: jax.Array) -> jax.Array:
    """Returns float32[], `amount` (int32[]) / 1000, rounded as numpy rounds it.

    XLA would turn a division by a constant into a product, which rounds twice.
    """
    whole, rest = jnp.divmod(jnp.abs(amount), 1000)
    return jnp.sign(amount).astype(jnp.float32) * (whole.astype(jnp.float32) + jnp.asarray(THOUSANDTHS)[rest])


def name_of(cell: int, black: int) -> str:
    """Returns the name, such as "a1", of a cell in the frame of White (`black` 0) or Black (1)."""
    return f"{'abcde'[cell // 5]}{5 - cell % 5 if black else cell % 5 + 1}"


def cell_of(name: str, black: int) -> int:
    """Returns the cell with a name, in the frame of White or Black."""
    return 5 * "abcde".index(name[0]) + (5 - int(name[1]) if black else int(name[1]) - 1)
