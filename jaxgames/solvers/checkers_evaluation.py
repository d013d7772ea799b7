"""The evaluation of a position of checkers without a search, in hundredths of a man."""

from jaxgames.solvers._numba import Ints, compiled
from jaxgames.solvers.checkers_moves import size

ROW_1 = 0xF0F0F0F0
ROW_2 = 0xFF00FF00
ROW_4 = 0xFFFF0000
CENTRE = 0x00666600

MAN, KING, ADVANCE, BACK, KINGC, TRADE, TURN, EDGE = range(8)
WEIGHTS = {"material": [100, 150, 2, 0, 0, 0, 0, 0], "positional": [100, 150, 2, 0, 0, 0, 0, 0]}


@compiled
def evaluation(weights: Ints, own: int, opponents: int, kings: int) -> int:
    """Returns the value of a position for the mover."""
    men, their_men = own & ~kings, opponents & ~kings
    n, m = size(men), size(their_men)
    k, k2 = size(own & kings), size(opponents & kings)
    # rows: own row r is 7 - row index
    adv = 7 * n - (size(men & ROW_1) + 2 * size(men & ROW_2) + 4 * size(men & ROW_4))
    their = size(their_men & ROW_1) + 2 * size(their_men & ROW_2) + 4 * size(their_men & ROW_4)
    value = weights[MAN] * (n - m) + weights[KING] * (k - k2) + weights[ADVANCE] * (adv - their)
    if weights[BACK] != 0:
        value += weights[BACK] * (size(men & 0xF0000000) - size(their_men & 0xF))
    if weights[KINGC] != 0:
        value += weights[KINGC] * (size(own & kings & CENTRE) - size(opponents & kings & CENTRE))
    if weights[EDGE] != 0:
        value += weights[EDGE] * (size(men & 0x18181818) - size(their_men & 0x18181818))
    lead = 2 * (n - m) + 3 * (k - k2)
    if weights[TRADE] != 0 and lead != 0:
        value += (
            weights[TRADE] * lead // (n + m + k + k2) if lead > 0 else -(weights[TRADE] * -lead // (n + m + k + k2))
        )
    return value + weights[TURN]
