"""The evaluation of a position of checkers without a search, in hundredths of a man.

Each part is a weight times the mover's number less the opponent's. WEIGHTS has the weights of two evaluations.
"material" counts the pieces and how far the men have advanced. "positional" adds what wins more games between searches
of the same depth; docs/games/checkers.md has the results.
"""

from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits

# Places in a list of weights.
MAN = 0
KING = 1
ADVANCED_ROW = 2  # for each man and each row that it has advanced
BACK_ROW = 3  # for each man on its first row, where it keeps the opponent from crowning
EDGE = 4  # for each man on a column at the edge, where it cannot be captured
CENTRAL_KING = 5  # for each king in the centre
EXCHANGE = 6  # divided by the number of all pieces, for each half man of a lead: exchanges help the side that is ahead

WEIGHTS = {
    "material": [100, 150, 2, 0, 0, 0, 0],
    "positional": [100, 150, 1, 20, 4, 20, 150],
}

# Squares in the frame of either side: EDGE_COLUMNS and CENTRE are the same after a rotation of the board.
FIRST_ROW = 0xF0000000  # row 7, the mover's first
LAST_ROW = 0x0000000F  # row 0, the opponent's first
EDGE_COLUMNS = 0x18181818
CENTRE = 0x00666600
ODD_ROWS, ROWS_WITH_2, ROWS_WITH_4 = 0xF0F0F0F0, 0xFF00FF00, 0xFFFF0000  # rows by the bits of their number


@compiled
def evaluation(weights: Ints, own: int, opponents: int, kings: int) -> int:
    """Returns the value of a position for the mover."""
    men, their_men = own & ~kings, opponents & ~kings
    own_kings, their_kings = own & kings, opponents & kings
    num_men, num_their_men = count_bits(men), count_bits(their_men)
    num_kings, num_their_kings = count_bits(own_kings), count_bits(their_kings)
    lead = 2 * (num_men - num_their_men) + 3 * (num_kings - num_their_kings)
    exchange = weights[EXCHANGE] * abs(lead) // (num_men + num_their_men + num_kings + num_their_kings)
    # The mover's men begin on row 7, the opponent's on row 0.
    advanced = 7 * num_men - sum_of_rows(men) - sum_of_rows(their_men)
    return (
        weights[MAN] * (num_men - num_their_men)
        + weights[KING] * (num_kings - num_their_kings)
        + weights[ADVANCED_ROW] * advanced
        + weights[BACK_ROW] * (count_bits(men & FIRST_ROW) - count_bits(their_men & LAST_ROW))
        + weights[EDGE] * (count_bits(men & EDGE_COLUMNS) - count_bits(their_men & EDGE_COLUMNS))
        + weights[CENTRAL_KING] * (count_bits(own_kings & CENTRE) - count_bits(their_kings & CENTRE))
        + (exchange if lead > 0 else -exchange)
    )


@compiled
def sum_of_rows(word: int) -> int:
    """Returns the sum of the rows of the squares of a set."""
    return count_bits(word & ODD_ROWS) + 2 * count_bits(word & ROWS_WITH_2) + 4 * count_bits(word & ROWS_WITH_4)
