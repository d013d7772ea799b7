"""Alpha-beta search of checkers to a limited depth.

The value of a position for the mover, with `depth` levels to go, in hundredths of a man:

    over                        a loss -(WIN - plies), a draw or the limit of plies 0; plies are those since the root
    no level left, no capture   the evaluation of jaxgames/solvers/checkers/evaluation.py; see below for threats
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

from jaxgames.solvers.alphabeta.compiled import Ints, compiled, ints
from jaxgames.solvers.alphabeta.table import (
    ACTIONS,
    ENTRY,
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
from jaxgames.solvers.checkers.evaluation import evaluation
from jaxgames.solvers.checkers.moves import (
    JUMP,
    MAN_STEP,
    MAX_MOVES,
    jump_sources,
    moved,
    opponent_can_jump,
    step_sources,
    write_moves,
)

MAX_CAPTURES = 32  # each removes a piece
MAX_PLIES = MAX_DEPTH + 1 + MAX_CAPTURES  # of a line: each turn without a capture takes a level, but for one
NUM_ACTIONS = 128

# Places in `Search.counts`.
NODES = 0
MAX_NODES = 1  # a search that exceeds it returns any value
DRAW_AT = 2  # plies without progress that make a draw
MEN_PROGRESS = 3  # 1 if a man's step is progress
DRAW_FIRST = 4  # 1 if a draw comes before a win in the same ply
PLIES_LEFT = 5  # of the game at the root
MOVE_NUMBER = 6  # entries of the table with another number are out of date


class Search(NamedTuple):
    """Work space of `value_of`."""

    moves: Ints  # [(MAX_PLIES + 1) * MAX_MOVES], of the positions of a line, each as score * ACTIONS + action
    killers: Ints  # [2 * (MAX_PLIES + 2)], two actions for each number of plies since the root
    history: Ints  # [NUM_ACTIONS], how often an action was the best one
    counts: Ints  # [7], see above
    weights: Ints  # of the evaluation
    table: Ints  # [ENTRY * size], the size a power of two, or 0 for no table


def make_search(weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    sizes = ((MAX_PLIES + 1) * MAX_MOVES, 2 * (MAX_PLIES + 2), NUM_ACTIONS, 7)
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
      own, opponents, kings, jumper: the position; see jaxgames/solvers/checkers/moves.py.
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
        entry = found_entry(search.table, place, first_word, second_word, counts[MOVE_NUMBER])
        if entry >= 0:
            table_action = action_in(entry)
            if decides(entry, plies, depth, alpha, beta):
                return value_in(entry, plies)

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
                    reward_move(search.killers, search.history, action, plies, depth)
                break
    if place >= 0:
        search.table[place] = first_word
        search.table[place + 1] = second_word
        search.table[place + 2] = entry_of(counts[MOVE_NUMBER], best, plies, alpha, beta, depth, best_action)
    return best


@compiled
def quiet_after(search: Search, quiet: int, kind: int) -> int:
    """Returns the plies without progress after a KING_STEP, MAN_STEP or JUMP."""
    is_progress = kind == JUMP or (kind == MAN_STEP and search.counts[MEN_PROGRESS] == 1)
    return 0 if is_progress else quiet + 1


@compiled
def score_moves(search: Search, begin: int, end: int, plies: int, table_action: int) -> None:
    """Adds their scores to the actions in moves[begin:end]; a higher score is to be tried first."""
    moves = search.moves
    for place in range(begin, end):
        action = moves[place]
        moves[place] = order_score(search.killers, search.history, action, plies, table_action) * ACTIONS + action


@compiled
def start_move(search: Search) -> None:
    """Forgets everything that earlier searches have left."""
    start_search(search.killers, search.history, search.table, search.counts, MOVE_NUMBER)
