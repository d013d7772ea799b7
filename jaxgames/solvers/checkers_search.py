"""Alpha-beta search of checkers to a limited depth.

The value of a position for the mover, with `depth` levels to go, in hundredths of a man:

    over                        a loss -(WIN - plies), a draw or the limit of plies 0; plies are those since the root
    no level left, no capture   the evaluation of jaxgames/solvers/checkers_evaluation.py; see below for threats
    otherwise                   the best of all moves: the value for the same mover while its capture goes on, minus
                                the value for the opponent after a whole turn

A whole turn takes one level, with all jumps of its capture. Captures are compulsory. So without a level left the search
goes on where the mover must capture, and no position is valued in the middle of an exchange. It also goes on for one
turn where the last level ends with the opponent threatening to capture. A win is worth more the sooner it comes.

Everything that follows changes the work and not the value:

1. Alpha-beta windows. All moves after the first are tried with an empty window first (principal variation search).
2. A table of the positions at the beginnings of turns; in none of them must a piece jump again. An entry holds the
   whole position, so no two are confused, and it is used for the same number of levels only. The plies without progress
   belong to the position if the draw can come within those levels, and so do the plies that are left if the limit can.
   A win or a loss is stored by its distance from the position, not from the root.
3. The order of moves: that of the table, those that were best beside this position ("killers"), and those that were
   often best elsewhere (history).

Sources: Knuth and Moore, An Analysis of Alpha-Beta Pruning, 1975; Marsland and Campbell, Parallel Search of Strongly
Ordered Game Trees, 1982 (principal variation search); Schaeffer, The History Heuristic, 1989; Akl and Newborn, The
Principal Continuation and the Killer Heuristic, 1977.
"""

from typing import NamedTuple

from jaxgames.solvers._numba import Ints, compiled, ints
from jaxgames.solvers.checkers_evaluation import evaluation
from jaxgames.solvers.checkers_moves import (
    JUMP,
    MAN_STEP,
    MAX_MOVES,
    jump_sources,
    moved,
    opponent_can_jump,
    step_sources,
    write_moves,
)

MAX_DEPTH = 64
MAX_CAPTURES = 32  # each removes a piece
MAX_PLIES = MAX_DEPTH + 1 + MAX_CAPTURES  # of a line: each turn without a capture takes a level, but for one
WIN = 100_000  # a win at the root, in hundredths of a man
LEAST_WIN = WIN - 1_000  # above every evaluation, below every win
LOWEST = -2 * WIN
NO_LIMIT = 1 << 40  # of nodes, or of plies

# Places in `Search.counts`.
NODES = 0
MAX_NODES = 1  # a search that exceeds it returns any value
DRAW_AT = 2  # plies without progress that make a draw
MEN_PROGRESS = 3  # 1 if a man's step is progress
DRAW_FIRST = 4  # 1 if a draw comes before a win in the same ply
PLIES_LEFT = 5  # of the game at the root
MOVE_NUMBER = 6  # entries of the table with another number are out of date

# An entry of the table: two words of the position, and one that is made of the following parts, the last one lowest.
NUMBERS = 1 << 26  # of the searched move
VALUES = 1 << 19
EXACT, LOWER, UPPER = 0, 1, 2  # what the value is; as parts of BOUNDS
BOUNDS = 4
DEPTHS = 128
ACTIONS = 128

ENTRY = 3  # words

# Scores that order moves.
KILLER_SCORE = 1 << 30
TABLE_SCORE = 1 << 31
MAX_HISTORY = 1 << 24


class Search(NamedTuple):
    """Work space of `value_of`."""

    moves: Ints  # [(MAX_PLIES + 1) * MAX_MOVES], of the positions of a line, each as score * ACTIONS + action
    killers: Ints  # [2 * (MAX_PLIES + 2)], two actions for each number of plies since the root
    history: Ints  # [ACTIONS], how often an action was the best one
    counts: Ints  # [7], see above
    weights: Ints  # of the evaluation
    table: Ints  # [ENTRY * size], the size a power of two, or 0 for no table


def make_search(weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    sizes = ((MAX_PLIES + 1) * MAX_MOVES, 2 * (MAX_PLIES + 2), ACTIONS, 7)
    moves, killers, history, counts = (ints([0] * number, compiled) for number in sizes)
    return Search(moves, killers, history, counts, ints(weights, compiled), ints([0] * ENTRY * table_size, compiled))


@compiled
def value_of(
    search: Search,
    own: int,
    opponents: int,
    kings: int,
    jumper: int,
    quiet: int,
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
      own, opponents, kings, jumper: the position; see jaxgames/solvers/checkers_moves.py.
      quiet: plies since the last progress.
      plies: plies since the root.
      depth: levels to go.
      alpha, beta: the window.
      begin: the first free place of `search.moves`.
    """
    counts, moves = search.counts, search.moves
    counts[NODES] += 1
    if counts[NODES] > counts[MAX_NODES]:
        return 0
    sources = jump_sources(own, opponents, kings, jumper if jumper != 0 else own)
    must_jump = sources[0] | sources[1] | sources[2] | sources[3] != 0
    if not must_jump:
        sources = step_sources(own, opponents, kings)
    cannot_move = sources[0] | sources[1] | sources[2] | sources[3] == 0
    is_drawn = quiet >= counts[DRAW_AT]
    if cannot_move and not (is_drawn and counts[DRAW_FIRST] == 1):
        return plies - WIN
    if is_drawn or plies >= counts[PLIES_LEFT]:
        return 0
    if depth <= 0 and not must_jump and not (depth == 0 and opponent_can_jump(own, opponents, kings)):
        return evaluation(search.weights, own, opponents, kings)

    place, first_word, second_word, table_action = -1, 0, 0, -1
    if depth > 0 and jumper == 0 and len(search.table) > 0:
        of_quiet = quiet if quiet + depth + 1 >= counts[DRAW_AT] else 0
        plies_left = counts[PLIES_LEFT] - plies
        of_plies = plies_left if plies_left <= depth + 1 + MAX_CAPTURES else 0
        first_word = own | (opponents & 0x3FFFFFFF) << 32
        second_word = kings | (opponents >> 30 | of_quiet << 2 | of_plies << 9) << 32
        place = place_of(search.table, first_word, second_word)
        entry = search.table[place + 2]
        if (
            search.table[place] == first_word
            and search.table[place + 1] == second_word
            and entry // (VALUES * BOUNDS * DEPTHS * ACTIONS) == counts[MOVE_NUMBER]
        ):
            table_action = entry % ACTIONS
            if entry // ACTIONS % DEPTHS == depth:
                bound = entry // (ACTIONS * DEPTHS) % BOUNDS
                value = from_root(entry // (ACTIONS * DEPTHS * BOUNDS) % VALUES - VALUES // 2, plies)
                if bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha):
                    return value

    number = write_moves(sources, moves, begin)
    end = begin + number
    if number > 1:
        score_moves(search, begin, end, plies, table_action)
    best, best_action = LOWEST, 0
    for current in range(begin, end):
        action = next_move(moves, current, end)
        next_own, next_opponents, next_kings, jumps_on, kind = moved(own, opponents, kings, action)
        next_quiet = quiet_after(search, quiet, kind)
        low = max(alpha, best)
        high = beta if current == begin else low + 1
        while True:
            # No argument is a literal: numba would compile the function again for each, and its cache cannot hold
            # several versions that call each other.
            if jumps_on != 0:
                value = value_of(
                    search, next_own, next_opponents, next_kings, jumps_on, next_quiet, plies + 1, depth, low, high, end
                )
            else:
                value = -value_of(
                    search,
                    next_own,
                    next_opponents,
                    next_kings,
                    jumps_on,
                    next_quiet,
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
                if not must_jump:
                    reward_move(search, action, plies, depth)
                break
    if place >= 0:
        bound = LOWER if best >= beta else UPPER if best <= alpha else EXACT
        search.table[place] = first_word
        search.table[place + 1] = second_word
        entry = counts[MOVE_NUMBER] * VALUES + from_position(best, plies) + VALUES // 2
        search.table[place + 2] = ((entry * BOUNDS + bound) * DEPTHS + depth) * ACTIONS + best_action
    return best


@compiled
def quiet_after(search: Search, quiet: int, kind: int) -> int:
    """Returns the plies without progress after a KING_STEP, MAN_STEP or JUMP."""
    is_progress = kind == JUMP or (kind == MAN_STEP and search.counts[MEN_PROGRESS] == 1)
    return 0 if is_progress else quiet + 1


# -- the table ---------------------------------------------------------------------------------------------------------


@compiled
def place_of(table: Ints, first_word: int, second_word: int) -> int:
    """Returns the first word of the entry of a position."""
    mixed = (first_word ^ second_word * 0x1C69B3F74AC4AE35) * 0x1E3779B97F4A7C15 >> 32
    return ENTRY * (mixed & (len(table) // ENTRY - 1))


@compiled
def from_position(value: int, plies: int) -> int:
    """Returns a value with wins and losses by their distance from the position, which is some plies from the root."""
    if value >= LEAST_WIN:
        return value + plies
    return value - plies if value <= -LEAST_WIN else value


@compiled
def from_root(value: int, plies: int) -> int:
    """Returns a value with wins and losses by their distance from the root, the inverse of `from_position`."""
    if value >= LEAST_WIN:
        return value - plies
    return value + plies if value <= -LEAST_WIN else value


# -- the order of moves ------------------------------------------------------------------------------------------------


@compiled
def score_moves(search: Search, begin: int, end: int, plies: int, table_action: int) -> None:
    """Adds their scores to the actions in moves[begin:end]; a higher score is to be tried first."""
    moves, killers = search.moves, search.killers
    for place in range(begin, end):
        action = moves[place]
        score = search.history[action]
        if action == table_action:
            score += TABLE_SCORE
        elif action == killers[2 * plies] or action == killers[2 * plies + 1]:
            score += KILLER_SCORE
        moves[place] = score * ACTIONS + action


@compiled
def next_move(moves: Ints, place: int, end: int) -> int:
    """Returns the action of the highest score in moves[place:end], after it was brought to moves[place]."""
    best = place
    for other in range(place + 1, end):
        if moves[other] > moves[best]:
            best = other
    moves[place], moves[best] = moves[best], moves[place]
    return moves[place] % ACTIONS


@compiled
def reward_move(search: Search, action: int, plies: int, depth: int) -> None:
    """Notes an action that needed no other beside it."""
    killers, history = search.killers, search.history
    if killers[2 * plies] != action:
        killers[2 * plies + 1] = killers[2 * plies]
        killers[2 * plies] = action
    history[action] = min(MAX_HISTORY, history[action] + depth * depth)


@compiled
def start_move(search: Search) -> None:
    """Forgets everything that earlier searches have left."""
    counts = search.counts
    for place in range(len(search.killers)):
        search.killers[place] = -1
    for place in range(len(search.history)):
        search.history[place] = 0
    counts[MOVE_NUMBER] += 1
    if counts[MOVE_NUMBER] == NUMBERS:
        counts[MOVE_NUMBER] = 1
        for place in range(len(search.table)):
            search.table[place] = 0
