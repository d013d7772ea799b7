"""Alpha-beta search of Dots and Boxes: exact values of boards that are too large for a table of all positions.

The value is the margin to go: the boxes that the mover takes from here on, minus the opponent's boxes. Both sides play
best moves. It depends on the set of drawn edges alone. For a window alpha < beta, a move that completes g boxes has

    g + V(alpha - g, beta - g)  if g > 0: the mover goes on        -V(-beta, -alpha)  if g = 0

where V is the value of the set after the move. `captures` and `chain_openers` have the moves. A transposition table
keeps a lower and an upper bound of the value for all images of a position under the symmetries of the board.

To a limited depth, the same function values positions by playouts: jaxgames/games/dots_and_boxes/playouts.py. A
position with safe edges is always a leaf. Quiescence search: one with boxes to take never is.

Source: Barker and Korf, Solving Dots-and-Boxes, AAAI 2012.
"""

import time
from typing import Any, NamedTuple

import numpy as np

from jaxgames._checks import ParameterError, check_int
from jaxgames._progress import Progress
from jaxgames.env import Env, State
from jaxgames.games.dots_and_boxes import search_moves as boxes
from jaxgames.games.dots_and_boxes.chains import Chains, chain_openers, value_of_chains
from jaxgames.games.dots_and_boxes.playouts import NODES_PER_PLAYOUT, Playouts, play_out
from jaxgames.games.dots_and_boxes.rules import MAX_SEARCHED_SIZE, DotsAndBoxes
from jaxgames.games.dots_and_boxes.search_moves import Board, Position, canonical_key, captures, draw, is_safe, undraw
from jaxgames.solvers.alphabeta.clock import MAX_NODES, NODES
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, Ints, compiled, function_for, ints
from jaxgames.solvers.alphabeta.table import BOUNDS_WORDS, bounds_slot, lower_in, probe_bounds, store_bounds, upper_in

LOOSE, OPEN_BOXES, OPEN_EDGES = boxes.LOOSE, boxes.OPEN_BOXES, boxes.OPEN_EDGES
TO_THE_END = -1  # in place of a depth
UNKNOWN = -200  # below every value
WAYS = 4  # entries in which a key can be, one line of the cache
KEYS = 2  # place in `Work.counts` of the number of entries in use, after NODES and MAX_NODES
PLAYOUTS_PER_LEAF = 32  # of a leaf with safe edges
DEFAULT_TABLE_SIZE = 2**24  # entries, at most
MAX_TABLE_SIZE = 2**30
SETS_PER_ENTRY = 16  # of the default table of a small board: most sets of edges do not occur in a search
NODES_PER_PIECE = 2_000_000  # of the first piece of a search, a second
MAX_WINDOW = 63


class Work(NamedTuple):
    """A position and the work space of its search."""

    board: Board
    position: Position
    playouts: Playouts
    moves: Ints  # [(num_edges + 1) * num_edges], of each level
    counts: Ints  # [3], see above
    table: Ints  # [BOUNDS_WORDS * size], the size a power of two


def make_work(rows: int, cols: int, table_size: int, symmetries: bool, compiled: bool) -> Work:
    """Returns the start of a board; `symmetries` as in `make_board`, `compiled` whether for compiled functions."""
    board = boxes.make_board(rows, cols, symmetries=symmetries, compiled=compiled)
    num_edges, num_boxes = len(board.order), rows * cols

    def zeros(*lengths: int) -> list[Any]:
        return [np.zeros(length, np.int64) if compiled else [0] * length for length in lengths]

    chains = Chains(*zeros(num_boxes, num_edges, num_edges, 2 * num_boxes, num_boxes + 1))
    random, safe, path = zeros(1, num_edges, num_edges + 1)
    playouts = Playouts(random, safe, path, chains, *zeros(*[num_edges] * 4))
    rest = zeros((num_edges + 1) * num_edges, 3, BOUNDS_WORDS * table_size)
    return Work(board, boxes.make_position(board), playouts, *rest)


@compiled
def alphabeta(work: Work, level: int, depth: int, alpha: int, beta: int) -> int:
    """Returns the value of the position for the mover, TO_THE_END of the game or to a depth of at least 0.

    It is exact within the window (alpha, beta); below or above it, it is a bound. It is any number if counts[NODES] is
    above counts[MAX_NODES] afterwards. The moves of the levels from `level` on are overwritten. A capture that is the
    only move is no node and takes no depth.
    """
    board, position, counts, moves = work.board, work.position, work.counts, work.moves
    counts[NODES] += 1
    if counts[NODES] > counts[MAX_NODES]:
        return 0
    num_edges, first, taken = len(board.order), level, 0
    number = captures(board, position, moves, level * num_edges)
    while number == 1:  # a loop: a call for each would take a seventh of the time
        taken += draw(board, position, moves[level * num_edges])
        level += 1
        number = captures(board, position, moves, level * num_edges)
    begin, alpha, beta = level * num_edges, alpha - taken, beta - taken
    value, key, slot = UNKNOWN, 0, -1
    lower, upper = -position.counts[OPEN_BOXES], position.counts[OPEN_BOXES]
    if number == 0 and position.counts[LOOSE] == 0:
        value = value_of_chains(board, position, work.playouts.chains)
    elif depth == TO_THE_END:
        key = canonical_key(position)
        slot = bounds_slot(work.table, key, WAYS)
        bounds = probe_bounds(work.table, slot, WAYS, key)
        if bounds != 0:
            lower, upper = max(lower, lower_in(bounds)), min(upper, upper_in(bounds))
        if lower == upper or lower >= beta:
            value = lower
        elif upper <= alpha:
            value = upper
        alpha, beta = max(alpha, lower), min(beta, upper)
    if value == UNKNOWN and number == 0:
        number = chain_openers(board, position, work.playouts.chains, moves, begin)
        has_safe_edge = is_safe(board, position, moves[begin])  # they are first
        if depth == 0 or (depth > 0 and has_safe_edge):
            playouts = PLAYOUTS_PER_LEAF if has_safe_edge else 1
            counts[NODES] += playouts * NODES_PER_PLAYOUT
            value = play_out(board, position, work.playouts, playouts, False) // playouts
    if value == UNKNOWN:
        deeper = depth if depth == TO_THE_END else max(0, depth - 1)
        for place in range(begin, begin + number):
            low = max(alpha, value)
            gain = draw(board, position, moves[place])
            if gain > 0:
                value = max(value, gain + alphabeta(work, level + 1, deeper, low - gain, beta - gain))
            else:
                value = max(value, -alphabeta(work, level + 1, deeper, -beta, -low))
            undraw(board, position, moves[place])
            if value >= beta or counts[NODES] > counts[MAX_NODES]:
                break
        if slot >= 0 and counts[NODES] <= counts[MAX_NODES]:
            if value > alpha:
                lower = value
            if value < beta:
                upper = value
            counts[KEYS] += store_bounds(work.table, slot, WAYS, key, lower, upper, position.counts[OPEN_EDGES])
    while level > first:
        level -= 1
        undraw(board, position, moves[level * num_edges])
    return taken + value


# -- exact values ------------------------------------------------------------------------------------------------------


class ExactValue(NamedTuple):
    """The result of a search."""

    value: int  # the margin to go for the mover; with a window a bound outside of it
    nodes: int  # positions that were looked at, with repetitions
    keys: int  # entries of the table in use at the end
    seconds: float  # of CPU time, without compilation


class ExactSearch:
    """A search to the end of the game, whose table is kept from one position of a board to the next.

    Args:
      env: `dots_and_boxes` with at most 62 edges and 8 boxes in a row or column, or `auto_reset` of it.
      table_size: entries of the table, a power of two from 4 to 2^30, of 16 bytes each. None: one for 16 sets of
        edges, but at most 2^24. In a full table, entries with fewer open edges give way.
      compiled: whether numba compiles the search, which takes seconds at the first call.
    """

    def __init__(self, env: Env[Any], table_size: int | None = None, *, compiled: bool = HAS_NUMBA) -> None:
        self._game = _game(env)
        size = _table_size(table_size, self._game.num_edges)
        if compiled and not HAS_NUMBA:
            raise ParameterError("compiled=True needs numba: pip install 'jaxgames[numba]', or pass compiled=False")
        self._work = make_work(self._game.rows, self._game.cols, size, True, compiled)
        self._compiled, self._function = compiled, function_for(compiled)
        self._function(alphabeta)(self._work, 0, TO_THE_END, -1, 1)  # compiles; no node is allowed

    def search(
        self, state: State | None = None, window: tuple[int, int] | None = None, progress: bool = False
    ) -> ExactValue:
        """Returns the value of a position of the board, and the work that it took with the table as it is.

        Args:
          state: one state; None is the start.
          window: (alpha, beta). A value between them is the margin. A value of at most alpha is an upper bound of the
            margin, and one of at least beta a lower bound. A narrow window takes less work.
          progress: whether to show the nodes on standard error.
        """
        alpha, beta = _window(window)
        work, counts = self._work, self._work.counts
        self._function(boxes.place)(work.board, work.position, ints(_drawn(self._game, state), self._compiled))
        began, nodes, piece = time.thread_time(), 0, NODES_PER_PIECE
        with Progress(None, "nodes", shown=progress) as bar:
            while True:
                counts[NODES], counts[MAX_NODES] = 0, piece
                value = int(self._function(alphabeta)(work, 0, TO_THE_END, alpha, beta))
                visited = min(piece, int(counts[NODES]))
                nodes += visited
                bar.update(visited)
                if counts[NODES] <= piece:
                    return ExactValue(value, nodes, int(counts[KEYS]), time.thread_time() - began)
                # The table has what was found. A larger piece, because a table that is too small can forget it.
                piece += piece // 8


# -- arguments ---------------------------------------------------------------------------------------------------------


def _game(env: Env[Any]) -> DotsAndBoxes:
    game: Any = env.unwrapped if isinstance(env, Env) else env  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
    if not isinstance(game, DotsAndBoxes):
        raise ParameterError(f"expected an env of dots_and_boxes, not {env}")
    if game.num_edges > boxes.MAX_EDGES_IN_KEY or max(game.rows, game.cols) > MAX_SEARCHED_SIZE:
        raise ParameterError(
            f"{game} has {game.num_edges} edges: only boards of at most {boxes.MAX_EDGES_IN_KEY} edges, with rows and "
            f"cols from 1 to {MAX_SEARCHED_SIZE}, can be searched to the end. The agent alphabeta plays up to 8 x 8"
        )
    return game


def _drawn(game: DotsAndBoxes, state: Any) -> np.ndarray:
    """Returns bool[num_edges], the drawn edges of a state."""
    if state is None:
        return np.zeros(game.num_edges, np.bool_)
    edges = getattr(state, "edges", None)
    if edges is None or np.shape(edges) != (game.num_edges,):
        kind = type(state).__name__ if edges is None else f"edges of shape {list(np.shape(edges))}"
        raise ParameterError(f"expected one state of {game}, with edges bool[{game.num_edges}], not {kind}")
    return np.asarray(edges)


def _window(window: Any) -> tuple[int, int]:
    if window is None:
        return -MAX_WINDOW, MAX_WINDOW
    is_pair = isinstance(window, tuple) and len(window) == 2 and all(type(bound) is int for bound in window)
    if not is_pair or not -MAX_WINDOW <= window[0] < window[1] <= MAX_WINDOW:
        raise ParameterError(
            f"window must be two integers (alpha, beta) with -{MAX_WINDOW} <= alpha < beta <= {MAX_WINDOW}, "
            f"not {window!r}"
        )
    return window


def _table_size(table_size: Any, num_edges: int) -> int:
    if table_size is None:
        return max(WAYS, min(2**num_edges // SETS_PER_ENTRY, DEFAULT_TABLE_SIZE))
    check_int("table_size", table_size, WAYS, MAX_TABLE_SIZE)
    if table_size & (table_size - 1):
        raise ParameterError(
            f"table_size must be a power of two such as {2 ** table_size.bit_length()}, not {table_size}"
        )
    return table_size
