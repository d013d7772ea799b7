"""Alpha-beta search of checkers to a limited depth: the game's part of jaxgames/solvers/alphabeta/search.py.

The value of a position for the mover, at a remaining depth, in hundredths of a man:

    over                       a loss -(WIN - plies), a draw or the limit of plies 0; plies are counted from the root.
                               Where a lead in pieces wins, a win WIN - plies as well
    depth <= 0, no capture     the static evaluation of jaxgames/solvers/checkers/evaluation.py; see below for threats
    otherwise                  the best of all moves: the value for the same mover while its capture goes on, minus
                               the value for the opponent after a whole turn

A whole turn takes one level of depth, with all jumps of its capture. Quiescence search: at depth 0, compulsory captures
are searched to their end, so no position is valued in the middle of an exchange. The search also goes on for one turn
where depth 0 is reached with the opponent threatening to capture.

The table holds positions at the beginnings of turns; in none of them must a piece jump again. The plies without
progress, or the turns played, belong to the position if they can end the game within its depth, and so do the plies
that are left if the limit can.
"""

from typing import NamedTuple

from jaxgames.solvers.alphabeta import search as alphabeta_search
from jaxgames.solvers.alphabeta.compiled import count_bits, inlined
from jaxgames.solvers.alphabeta.search import PLIES_LEFT, Search, search_for
from jaxgames.solvers.alphabeta.table import MAX_DEPTH, MINUS_INFINITY, WIN
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


class Rules(NamedTuple):
    """The rules of draws."""

    draw_at: int  # plies without progress that make a draw; turns, if a lead wins
    men_progress: int  # 1 if a man's step is progress
    draw_first: int  # 1 if a draw comes before a win in the same ply
    lead_from: int = 0  # turns from which a lead of `least_lead` pieces wins, as any does at `draw_at`; 0 if none wins
    least_lead: int = 0


class Position(NamedTuple):
    """A position; see jaxgames/solvers/checkers/moves.py."""

    own: int
    opponents: int
    kings: int
    jumper: int
    quiet: int  # plies since the last progress; the turns played, if a lead wins


class Node(NamedTuple):
    """A position that is searched; see `enter` of jaxgames/solvers/alphabeta/search.py."""

    position: Position
    value: int
    is_leaf: bool
    is_in_table: bool
    must_jump: bool
    sources: tuple[int, int, int, int]  # of the moves, by direction


def make_search(rules: Rules, weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    return alphabeta_search.make_search(rules, weights, table_size, (MAX_PLIES, MAX_MOVES, NUM_ACTIONS, 0), compiled)


# -- what jaxgames/solvers/alphabeta/search.py asks of a game ----------------------------------------------------------


@inlined
def enter(search: Search, position: Position, plies: int, depth: int, begin: int) -> Node:
    own, opponents, kings, jumper, quiet = position
    rules: Rules = search.game
    sources = jump_sources(own, opponents, kings, jumper if jumper != 0 else own)
    must_jump = sources[0] | sources[1] | sources[2] | sources[3] != 0
    if not must_jump:
        sources = step_sources(own, opponents, kings)
    cannot_move = sources[0] | sources[1] | sources[2] | sources[3] == 0
    is_drawn = quiet >= rules.draw_at
    value, is_leaf = MINUS_INFINITY, True
    lead = 0  # one that wins
    if 0 < rules.lead_from <= quiet and jumper == 0:
        lead = count_bits(own) - count_bits(opponents)
        if not is_drawn and abs(lead) < rules.least_lead:
            lead = 0
    if lead != 0:
        value = WIN - plies if lead > 0 else plies - WIN
    elif cannot_move and not (is_drawn and rules.draw_first == 1):
        value = value_without_move(search, position, plies)
    elif is_drawn or plies >= search.counts[PLIES_LEFT]:
        value = 0
    elif depth <= 0 and not must_jump and not (depth == 0 and opponent_can_jump(own, opponents, kings)):
        value = evaluation(search.weights, own, opponents, kings)
    else:
        is_leaf = False
    return Node(position, value, is_leaf, jumper == 0, must_jump, sources)


@inlined
def table_words(search: Search, position: Position, plies: int, depth: int) -> tuple[int, int]:
    own, opponents, kings, _, quiet = position
    if search.game.lead_from > 0:  # each capture behind depth 0 is a turn more
        of_quiet = quiet if quiet + depth + 1 + MAX_CAPTURES >= search.game.lead_from else 0
    else:
        of_quiet = quiet if quiet + depth + 1 >= search.game.draw_at else 0
    plies_left = search.counts[PLIES_LEFT] - plies
    of_plies = plies_left if plies_left <= depth + 1 + MAX_CAPTURES else 0
    return own | (opponents & 0x3FFFFFFF) << 32, kings | (opponents >> 30 | of_quiet << 2 | of_plies << 9) << 32


@inlined
def write_node_moves(search: Search, node: Node, begin: int) -> int:
    return write_moves(node.sources, search.moves, begin)


@inlined
def is_playable(search: Search, position: Position, action: int) -> bool:
    return True


@inlined
def capture_score(search: Search, position: Position, action: int) -> int:
    return 0  # all moves of a position are captures, or none of them is


@inlined
def is_quiet(search: Search, node: Node, action: int) -> bool:
    return not node.must_jump


@inlined
def after(search: Search, position: Position, action: int) -> tuple[Position, bool]:
    own, opponents, kings, jumper, kind = moved(position.own, position.opponents, position.kings, action)
    moves_again = jumper != 0
    if search.game.lead_from > 0:
        quiet = position.quiet if moves_again else position.quiet + 1
    else:
        is_progress = kind == JUMP or (kind == MAN_STEP and search.game.men_progress == 1)
        quiet = 0 if is_progress else position.quiet + 1
    return Position(own, opponents, kings, jumper, quiet), moves_again


@inlined
def value_without_move(search: Search, position: Position, plies: int) -> int:
    return plies - WIN


FUNCTIONS = (enter, table_words, write_node_moves, is_playable, capture_score, is_quiet, after, value_without_move)
alphabeta = search_for("checkers", FUNCTIONS)
