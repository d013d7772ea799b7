"""Alpha-beta search of checkers to a limited depth: the game's part of jaxgames/solvers/alphabeta/search.py.

The value of a position for the mover, at a remaining depth, in hundredths of a man:

    over                       a loss -(WIN - plies), a draw or the limit of plies 0; plies are counted from the root.
                               Where a lead in pieces wins, a win WIN - plies as well
    depth <= 0, no capture     the static evaluation; see below for threats
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

from jaxgames.games.checkers import search_moves as moves
from jaxgames.games.checkers.rules import FIRST_LEAD, FIRST_TURN, LAST_TURN, QUIET_LIMIT, Checkers, CheckersState
from jaxgames.solvers.alphabeta import search as alphabeta_search
from jaxgames.solvers.alphabeta.clock import NO_LIMIT
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits, inlined
from jaxgames.solvers.alphabeta.deepening import SearchedGame
from jaxgames.solvers.alphabeta.search import PLIES_LEFT, GameFunctions, Search, make_alphabeta
from jaxgames.solvers.alphabeta.table import MAX_DEPTH, MINUS_INFINITY, WIN

MAX_CAPTURES = 32  # each removes a piece
MAX_PLIES = MAX_DEPTH + 1 + MAX_CAPTURES  # of a line: each turn without a capture takes a level, but for one
NUM_ACTIONS = 128


class EndRules(NamedTuple):
    """The rules of draws."""

    draw_at: int  # plies without progress that make a draw; turns, if a lead wins
    men_progress: int  # 1 if a man's step is progress
    draw_first: int  # 1 if a draw comes before a win in the same ply
    lead_from: int = 0  # turns from which a lead of `least_lead` pieces wins, as any does at `draw_at`; 0 if none wins
    least_lead: int = 0


class Position(NamedTuple):
    """A position; see jaxgames/games/checkers/search_moves.py."""

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


def rules_of(env: Checkers) -> EndRules:
    """Returns the rules of draws of a game."""
    if env.draw_rule == "adjudicated":
        return EndRules(LAST_TURN, men_progress=0, draw_first=1, lead_from=FIRST_TURN, least_lead=FIRST_LEAD)
    return EndRules(QUIET_LIMIT[env.draw_rule], int(env.draw_rule == "wcdf"), int(env.draw_rule == "openspiel"))


def make_search(rules: EndRules, weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    sizes = (MAX_PLIES, moves.MAX_MOVES, NUM_ACTIONS, 0)
    return alphabeta_search.make_search(rules, weights, table_size, sizes, compiled)


# -- the static evaluation --------------------------------------------------------------------------------------------
# It is in hundredths of a man. Each part is a weight times the mover's number less the opponent's. WEIGHTS has the
# weights of two evaluations. "material" counts the pieces and how far the men have advanced. "positional" adds what
# wins more games between searches of the same depth; docs/games/checkers.md has the results.

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


# -- what jaxgames/solvers/alphabeta/search.py asks of a game ----------------------------------------------------------


@inlined
def enter(search: Search, position: Position, plies: int, depth: int, begin: int) -> Node:
    own, opponents, kings, jumper, quiet = position
    rules: EndRules = search.game
    sources = moves.jump_sources(own, opponents, kings, jumper if jumper != 0 else own)
    must_jump = sources[0] | sources[1] | sources[2] | sources[3] != 0
    if not must_jump:
        sources = moves.step_sources(own, opponents, kings)
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
    elif depth <= 0 and not must_jump and not (depth == 0 and moves.opponent_can_jump(own, opponents, kings)):
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
    return moves.write_moves(node.sources, search.moves, begin)


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
    own, opponents, kings, jumper, kind = moves.moved(position.own, position.opponents, position.kings, action)
    moves_again = jumper != 0
    if search.game.lead_from > 0:
        quiet = position.quiet if moves_again else position.quiet + 1
    else:
        is_progress = kind == moves.JUMP or (kind == moves.MAN_STEP and search.game.men_progress == 1)
        quiet = 0 if is_progress else position.quiet + 1
    return Position(own, opponents, kings, jumper, quiet), moves_again


@inlined
def value_without_move(search: Search, position: Position, plies: int) -> int:
    return plies - WIN


SEARCHED = make_alphabeta(
    GameFunctions(enter, table_words, write_node_moves, is_playable, capture_score, is_quiet, after, value_without_move)
)


def alphabeta(search: Search, position: Position, plies: int, depth: int, alpha: int, beta: int, begin: int) -> int:
    """Returns the value of a position for its mover; see `make_alphabeta`."""
    return SEARCHED(search, position, plies, depth, alpha, beta, begin)


# -- the player --------------------------------------------------------------------------------------------------------


def read(env: Checkers, search: Search, state: CheckersState) -> tuple[Position, int]:
    """Returns the position of a live board, and the plies that are left of the game."""
    words = (state.own, state.opponents, state.kings, state.jumper, state.quiet)
    return Position(*map(int, words)), NO_LIMIT if env.max_plies is None else env.max_plies - int(state.ply)


def write_legal_moves(search: Search, position: Position) -> int:
    """Writes the legal actions to `search.moves`, and returns their number."""
    own, opponents, kings, jumper, _ = position
    return moves.write_moves(moves.legal_sources(own, opponents, kings, jumper), search.moves, 0)


SEARCHED_GAME = SearchedGame(
    default_depth=6,
    scale=250.0,  # docs/games/checkers.md
    weights=WEIGHTS,
    make_search=lambda env, *arguments: make_search(rules_of(env), *arguments),
    read=read,
    write_legal_moves=write_legal_moves,
    alphabeta=alphabeta,
    after=after,
)

make_player = SEARCHED_GAME.make_player
