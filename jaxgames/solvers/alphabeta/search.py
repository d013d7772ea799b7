"""Alpha-beta search to a limited depth, completed by the functions of a game: see `make_alphabeta`.

`alphabeta` returns the value of a position for its mover, at a remaining depth, in hundredths of a man or a pawn. A win
is WIN minus the plies until the end, so it is worth more the sooner it comes, and a loss is the negative. The game says
what ends a line: the end of the game, or at remaining depth 0 a position without captures (quiescence search).

Everything else changes the work and not the value:

1. Null windows. All moves after the first are searched with a null window first (principal variation search).
2. The transposition table of jaxgames/solvers/alphabeta/table.py, where the remaining depth is above 0.
3. Move ordering: the best action of the table, captures, the killer moves of this ply, and the other moves by the
   history heuristic.

Sources: Knuth and Moore, An Analysis of Alpha-Beta Pruning, 1975; Marsland and Campbell, Parallel Search of Strongly
Ordered Game Trees, 1982 (principal variation search); Schaeffer, The History Heuristic, 1989; Akl and Newborn, The
Principal Continuation and the Killer Heuristic, 1977.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgames.solvers.alphabeta.clock import MAX_NODES, NODES
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, ints
from jaxgames.solvers.alphabeta.table import (
    ACTION_RADIX,
    ENTRY_WORDS,
    GENERATION_RADIX,
    MINUS_INFINITY,
    action_in,
    causes_cutoff,
    clear,
    pack_entry,
    probe,
    slot_of,
    value_in,
)

# Places in `Search.counts`, after NODES and MAX_NODES. A game has its own from FIRST_OF_GAME on.
PLIES_LEFT = 2  # of the game at the root
GENERATION = 3  # of the entries of the table; others are out of date
FIRST_OF_GAME = 4

# Scores that order moves.
KILLER_SCORE = 1 << 30
TABLE_SCORE = 1 << 31
MAX_HISTORY = 1 << 24


class Search(NamedTuple):
    """Work space of `alphabeta`."""

    moves: Ints  # of the positions of a line, each as score * ACTION_RADIX + action
    killers: Ints  # [2 * (max_plies + 2)], two actions for each ply of a line
    history: Ints  # [num_actions], the weight of the cutoffs by each action
    counts: Ints  # see above
    weights: Ints  # of the static evaluation
    table: Ints  # [ENTRY_WORDS * size], the size a power of two, or 0 for no table
    game: Any  # the rules and the tables of the game, a NamedTuple


def make_search(
    game: Any, weights: list[int], table_size: int, sizes: tuple[int, int, int, int], compiled: bool
) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones.

    Args:
      game: the rules and the tables of the game.
      weights: of the static evaluation.
      table_size: entries of the transposition table, a power of two; 0 for none.
      sizes: the plies of a line, the moves of a position, the actions of the game, and its places in `Search.counts`.
      compiled: whether the functions that use it are compiled.
    """
    max_plies, max_moves, num_actions, num_counts = sizes
    lengths = ((max_plies + 1) * max_moves, 2 * (max_plies + 2), num_actions, FIRST_OF_GAME + num_counts)
    moves, killers, history, counts = (ints([0] * length, compiled) for length in lengths)
    table = ints([0] * ENTRY_WORDS * table_size, compiled)
    return Search(moves, killers, history, counts, ints(weights, compiled), table, game)


class GameFunctions(NamedTuple):
    """The functions of a game, which are `inlined` into the search."""

    enter: Callable[..., Any]
    """(search, position, plies, depth, begin): the node of a position; can overwrite search.moves[begin:].

    A node is a NamedTuple of the game. It has at least

        position      the position, with what `enter` has learned about it
        value         for the mover: final in a leaf, else what the mover has without a move, or MINUS_INFINITY
        is_leaf       whether no move is tried
        is_in_table   whether the value depends on nothing but the position's words in the table
    """
    table_words: Callable[..., tuple[int, int]]
    """(search, position, plies, depth): two words of the position, and of how near its limits are."""
    write_node_moves: Callable[..., int]
    """(search, node, begin): the number of actions, which it writes to search.moves[begin:]."""
    is_playable: Callable[..., bool]
    """(search, position, action): whether such an action is legal."""
    capture_score: Callable[..., int]
    """(search, position, action): orders captures; 0 for other actions."""
    is_quiet: Callable[..., bool]
    """(search, node, action): whether it becomes a killer move if it causes a cutoff."""
    after: Callable[..., tuple[Any, bool]]
    """(search, position, action): the position after it, and whether the same seat moves again."""
    value_without_move: Callable[..., int]
    """(search, position, plies): the value where the mover has no move."""


def make_alphabeta(functions: GameFunctions) -> Callable[..., int]:
    """Returns `alphabeta` for a game with these functions.

    Numba keeps machine code on disk for functions of modules only. So a game wraps `alphabeta` in a function of its
    own module, which Python calls.
    """
    enter, table_words, write_node_moves, is_playable, capture_score, is_quiet, after, value_without_move = functions

    @compiled
    def alphabeta(search: Search, position: Any, plies: int, depth: int, alpha: int, beta: int, begin: int) -> int:
        """Returns the value of a position for its mover.

        It is exact within the window (alpha, beta); below or above it, it is a bound. It is any number if counts[NODES]
        is above counts[MAX_NODES] afterwards.

        Args:
          search: work space; moves[begin:] is overwritten.
          position: the position.
          plies: since the root.
          depth: the remaining depth.
          alpha, beta: the window.
          begin: the first free place of `search.moves`.
        """
        counts, moves = search.counts, search.moves
        counts[NODES] += 1
        if counts[NODES] > counts[MAX_NODES]:
            return 0
        node = enter(search, position, plies, depth, begin)
        position = node.position
        best, best_action = node.value, 0
        if node.is_leaf or best >= beta:
            return best

        slot, first_word, second_word, table_action = -1, 0, 0, -1
        if depth > 0 and node.is_in_table and len(search.table) > 0:
            first_word, second_word = table_words(search, position, plies, depth)
            slot = slot_of(search.table, first_word, second_word)
            entry = probe(search.table, slot, first_word, second_word, counts[GENERATION])
            if entry >= 0:
                table_action = action_in(entry)
                if causes_cutoff(entry, plies, depth, alpha, beta):
                    return value_in(entry, plies)

        end = begin + write_node_moves(search, node, begin)
        if end - begin > 1:
            for place in range(begin, end):
                action = moves[place]
                score = capture_score(search, position, action) if action != table_action else 0
                if score == 0:
                    score = order_score(search.killers, search.history, action, plies, table_action)
                moves[place] = score * ACTION_RADIX + action
        num_tried = 0
        for place in range(begin, end):
            action = next_move(moves, place, end)
            if not is_playable(search, position, action):
                continue
            num_tried += 1
            following, moves_again = after(search, position, action)
            low = max(alpha, best)
            high = beta if num_tried == 1 else low + 1  # a null window: is the move better than the best?
            while True:
                # No argument is a literal: numba would compile the function again for each.
                if moves_again:
                    value = alphabeta(search, following, plies + 1, depth, low, high, end)
                else:
                    value = -alphabeta(search, following, plies + 1, depth - 1, -high, -low, end)
                if high >= beta or value < high:
                    break
                high = beta
            if counts[NODES] > counts[MAX_NODES]:
                return 0
            if value > best:
                best, best_action = value, action
                if best >= beta:
                    if is_quiet(search, node, action):
                        update_killers_and_history(search.killers, search.history, action, plies, depth)
                    break
        if best == MINUS_INFINITY:
            return value_without_move(search, position, plies)
        if slot >= 0:
            search.table[slot] = first_word
            search.table[slot + 1] = second_word
            search.table[slot + 2] = pack_entry(counts[GENERATION], best, plies, alpha, beta, depth, best_action)
        return best

    return alphabeta


@compiled
def new_search(search: Search) -> None:
    """Clears killers and history, and begins a new generation of the table."""
    for place in range(len(search.killers)):
        search.killers[place] = -1
    for place in range(len(search.history)):
        search.history[place] = 0
    search.counts[GENERATION] += 1
    if search.counts[GENERATION] == GENERATION_RADIX:
        search.counts[GENERATION] = 1
        clear(search.table)


# -- move ordering -----------------------------------------------------------------------------------------------------


@compiled
def next_move(moves: Ints, place: int, end: int) -> int:
    """Returns the action of the highest score in moves[place:end], after it was brought to moves[place].

    A move is score * ACTION_RADIX + action.
    """
    best = place
    for other in range(place + 1, end):
        if moves[other] > moves[best]:
            best = other
    moves[place], moves[best] = moves[best], moves[place]
    return moves[place] % ACTION_RADIX


@compiled
def order_score(killers: Ints, history: Ints, action: int, plies: int, table_action: int) -> int:
    """Returns the score of an action; a higher one is tried first."""
    score = history[action]
    if action == table_action:
        return score + TABLE_SCORE
    if action == killers[2 * plies] or action == killers[2 * plies + 1]:
        return score + KILLER_SCORE
    return score


@compiled
def update_killers_and_history(killers: Ints, history: Ints, action: int, plies: int, depth: int) -> None:
    """Records a move that caused a cutoff, some plies from the root and at a remaining depth."""
    if killers[2 * plies] != action:
        killers[2 * plies + 1] = killers[2 * plies]
        killers[2 * plies] = action
    history[action] = min(MAX_HISTORY, history[action] + depth * depth)
