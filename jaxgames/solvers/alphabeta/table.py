"""Parts of the alpha-beta searches of several games: values of wins, the transposition table, the order of moves.

A value is for the mover, in hundredths of a man or a pawn. A win is WIN minus the plies until the end, a loss is the
negative. All evaluations are between -LEAST_WIN and LEAST_WIN.

An entry of the table has three words: two hold the whole position, so no two positions are confused. The third has the
number of the searched move, the value, what the value is (EXACT, LOWER or UPPER), the levels to go and the best action.
A win or a loss is stored by its distance from the position, not from the root. An entry is used for the same number of
levels only, and only in the search of the same move.

Source of the order of moves: Schaeffer, The History Heuristic, 1989; Akl and Newborn, The Principal Continuation and
the Killer Heuristic, 1977.
"""

from jaxgames.solvers.alphabeta.compiled import Ints, compiled

MAX_DEPTH = 64
WIN = 100_000  # a win at the root
LEAST_WIN = WIN - 1_000  # above every evaluation, below every win
LOWEST = -2 * WIN
NO_LIMIT = 1 << 40  # of nodes, or of plies

ENTRY = 3  # words
EXACT, LOWER, UPPER = 0, 1, 2  # what the value of an entry is; as parts of BOUNDS

# The numbers of different parts in the third word of an entry, the last one lowest.
NUMBERS = 1 << 22  # of the searched move
VALUES = 1 << 19
BOUNDS = 4
DEPTHS = 128
ACTIONS = 2048

# Scores that order moves.
KILLER_SCORE = 1 << 30
TABLE_SCORE = 1 << 31
MAX_HISTORY = 1 << 24


# -- the table ---------------------------------------------------------------------------------------------------------


@compiled
def place_of(table: Ints, first_word: int, second_word: int) -> int:
    """Returns the first word of the entry of a position."""
    mixed = (first_word ^ second_word * 0x1C69B3F74AC4AE35) * 0x1E3779B97F4A7C15 >> 32
    return ENTRY * (mixed & (len(table) // ENTRY - 1))


@compiled
def found_entry(table: Ints, place: int, first_word: int, second_word: int, number: int) -> int:
    """Returns the third word of the entry at a place; -1 if it is of another position or another searched move."""
    entry = table[place + 2]
    if (
        table[place] == first_word
        and table[place + 1] == second_word
        and entry // (VALUES * BOUNDS * DEPTHS * ACTIONS) == number
    ):
        return entry
    return -1


@compiled
def action_in(entry: int) -> int:
    """Returns the best action of an entry."""
    return entry % ACTIONS


@compiled
def value_in(entry: int, plies: int) -> int:
    """Returns the value of an entry, for a position that is some plies from the root."""
    return from_root(entry // (ACTIONS * DEPTHS * BOUNDS) % VALUES - VALUES // 2, plies)


@compiled
def decides(entry: int, plies: int, depth: int, alpha: int, beta: int) -> bool:
    """Returns whether the value of an entry can take the place of a search of this depth within the window."""
    if entry // ACTIONS % DEPTHS != depth:
        return False
    bound, value = entry // (ACTIONS * DEPTHS) % BOUNDS, value_in(entry, plies)
    return bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha)


@compiled
def entry_of(number: int, value: int, plies: int, alpha: int, beta: int, depth: int, action: int) -> int:
    """Returns the third word of the entry of a value that a search within a window has found.

    Args:
      number: of the searched move.
      value: of the position, for its mover.
      plies: from the root to the position.
      alpha, beta: the window of the search.
      depth: levels to go.
      action: the best one.
    """
    bound = LOWER if value >= beta else UPPER if value <= alpha else EXACT
    entry = number * VALUES + from_position(value, plies) + VALUES // 2
    return ((entry * BOUNDS + bound) * DEPTHS + depth) * ACTIONS + action


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
def next_move(moves: Ints, place: int, end: int) -> int:
    """Returns the action of the highest score in moves[place:end], after it was brought to moves[place].

    A move is score * ACTIONS + action.
    """
    best = place
    for other in range(place + 1, end):
        if moves[other] > moves[best]:
            best = other
    moves[place], moves[best] = moves[best], moves[place]
    return moves[place] % ACTIONS


@compiled
def order_score(killers: Ints, history: Ints, action: int, plies: int, table_action: int) -> int:
    """Returns the score of an action; a higher one is to be tried first."""
    score = history[action]
    if action == table_action:
        return score + TABLE_SCORE
    if action == killers[2 * plies] or action == killers[2 * plies + 1]:
        return score + KILLER_SCORE
    return score


@compiled
def reward_move(killers: Ints, history: Ints, action: int, plies: int, depth: int) -> None:
    """Notes an action that needed no other beside it.

    Args:
      killers: [2 * (plies + 1) or more], two actions for each number of plies since the root.
      history: how often each action was the best one.
      action: the action.
      plies: since the root.
      depth: levels to go.
    """
    if killers[2 * plies] != action:
        killers[2 * plies + 1] = killers[2 * plies]
        killers[2 * plies] = action
    history[action] = min(MAX_HISTORY, history[action] + depth * depth)


@compiled
def start_search(killers: Ints, history: Ints, table: Ints, counts: Ints, number: int) -> None:
    """Forgets everything that earlier searches have left. counts[number] is the number of the searched move."""
    for place in range(len(killers)):
        killers[place] = -1
    for place in range(len(history)):
        history[place] = 0
    counts[number] += 1
    if counts[number] == NUMBERS:
        counts[number] = 1
        for place in range(len(table)):
            table[place] = 0
