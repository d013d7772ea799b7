"""The static evaluation of a position of 5 x 5 chess, in hundredths of a pawn.

It is a sum over the mover's pieces, less the same sum over the opponent's pieces. WEIGHTS has the weights of two
evaluations. "material" has the values of the pieces that the env has for its rewards of material. "positional" adds
what wins more games between searches of the same depth; docs/games/minichess.md has the results.

A king counts only where a side can have several, under the rule that kings are captured.
"""

from jaxgames.games.minichess.board import VALUES
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits
from jaxgames.solvers.minichess.moves import PAWN, Pieces, Tables, attacks, kind_on, occupied_cells

# Places in a list of weights. Places 1 to 6 have the kinds of the pieces.
RANKS = 7  # for each rank that a pawn has advanced
ATTACKS = 8  # for each cell that a piece attacks
CENTRE = 9  # for each piece on the 9 cells in the centre

SPARE_KING = 2000
PIECES = [0, *VALUES[:5], SPARE_KING]
WEIGHTS = {"material": [*PIECES, 0, 0, 0], "positional": [*PIECES, 10, 4, 5]}
CENTRE_CELLS = 0x0739C0


@compiled
def evaluation(weights: Ints, tables: Tables, pieces: Pieces) -> int:
    """Returns the static evaluation of a position for the mover."""
    own, occupied = pieces.own, occupied_cells(pieces)
    total = 0
    left = occupied
    while left != 0:
        first = left & -left
        left ^= first
        cell = count_bits(first - 1)
        kind = kind_on(pieces, cell)
        worth = weights[kind]
        rank = cell % 5 if own & first != 0 else 4 - cell % 5
        if kind == PAWN:
            worth += weights[RANKS] * (rank - 1)
        if weights[ATTACKS] != 0 and kind != PAWN:
            worth += weights[ATTACKS] * count_bits(attacks(tables, cell, kind, occupied))
        if first & CENTRE_CELLS != 0:
            worth += weights[CENTRE]
        total += worth if own & first != 0 else -worth
    return total
