"""Alpha-beta search of 5 x 5 chess to a limited depth: the game's part of jaxgames/solvers/alphabeta/search.py.

The value of a position for the mover, at a remaining depth, in hundredths of a pawn:

    over                   a loss -(WIN - plies), a draw or the limit of plies 0; plies are counted from the root
    depth > 0              the best of all moves: minus the value for the opponent with a level less
    depth = 0, in check    the same
    otherwise              quiescence search: the best of the noisy moves (captures, and pawns that become queens) and
                           of the static evaluation, in place of the others

A level of depth is one move. The mover is in check if a piece of the opponent attacks its king, also under the rule
that kings are captured. Lines end as the game does: mate, stalemate, the third occurrence of a position, 100 plies on
the halfmove clock, insufficient material, a captured king, no move, the limit of plies.

The halfmove clock belongs to a position in the table if the draw can come within its depth, and so do the plies that
are left if the limit can. Earlier positions do not belong to it. So the table is left out where a third occurrence can
come within the depth: see `can_occur_again`.

Captures are ordered by the most valuable victim, then by the least valuable attacker.
"""

from typing import NamedTuple

import numpy as np

from jaxgames.games.minichess import search_moves as moves
from jaxgames.games.minichess.board import MULTIPLIERS, VALUES
from jaxgames.games.minichess.rules import QUIET_LIMIT as DRAW_AT
from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.games.minichess.search_moves import PAWN, QUEEN, Chess, Pieces, kind_on, king_is_attacked
from jaxgames.solvers.alphabeta import search as alphabeta_search
from jaxgames.solvers.alphabeta.compiled import Ints, compiled, count_bits, inlined, ints
from jaxgames.solvers.alphabeta.deepening import SearchedGame
from jaxgames.solvers.alphabeta.search import KILLER_SCORE, PLIES_LEFT, GameFunctions, Search, make_alphabeta
from jaxgames.solvers.alphabeta.table import MAX_DEPTH, MIN_WIN_VALUE, MINUS_INFINITY, WIN

MAX_NOISY = 48  # captures and promotions of a line: each removes a piece or a pawn
MAX_PLIES = MAX_DEPTH + 1 + MAX_NOISY  # of a line
OCCURRENCE = 4  # plies at least between two occurrences of a position: both players leave and return
KING_REWARD = VALUES[-1] / 1000  # that the capture of a king pays with reward="material"
ROOT_CLOCK = alphabeta_search.FIRST_OF_GAME  # place of the halfmove clock at the root in `Search.counts`


class SearchedChess(NamedTuple):
    """The game of a search."""

    chess: Chess
    hashes: Ints  # [DRAW_AT + MAX_PLIES], since the last capture or pawn move: up to the root, then of the line
    multipliers: Ints  # [10], of the hash


class Position(NamedTuple):
    """A position and its history."""

    pieces: Pieces
    halfmove_clock: int  # plies since the last capture or pawn move
    repeats: int  # 1 if a position of these plies occurred before


class Node(NamedTuple):
    """A position that is searched; see `enter` of jaxgames/solvers/alphabeta/search.py."""

    position: Position
    value: int
    is_leaf: bool
    is_in_table: bool
    only_noisy: bool  # quiescence search


def make_search(env: Minichess, weights: list[int], table_size: int, compiled: bool) -> Search:
    """Returns the work space of a search, on arrays for compiled functions or on lists for plain ones."""
    hashes, multipliers = ints([0] * (DRAW_AT + MAX_PLIES), compiled), ints(MULTIPLIERS.ravel(), compiled)
    game = SearchedChess(moves.make_chess(env, compiled), hashes, multipliers)
    sizes = (MAX_PLIES, moves.MAX_MOVES, moves.NUM_ACTIONS, 1)
    return alphabeta_search.make_search(game, weights, table_size, sizes, compiled)


# -- the static evaluation ---------------------------------------------------------------------------------------------
# It is a sum over the mover's pieces, less the same sum over the opponent's pieces, in hundredths of a pawn. WEIGHTS
# has the weights of two evaluations. "material" has the values of the pieces that the env has for its rewards of
# material. "positional" adds what wins more games between searches of the same depth; docs/games/minichess.md has the
# results. A king counts only where a side can have several, under the rule that kings are captured.

# Places in a list of weights. Places 1 to 6 have the kinds of the pieces.
RANKS = 7  # for each rank that a pawn has advanced
ATTACKS = 8  # for each cell that a piece attacks
CENTRE = 9  # for each piece on the 9 cells in the centre

SPARE_KING = 2000
PIECES = [0, *VALUES[:5], SPARE_KING]
WEIGHTS = {"material": [*PIECES, 0, 0, 0], "positional": [*PIECES, 10, 4, 5]}
CENTRE_CELLS = 0x0739C0


@compiled
def evaluation(weights: Ints, chess: Chess, pieces: Pieces) -> int:
    """Returns the static evaluation of a position for the mover."""
    own, occupied = pieces.own, moves.occupied_cells(pieces)
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
            worth += weights[ATTACKS] * count_bits(moves.attacks(chess, cell, kind, occupied))
        if first & CENTRE_CELLS != 0:
            worth += weights[CENTRE]
        total += worth if own & first != 0 else -worth
    return total


# -- what jaxgames/solvers/alphabeta/search.py asks of a game ----------------------------------------------------------


@inlined
def enter(search: Search, position: Position, plies: int, depth: int, begin: int) -> Node:
    chess: Chess = search.game.chess
    pieces, clock, repeats = position
    value, is_leaf, only_noisy = MINUS_INFINITY, True, False
    if chess.king_capture == 1 and moves.kings_of(pieces) == 0:
        value = plies - WIN
    else:
        times = 0 if chess.king_capture == 1 else occurrences(search, pieces, clock, plies)
        repeats = 1 if times > 0 or (repeats == 1 and clock > 0) else 0
        is_drawn = is_draw(search, pieces, clock, times, plies)
        only_noisy = depth < 0 or (depth == 0 and not king_is_attacked(chess, pieces))
        if (is_drawn or only_noisy) and not has_move(search, pieces, begin):
            value = value_without_move(search, position, plies)
        elif is_drawn:
            value = 0
        else:
            is_leaf = False
            if only_noisy:
                value = evaluation(search.weights, chess, pieces)
    is_in_table = chess.king_capture == 1 or not can_occur_again(repeats, clock, depth)
    return Node(Position(pieces, clock, repeats), value, is_leaf, is_in_table, only_noisy)


@inlined
def table_words(search: Search, position: Position, plies: int, depth: int) -> tuple[int, int]:
    pieces, clock, _ = position
    of_clock = clock if search.game.chess.king_capture == 0 and clock + depth + 1 >= DRAW_AT else 0
    plies_left = search.counts[PLIES_LEFT] - plies
    of_plies = plies_left if plies_left <= depth + 1 + MAX_NOISY else 0
    first_word = pieces.own | pieces.kind_bit_0 << 25 | of_clock << 50
    return first_word, pieces.kind_bit_1 | pieces.kind_bit_2 << 25 | of_plies << 50


@inlined
def write_node_moves(search: Search, node: Node, begin: int) -> int:
    chess: Chess = search.game.chess
    noisy = 1 if node.only_noisy else 0
    return moves.write_moves(chess, node.position.pieces, noisy, search.moves, begin)


@inlined
def capture_score(search: Search, position: Position, action: int) -> int:
    to = search.game.chess.targets[action]
    victim = kind_on(position.pieces, to)
    kind = kind_on(position.pieces, action // moves.NUM_PLANES)
    if kind == PAWN and to % 5 == 4 and action % moves.NUM_PLANES >= 9:
        victim = max(victim, QUEEN)
    return KILLER_SCORE + 16 * victim - kind if victim > 0 else 0


@inlined
def is_quiet(search: Search, node: Node, action: int) -> bool:
    pieces, to = node.position.pieces, search.game.chess.targets[action]
    is_capture = moves.occupied_cells(pieces) >> to & 1 != 0
    is_noisy = is_capture or (to % 5 == 4 and kind_on(pieces, action // moves.NUM_PLANES) == PAWN)
    return not node.only_noisy and not is_noisy


@inlined
def is_playable(search: Search, position: Position, action: int) -> bool:
    chess: Chess = search.game.chess
    return chess.king_capture == 1 or moves.is_legal(chess, position.pieces, action)


@inlined
def after(search: Search, position: Position, action: int) -> tuple[Position, bool]:
    pieces, is_irreversible = moves.moved(search.game.chess, position.pieces, action)
    clock = 0 if is_irreversible else position.halfmove_clock + 1
    return Position(moves.turned(pieces), clock, position.repeats), False


@inlined
def value_without_move(search: Search, position: Position, plies: int) -> int:
    chess: Chess = search.game.chess
    is_mate = chess.king_capture == 0 and king_is_attacked(chess, position.pieces)
    return plies - WIN if is_mate else 0


SEARCHED = make_alphabeta(
    GameFunctions(enter, table_words, write_node_moves, is_playable, capture_score, is_quiet, after, value_without_move)
)


def alphabeta(search: Search, position: Position, plies: int, depth: int, alpha: int, beta: int, begin: int) -> int:
    """Returns the value of a position for its mover; see `make_alphabeta`."""
    return SEARCHED(search, position, plies, depth, alpha, beta, begin)


# -- ends of the game --------------------------------------------------------------------------------------------------


@compiled
def is_draw(search: Search, pieces: Pieces, clock: int, times: int, plies: int) -> bool:
    """Returns whether a position in which the mover has a move is a draw; `times` is how often it occurred before."""
    if plies >= search.counts[PLIES_LEFT]:
        return True
    if search.game.chess.king_capture == 1:
        return False
    return times >= 2 or clock >= DRAW_AT or moves.cannot_mate(pieces)


@compiled
def has_move(search: Search, pieces: Pieces, begin: int) -> bool:
    """Returns whether the mover has a legal move. `search.moves[begin:]` is overwritten."""
    chess: Chess = search.game.chess
    noisy = 0
    number = moves.write_moves(chess, pieces, noisy, search.moves, begin)
    if chess.king_capture == 1:
        return number > 0
    for place in range(begin, begin + number):  # noqa: SIM110  # numba compiles no generators
        if moves.is_legal(chess, pieces, search.moves[place]):
            return True
    return False


@compiled
def hash_of(multipliers: Ints, pieces: Pieces) -> int:
    """Returns 62 bits of `jaxgames.games.minichess.board.hashed`, the lower half first."""
    low = high = 0
    for number in range(5):
        word = pieces[number] if number < 4 else 0
        low = ((low ^ word) * multipliers[2 * number]) & 0xFFFFFFFF
        low ^= low >> 15
        high = ((high ^ word) * multipliers[2 * number + 1]) & 0xFFFFFFFF
        high ^= high >> 15
    return low | (high & 0x3FFFFFFF) << 32


@compiled
def occurrences(search: Search, pieces: Pieces, clock: int, plies: int) -> int:
    """Returns how often the pieces stood so since the clock was 0, and stores their hash for the plies after them."""
    hashes = search.game.hashes
    place = search.counts[ROOT_CLOCK] + plies
    here = hash_of(search.game.multipliers, pieces)
    hashes[place] = here
    times = 0
    for earlier in range(place - OCCURRENCE, place - clock - 1, -2):
        if hashes[earlier] == here:
            times += 1
    return times


@compiled
def can_occur_again(repeats: int, clock: int, depth: int) -> bool:
    """Returns whether a third occurrence can come at most depth + 1 plies after a position.

    With a position that has occurred twice since the clock was 0, it can. Otherwise one of the last positions must
    occur a second time first. The third occurrence comes OCCURRENCE plies later, or more.
    """
    return repeats == 1 or depth + 1 >= 2 * OCCURRENCE - min(clock, OCCURRENCE - 1)


# -- the player --------------------------------------------------------------------------------------------------------


def read(env: Minichess, search: Search, state: MinichessState) -> tuple[Position, int]:
    """Returns the position of a live board, and the plies that are left of the game."""
    clock, repeats = int(state.quiet), 0
    if state.history is not None:
        low, high = np.asarray(state.history)[:, : clock + 1].astype(np.int64)
        hashes = (low | (high & 0x3FFFFFFF) << 32).tolist()
        for place, word in enumerate(hashes):
            search.game.hashes[place] = word
        known = [(place % 2, word) for place, word in enumerate(hashes) if word]
        repeats = int(len({*known}) < len(known))
    search.counts[ROOT_CLOCK] = clock
    return Position(moves.pieces_of(state), clock, repeats), env.max_steps - int(state.ply)


def write_legal_moves(search: Search, position: Position) -> int:
    """Writes the legal actions to `search.moves`, and returns their number."""
    chess: Chess = search.game.chess
    return moves.write_legal_moves(chess, position.pieces, search.moves, 0)


def expected_return(env: Minichess, search: Search, state: MinichessState, value: int, result: float) -> float:
    """Returns an estimate of the mover's return, by the value of a search and the expected result.

    The search plays for the win by the rules, under both values of the env's `reward`. With reward="material" the
    return is the lead in material that the search gains. Under "king_capture" it also has the expected result times the
    reward of a captured king.
    """
    if env.reward == "win_loss":
        return result
    now = int(evaluation(search.weights, search.game.chess, moves.pieces_of(state)))
    gain = 0.0 if abs(value) >= MIN_WIN_VALUE else (value - now) / 1000
    return gain + (KING_REWARD * result if env.rules == "king_capture" else 0.0)


SEARCHED_GAME = SearchedGame(
    default_depth=4,
    scale=500.0,  # docs/games/minichess.md
    weights=WEIGHTS,
    make_search=make_search,
    read=read,
    write_legal_moves=write_legal_moves,
    alphabeta=alphabeta,
    after=after,
    expected_return=expected_return,
)

make_player = SEARCHED_GAME.make_player
