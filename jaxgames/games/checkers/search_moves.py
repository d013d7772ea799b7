"""Moves of checkers as shifts of words, for the search of `jaxgames.games.checkers.search`.

A position is four words of 32 bits in the mover's frame; `jaxgames.games.checkers.rules` draws the squares and numbers
the actions. All numbers are integers of at most 62 bits.

    own         the mover's pieces
    opponents   the opponent's pieces
    kings       the kings of both
    jumper      the square of the piece that must jump again; 0 at the beginning of a turn
"""

from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits

MAX_MOVES = 128  # of a position, and the number of actions
FULL_BOARD = 0xFFFFFFFF
KING_ROW = 0x0000000F  # row 0, where the mover's men are crowned

# What an action was.
KING_STEP, MAN_STEP, JUMP = 0, 1, 2


# -- sets of squares ---------------------------------------------------------------------------------------------------
# Each half of a shift leaves out the squares at the edge, from which the step would leave the board. Even rows begin at
# column 1, odd rows at column 0.


@compiled
def up_right(word: int) -> int:
    """Returns the squares one step up and to the right."""
    return (word & 0x07070707) >> 3 | (word & 0xF0F0F0F0) >> 4


@compiled
def down_right(word: int) -> int:
    """Returns the squares one step down and to the right."""
    return (word & 0x07070707) << 5 | (word & 0x00F0F0F0) << 4


@compiled
def down_left(word: int) -> int:
    """Returns the squares one step down and to the left."""
    return (word & 0x0F0F0F0F) << 4 | (word & 0x00E0E0E0) << 3


@compiled
def up_left(word: int) -> int:
    """Returns the squares one step up and to the left."""
    return (word & 0x0F0F0F0F) >> 4 | (word & 0xE0E0E0E0) >> 5


@compiled
def shifted(word: int, direction: int) -> int:
    """Returns the squares one step in a direction."""
    if direction == 0:
        return up_right(word)
    if direction == 1:
        return down_right(word)
    if direction == 2:
        return down_left(word)
    return up_left(word)


@compiled
def rotated(word: int) -> int:
    """Returns the squares after a rotation of the board by 180 degrees: index i becomes 31 - i."""
    word = word >> 1 & 0x55555555 | (word & 0x55555555) << 1
    word = word >> 2 & 0x33333333 | (word & 0x33333333) << 2
    word = word >> 4 & 0x0F0F0F0F | (word & 0x0F0F0F0F) << 4
    word = word >> 8 & 0x00FF00FF | (word & 0x00FF00FF) << 8
    return word >> 16 | (word & 0x0000FFFF) << 16


# -- moves -------------------------------------------------------------------------------------------------------------


@compiled
def jump_sources(own: int, opponents: int, kings: int, movers: int) -> tuple[int, int, int, int]:
    """Returns four sets: by direction, the squares from which a piece of `movers` can jump."""
    empty = ~(own | opponents) & FULL_BOARD
    movers_kings = movers & kings
    return (
        movers & down_left(opponents & down_left(empty)),
        movers_kings & up_left(opponents & up_left(empty)),
        movers_kings & up_right(opponents & up_right(empty)),
        movers & down_right(opponents & down_right(empty)),
    )


@compiled
def opponent_can_jump(own: int, opponents: int, kings: int) -> bool:
    """Returns whether the opponent could capture if it were to move. Its men go down in the mover's frame."""
    empty = ~(own | opponents) & FULL_BOARD
    sources = opponents & (up_right(own & up_right(empty)) | up_left(own & up_left(empty)))
    sources |= opponents & kings & (down_right(own & down_right(empty)) | down_left(own & down_left(empty)))
    return sources != 0


@compiled
def step_sources(own: int, opponents: int, kings: int) -> tuple[int, int, int, int]:
    """Returns four sets: by direction, the squares from which the mover can step."""
    empty = ~(own | opponents) & FULL_BOARD
    own_kings = own & kings
    return (
        own & down_left(empty),
        own_kings & up_left(empty),
        own_kings & up_right(empty),
        own & down_right(empty),
    )


@compiled
def legal_sources(own: int, opponents: int, kings: int, jumper: int) -> tuple[int, int, int, int]:
    """Returns four sets: by direction, the squares from which the mover may move. Captures are compulsory."""
    sources = jump_sources(own, opponents, kings, jumper if jumper != 0 else own)
    if sources[0] | sources[1] | sources[2] | sources[3] != 0:
        return sources
    return step_sources(own, opponents, kings)


@compiled
def write_moves(sources: tuple[int, int, int, int], moves: Ints, begin: int) -> int:
    """Writes the actions from four sets of squares to moves[begin:], and returns their number."""
    end = begin
    for direction in range(4):
        left = sources[direction]
        while left != 0:
            first = left & -left
            moves[end] = 4 * count_bits(first - 1) + direction
            end += 1
            left ^= first
    return end - begin


@compiled
def moved(own: int, opponents: int, kings: int, action: int) -> tuple[int, int, int, int, int]:
    """Returns the words of the position after a legal action, and KING_STEP, MAN_STEP or JUMP.

    A jumper other than 0 means that the mover moves again, in the same frame. Otherwise the words are in the frame of
    the opponent, whose turn begins.
    """
    direction = action & 3
    square = 1 << (action >> 2)
    to = shifted(square, direction)
    captured = to & opponents
    if captured != 0:
        to = shifted(captured, direction)
    is_man = square & kings == 0
    is_crowned = is_man and to & KING_ROW != 0
    own = own ^ square | to
    opponents ^= captured
    kings &= ~(square | captured)
    if not is_man or is_crowned:
        kings |= to
    if captured != 0 and not is_crowned:
        jumps = jump_sources(own, opponents, kings, to)
        if jumps[0] | jumps[1] | jumps[2] | jumps[3] != 0:
            return own, opponents, kings, to, JUMP
    kind = JUMP if captured != 0 else MAN_STEP if is_man else KING_STEP
    return rotated(opponents), rotated(own), rotated(kings), 0, kind
