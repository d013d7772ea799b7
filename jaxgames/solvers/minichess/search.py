"""Alpha-beta search of 5 x 5 chess to a limited depth.

The value of a position for the mover, with `depth` levels to go, in hundredths of a pawn:

    over                   a loss -(WIN - plies), a draw or the limit of plies 0; plies are those since the root
    depth > 0              the best of all moves: minus the value for the opponent with a level less
    depth = 0, in check    the same
    otherwise              the best of the evaluation of jaxgames/solvers/minichess/evaluation.py, which stands for a
                           quiet move, and of the captures and of the pawns that become queens

A level is one move. The mover is in check if a piece of the opponent attacks its king, also under the rule that kings
are captured. Ends are those of the game: mate, stalemate, the third occurrence of a position, 100 quiet plies,
insufficient material, a captured king, no move, the limit of plies. A quiet ply is neither a capture nor a pawn's move.

Everything that follows changes the work and not the value:

1. Alpha-beta windows. All moves after the first are tried with an empty window first (principal variation search).
2. The table of jaxgames/solvers/alphabeta/table.py, above level 0. The quiet plies belong to the position if the draw
   can come within its levels, and so do the plies that are left if the limit can. Earlier positions do not belong to
   it. So the table is left out where a third occurrence can come within the levels: see `can_occur_again`.
3. The order of moves: that of the table, captures (the most valuable piece first, by the least valuable one), those
   that were best beside this position, and those that were often best elsewhere.

Sources: Knuth and Moore, An Analysis of Alpha-Beta Pruning, 1975; Marsland and Campbell, Parallel Search of Strongly
Ordered Game Trees, 1982 (principal variation search).
"""

from typing import NamedTuple

from jaxgames.games.minichess import QUIET_LIMIT
from jaxgames.games.minichess_board import MULTIPLIERS
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, ints
from jaxgames.solvers.alphabeta.table import (
    ACTIONS,
    ENTRY,
    KILLER_SCORE,
    LOWEST,
    MAX_DEPTH,
    WIN,
    action_in,
    decides,
    entry_of,
    found_entry,
    next_move,
    order_score,
    place_of,
    reward_move,
    start_search,
    value_in,
)
from jaxgames.solvers.minichess.evaluation import evaluation
from jaxgames.solvers.minichess.moves import (
    MAX_MOVES,
    NUM_ACTIONS,
    NUM_PLANES,
    PAWN,
    QUEEN,
    Tables,
    cannot_mate,
    is_legal,
    kind_on,
    king_is_attacked,
    make_tables,
    moved,
    turned,
    write_moves,
)

MAX_NOISY = 48  # captures and promotions of a line: each removes a piece or a pawn
MAX_PLIES = MAX_DEPTH + 1 + MAX_NOISY  # of a line
OCCURRENCE = 4  # plies at least between two occurrences of a position: both players leave and return

# Places in `Search.counts`.
NODES = 0
MAX_NODES = 1  # a search that exceeds it returns any value
KING_CAPTURE = 2  # 1 if kings are captured
DOUBLE_STEP = 3  # 1 if a pawn on its second rank may go two cells
QUEEN_ONLY = 4  # 1 if a pawn can become only a queen
PLIES_LEFT = 5  # of the game at the root
ROOT_QUIET = 6  # quiet plies at the root
MOVE_NUMBER = 7  # entries of the table with another number are out of date


class Search(NamedTuple):
    """Work space of `value_of`."""

    tables: Tables
    moves: Ints  # [(MAX_PLIES + 1) * MAX_MOVES], of the positions of a line, each as score * ACTIONS + action
    killers: Ints  # [2 * (MAX_PLIES + 2)], two actions for each number of plies since the root
    history: Ints  # [NUM_ACTIONS], how often an action was the best one
    counts: Ints  # [8], see above
    weights: Ints  # of the evaluation
    table: Ints  # [ENTRY * size], the size a power of two, or 0 for no table
    hashes: Ints  # [QUIET_LIMIT + MAX_PLIES], of the quiet plies before the root, of the root, of the line after it
    multipliers: Ints  # [10], of the hash


def make_search(weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    sizes = ((MAX_PLIES + 1) * MAX_MOVES, 2 * (MAX_PLIES + 2), NUM_ACTIONS, 8)
    moves, killers, history, counts = (ints([0] * number, compiled) for number in sizes)
    return Search(
        make_tables(compiled),
        moves,
        killers,
        history,
        counts,
        ints(weights, compiled),
        ints([0] * ENTRY * table_size, compiled),
        ints([0] * (QUIET_LIMIT + MAX_PLIES), compiled),
        ints(MULTIPLIERS.ravel(), compiled),
    )


@compiled
def value_of(
    search: Search,
    own: int,
    ones: int,
    twos: int,
    fours: int,
    quiet: int,
    repeats: int,
    plies: int,
    depth: int,
    alpha: int,
    beta: int,
    begin: int,
) -> int:
    """Returns the value of a position for the mover, with `depth` levels to go.

    It is exact within the window (alpha, beta); below or above it, it is a bound. It is any number if counts[NODES] is
    above counts[MAX_NODES] afterwards.

    Args:
      search: work space; moves[begin:] is overwritten.
      own, ones, twos, fours: the position; see jaxgames/solvers/minichess/moves.py.
      quiet: quiet plies up to the position.
      repeats: 1 if a position of these plies occurred before.
      plies: plies since the root.
      depth: levels to go; below 0 only captures and promotions are tried.
      alpha, beta: the window.
      begin: the first free place of `search.moves`.
    """
    counts, moves, tables = search.counts, search.moves, search.tables
    counts[NODES] += 1
    if counts[NODES] > counts[MAX_NODES]:
        return 0
    king_capture = counts[KING_CAPTURE] == 1
    if king_capture and own & twos & fours == 0:
        return plies - WIN
    times = 0 if king_capture else occurrences(search, own, ones, twos, fours, quiet, plies)
    repeats = 1 if times > 0 or (repeats == 1 and quiet > 0) else 0
    is_drawn = is_draw(search, ones, twos, fours, quiet, times, plies)
    only_noisy = depth < 0 or (depth == 0 and not king_is_attacked(tables, own, ones, twos, fours))
    if (is_drawn or only_noisy) and not has_move(search, own, ones, twos, fours, begin):
        return value_without_move(search, own, ones, twos, fours, plies)
    if is_drawn:
        return 0
    best, best_action = LOWEST, 0
    if only_noisy:
        best = evaluation(search.weights, tables, own, ones, twos, fours)
        if best >= beta:
            return best

    place, first_word, second_word, table_action = -1, 0, 0, -1
    if depth > 0 and len(search.table) > 0 and (king_capture or not can_occur_again(repeats, quiet, depth)):
        first_word, second_word = table_words(search, own, ones, twos, fours, quiet, plies, depth)
        place = place_of(search.table, first_word, second_word)
        entry = found_entry(search.table, place, first_word, second_word, counts[MOVE_NUMBER])
        if entry >= 0:
            table_action = action_in(entry)
            if decides(entry, plies, depth, alpha, beta):
                return value_in(entry, plies)

    noisy = 1 if only_noisy else 0
    number = write_moves(tables, own, ones, twos, fours, counts[DOUBLE_STEP], counts[QUEEN_ONLY], noisy, moves, begin)
    end = begin + number
    score_moves(search, own, ones, twos, fours, begin, end, plies, table_action)
    num_tried = 0
    for current in range(begin, end):
        action = next_move(moves, current, end)
        if not king_capture and not is_legal(tables, own, ones, twos, fours, action):
            continue
        num_tried += 1
        next_own, next_ones, next_twos, next_fours, is_irreversible = moved(tables, own, ones, twos, fours, action)
        next_own, next_ones, next_twos, next_fours = turned(next_own, next_ones, next_twos, next_fours)
        next_quiet = 0 if is_irreversible else quiet + 1
        low = max(alpha, best)
        high = beta if num_tried == 1 else low + 1
        while True:
            value = -value_of(
                search,
                next_own,
                next_ones,
                next_twos,
                next_fours,
                next_quiet,
                repeats,
                plies + 1,
                depth - 1,
                -high,
                -low,
                end,
            )
            if high >= beta or value < high:
                break
            high = beta
        if counts[NODES] > counts[MAX_NODES]:
            return 0
        if value > best:
            best, best_action = value, action
            if best >= beta:
                if not only_noisy and not is_noisy(search, ones, twos, fours, action):
                    reward_move(search.killers, search.history, action, plies, depth)
                break
    if num_tried == 0 and not only_noisy:
        return value_without_move(search, own, ones, twos, fours, plies)
    if place >= 0:
        search.table[place] = first_word
        search.table[place + 1] = second_word
        search.table[place + 2] = entry_of(counts[MOVE_NUMBER], best, plies, alpha, beta, depth, best_action)
    return best


@compiled
def is_draw(search: Search, ones: int, twos: int, fours: int, quiet: int, times: int, plies: int) -> bool:
    """Returns whether a position in which the mover has a move is a draw; `times` is how often it occurred before."""
    if plies >= search.counts[PLIES_LEFT]:
        return True
    if search.counts[KING_CAPTURE] == 1:
        return False
    return times >= 2 or quiet >= QUIET_LIMIT or cannot_mate(ones, twos, fours)


@compiled
def table_words(
    search: Search, own: int, ones: int, twos: int, fours: int, quiet: int, plies: int, depth: int
) -> tuple[int, int]:
    """Returns the two words of a position in the table, with the plies until a draw or the limit that can come."""
    counts = search.counts
    of_quiet = quiet if counts[KING_CAPTURE] == 0 and quiet + depth + 1 >= QUIET_LIMIT else 0
    plies_left = counts[PLIES_LEFT] - plies
    of_plies = plies_left if plies_left <= depth + 1 + MAX_NOISY else 0
    return own | ones << 25 | of_quiet << 50, twos | fours << 25 | of_plies << 50


@compiled
def has_move(search: Search, own: int, ones: int, twos: int, fours: int, begin: int) -> bool:
    """Returns whether the mover has a legal move. `search.moves[begin:]` is overwritten."""
    counts, moves, tables = search.counts, search.moves, search.tables
    noisy = 0
    number = write_moves(tables, own, ones, twos, fours, counts[DOUBLE_STEP], counts[QUEEN_ONLY], noisy, moves, begin)
    if counts[KING_CAPTURE] == 1:
        return number > 0
    for place in range(begin, begin + number):  # noqa: SIM110  # numba compiles no generators
        if is_legal(tables, own, ones, twos, fours, moves[place]):
            return True
    return False


@compiled
def value_without_move(search: Search, own: int, ones: int, twos: int, fours: int, plies: int) -> int:
    """Returns the value of a position in which the mover has no move: a loss if that is mate, else 0."""
    is_mate = search.counts[KING_CAPTURE] == 0 and king_is_attacked(search.tables, own, ones, twos, fours)
    return plies - WIN if is_mate else 0


# -- repetition --------------------------------------------------------------------------------------------------------


@compiled
def hash_of(multipliers: Ints, own: int, ones: int, twos: int, fours: int) -> int:
    """Returns 62 bits of `jaxgames.games.minichess_board.hashed`, the lower half first."""
    low = high = 0
    for number in range(5):
        word = 0
        if number == 0:
            word = own
        elif number == 1:
            word = ones
        elif number == 2:
            word = twos
        elif number == 3:
            word = fours
        low = ((low ^ word) * multipliers[2 * number]) & 0xFFFFFFFF
        low ^= low >> 15
        high = ((high ^ word) * multipliers[2 * number + 1]) & 0xFFFFFFFF
        high ^= high >> 15
    return low | (high & 0x3FFFFFFF) << 32


@compiled
def occurrences(search: Search, own: int, ones: int, twos: int, fours: int, quiet: int, plies: int) -> int:
    """Returns how often the position occurred in the quiet plies before it, and notes its hash for those after it."""
    hashes = search.hashes
    place = search.counts[ROOT_QUIET] + plies
    here = hash_of(search.multipliers, own, ones, twos, fours)
    hashes[place] = here
    times = 0
    for earlier in range(place - OCCURRENCE, place - quiet - 1, -2):
        if hashes[earlier] == here:
            times += 1
    return times


@compiled
def can_occur_again(repeats: int, quiet: int, depth: int) -> bool:
    """Returns whether a third occurrence can come at most depth + 1 plies after a position.

    With a position that has occurred twice in the quiet plies up to here, it can. Otherwise one of the last positions
    must occur a second time first. The third occurrence comes OCCURRENCE plies later, or more.
    """
    return repeats == 1 or depth + 1 >= 2 * OCCURRENCE - min(quiet, OCCURRENCE - 1)


# -- the order of moves ------------------------------------------------------------------------------------------------


@compiled
def is_noisy(search: Search, ones: int, twos: int, fours: int, action: int) -> bool:
    """Returns whether an action is a capture or makes a queen or another piece of a pawn."""
    to = search.tables.targets[action]
    is_capture = (ones | twos | fours) >> to & 1 != 0
    return is_capture or (to % 5 == 4 and kind_on(ones, twos, fours, action // NUM_PLANES) == PAWN)


@compiled
def score_moves(
    search: Search, own: int, ones: int, twos: int, fours: int, begin: int, end: int, plies: int, table_action: int
) -> None:
    """Adds their scores to the actions in moves[begin:end]; a higher score is to be tried first."""
    moves, targets = search.moves, search.tables.targets
    for place in range(begin, end):
        action = moves[place]
        victim = kind_on(ones, twos, fours, targets[action])
        cell = action // NUM_PLANES
        kind = kind_on(ones, twos, fours, cell)
        if kind == PAWN and targets[action] % 5 == 4 and action % NUM_PLANES >= 9:
            victim = max(victim, QUEEN)
        if victim > 0 and action != table_action:
            score = KILLER_SCORE + 16 * victim - kind
        else:
            score = order_score(search.killers, search.history, action, plies, table_action)
        moves[place] = score * ACTIONS + action


@compiled
def start_move(search: Search) -> None:
    """Forgets everything that earlier searches have left."""
    start_search(search.killers, search.history, search.table, search.counts, MOVE_NUMBER)
