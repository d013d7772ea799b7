"""Exact values in Dots and Boxes by alpha-beta search, for boards that are too large for a table of all positions.

The value is the margin to go: the boxes that the mover takes from here on, minus the opponent's boxes. Both sides play
best moves. It depends on the set of drawn edges alone. For a window alpha < beta, a move that completes g boxes has

    g + V(alpha - g, beta - g)  if g > 0: the mover goes on        -V(-beta, -alpha)  if g = 0

where V is the value of the set after the move. Each improvement is a switch of `Options`. `exact_loop.py` has the loop
over the nodes, and `moves.py` the moves.

Source: Barker and Korf, Solving Dots-and-Boxes, AAAI 2012.
"""

import time
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from jaxgames._checks import ParameterError, ParameterTypeError, check_choice, check_int
from jaxgames._progress import progress_bar
from jaxgames.env import Env, State
from jaxgames.games.dots_and_boxes.rules import DotsAndBoxes
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, Ints, plain
from jaxgames.solvers.alphabeta.table import BOUNDS_WORDS
from jaxgames.solvers.dots_and_boxes.chains import Chains
from jaxgames.solvers.dots_and_boxes.exact_loop import (
    ALPHA,
    BETA,
    END,
    IS_NEW,
    KEYS,
    LEVEL,
    LEVEL_WORDS,
    MAX_ABS_MARGIN,
    NEXT,
    NODES,
    NUM_COUNTERS,
    PATH_END,
    VALUE,
    WAYS,
    Rules,
    Work,
    advance,
)
from jaxgames.solvers.dots_and_boxes.moves import MAX_EDGES_IN_KEY, MAX_SIZE, make_board, make_moves, make_position
from jaxgames.solvers.exact.solution import check_keeps_rules, live_boards
from jaxgames.wrappers import game_of

DEFAULT_TABLE_SIZE = 2**24  # entries, at most
MAX_TABLE_SIZE = 2**30
ENTRY_BYTES = 8 * BOUNDS_WORDS
NODES_PER_CALL = 2_000_000  # half a second
PLAIN_NODES_PER_CALL = 5_000  # a tenth of a second


@dataclass(frozen=True)
class Options:
    """The improvements of the search, each independent of the others. All combinations have the same value."""

    table: bool = True  # keeps the values of positions
    symmetries: bool = True  # keeps one value for all positions that a symmetry maps to each other, if `table`
    chains: bool = True  # tries one or two moves while a box can be taken
    alphabeta: bool = True  # leaves out moves that cannot change the value of the start
    centre_first: bool = True  # tries edges from the centre outwards, otherwise in ascending order
    corners: bool = True  # tries one of several open edges between one box and the outside
    early_termination: bool = True  # ends where the boxes that are left cannot bring the value into the window
    fewest_boxes_first: bool = True  # tries the edges first that give away the fewest boxes
    openers: bool = True  # tries one edge of each unopened chain, the shortest first, and computes chains alone

    def __post_init__(self) -> None:
        for field in fields(self):
            check_choice(field.name, getattr(self, field.name), (False, True))


class SearchResult(NamedTuple):
    """The result of a search."""

    value: int  # the margin to go for the mover; with a window a bound outside of it, see `search`
    nodes: int  # positions that were looked at, with repetitions
    keys: int  # entries of the table in use at the end
    seconds: float  # of CPU time, without compilation


def search(
    env: Env[Any],
    state: State | None = None,
    options: Options = Options(),
    window: tuple[int, int] | None = None,
    table_size: int | None = None,
    *,
    compiled: bool = HAS_NUMBA,
    progress: bool = True,
) -> SearchResult:
    """Returns the value of a position, and the work that it took.

    Args:
      env: `dots_and_boxes` with at most 62 edges and 8 boxes in a row or column, or a `Wrapper` that keeps its rules.
      state: one state; None is the start.
      options: the improvements.
      window: (alpha, beta). A value between them is the margin. A value of at most alpha is an upper bound of the
        margin, and one of at least beta a lower bound. A narrow window takes less work. Needs `options.alphabeta`.
      table_size: entries of the table, a power of two from 4 to 2^30, of 16 bytes each. None: one for each set of
        edges, but at most 2^24. In a full table, entries with fewer open edges give way.
      compiled: whether numba compiles the search, which takes seconds at the first call.
      progress: whether to show the progress on standard error.

    Raises ParameterError (a ValueError) for another game or a larger board, for a state of another board, and for a
    window or table size that is not as above. It also raises it for a table that does not fit in memory.
    """
    running = Search(env, state, options, window, table_size, compiled=compiled)
    with progress_bar(1000, "thousandths of the moves", shown=progress) as bar:
        shown = 0
        while not running.advance():
            share = int(1000 * running.share())
            bar.update(share - shown)
            shown = share
        bar.update(1000 - shown)
    return running.result()


class Search:
    """A search that can be watched, interrupted and resumed; `search` has the arguments."""

    def __init__(
        self,
        env: Env[Any],
        state: State | None = None,
        options: Options = Options(),
        window: tuple[int, int] | None = None,
        table_size: int | None = None,
        *,
        compiled: bool = HAS_NUMBA,
    ) -> None:
        game = _game(env)
        if not isinstance(options, Options):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise ParameterTypeError(f"options must be Options, such as Options(corners=False), not {options!r}")
        alpha, beta = _window(window, options)
        size = _table_size(table_size, options, game.num_edges)
        if compiled and not HAS_NUMBA:
            raise ParameterError("compiled=True needs numba: pip install 'jaxgames[numba]', or pass compiled=False")
        self._game, self._options = game, options
        self._board = make_board(
            game.rows,
            game.cols,
            symmetries=options.symmetries,
            centre_first=options.centre_first,
            corners=options.corners,
            compiled=compiled,
        )
        self._position = make_position(self._board, _drawn(game, state))
        self._rules = Rules(
            options.table,
            options.chains,
            options.alphabeta,
            options.early_termination,
            options.fewest_boxes_first,
            options.openers,
        )
        edges, boxes, levels = game.num_edges, game.num_boxes, game.num_edges + 1
        self._work = Work(
            stack=_zeros(levels * LEVEL_WORDS, compiled),
            moves=make_moves(self._board, levels),
            path=_zeros(game.num_edges, compiled),
            counters=_zeros(NUM_COUNTERS, compiled),
            table=_table(size, compiled),
            chains=Chains(*(_zeros(length, compiled) for length in (boxes, edges, edges, 2 * boxes, boxes + 1))),
        )
        self._work.stack[ALPHA], self._work.stack[BETA] = alpha, beta
        self._work.counters[IS_NEW] = 1
        self._advance = advance if compiled else plain(advance)
        self._nodes_per_call = NODES_PER_CALL if compiled else PLAIN_NODES_PER_CALL
        self._advance(self._board, self._position, self._rules, self._work, 0)  # compiles
        self.seconds: float = 0.0
        self.finished: bool = False

    def restart(self, state: State | None = None, window: tuple[int, int] | None = None) -> None:
        """Begins a search of another state of the same board, with the table as it is; `search` has the arguments."""
        alpha, beta = _window(window, self._options)
        edges = _drawn(self._game, state)
        for part, new in zip(self._position, make_position(self._board, edges), strict=True):
            for place in range(len(part)):
                part[place] = new[place]
        counters = self._work.counters
        counters[LEVEL], counters[IS_NEW], counters[PATH_END] = 0, 1, 0
        self._work.stack[ALPHA], self._work.stack[BETA] = alpha, beta
        self.finished = False

    def advance(self, nodes: int | None = None) -> bool:
        """Goes on for `nodes` nodes; None: for about half a second. Returns whether the search is finished."""
        if not self.finished:
            begin = time.thread_time()
            limit = self._nodes_per_call if nodes is None else nodes
            self.finished = self._advance(self._board, self._position, self._rules, self._work, limit)
            self.seconds += time.thread_time() - begin
        return self.finished

    def share(self) -> float:
        """Returns the share of the moves that are done, 0 to 1, counting the moves of each position as equally long."""
        share, width = 0.0, 1.0
        for level in range(min(6, int(self._work.counters[LEVEL]))):
            begin, last = level * len(self._board.order), level * LEVEL_WORDS
            width /= int(self._work.stack[last + END]) - begin
            share += width * (int(self._work.stack[last + NEXT]) - 1 - begin)
        return share

    def result(self) -> SearchResult:
        """Returns the result; before the end, the value has no meaning."""
        counters = self._work.counters
        return SearchResult(int(counters[VALUE]), int(counters[NODES]), int(counters[KEYS]), self.seconds)


# -- arguments ---------------------------------------------------------------------------------------------------------


def _game(env: Env[Any]) -> DotsAndBoxes:
    game: Any = game_of(env) if isinstance(env, Env) else env  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
    if not isinstance(game, DotsAndBoxes):
        raise ParameterError(f"expected an env of dots_and_boxes, not {env}")
    check_keeps_rules(env)
    if game.num_edges > MAX_EDGES_IN_KEY or max(game.rows, game.cols) > MAX_SIZE:
        raise ParameterError(
            f"{game} has {game.num_edges} edges: only boards of at most {MAX_EDGES_IN_KEY} edges, with rows and cols "
            f"from 1 to {MAX_SIZE}, can be searched to the end. The agent alphabeta plays boards of up to 8 x 8"
        )
    return game


def _drawn(game: DotsAndBoxes, state: Any) -> list[int]:
    """Returns the drawn edges of a state."""
    if state is None:
        return []
    edges = getattr(live_boards(state), "edges", None)
    if edges is None or np.shape(edges) != (game.num_edges,):
        kind = type(state).__name__ if edges is None else f"edges of shape {list(np.shape(edges))}"
        raise ParameterError(f"expected one state of {game}, with edges bool[{game.num_edges}], not {kind}")
    return np.flatnonzero(np.asarray(edges)).tolist()


def _window(window: Any, options: Options) -> tuple[int, int]:
    if window is None:
        return -MAX_ABS_MARGIN, MAX_ABS_MARGIN
    if not options.alphabeta:
        raise ParameterError("a window needs alphabeta=True: leave it out, or pass Options(alphabeta=True)")
    if not isinstance(window, tuple) or len(window) != 2 or not all(type(bound) is int for bound in window):
        raise ParameterError(f"window must be two integers such as (0, 1), not {window!r}")
    alpha, beta = window
    if not -MAX_ABS_MARGIN <= alpha < beta <= MAX_ABS_MARGIN:
        raise ParameterError(
            f"window must be (alpha, beta) with -{MAX_ABS_MARGIN} <= alpha < beta <= {MAX_ABS_MARGIN}, not {window}"
        )
    return alpha, beta


def _table_size(table_size: Any, options: Options, num_edges: int) -> int:
    if table_size is None:
        return min(2**num_edges, DEFAULT_TABLE_SIZE) if options.table else WAYS
    if not options.table:
        raise ParameterError("table_size needs table=True: leave it out, or pass Options(table=True)")
    check_int("table_size", table_size, WAYS, MAX_TABLE_SIZE)
    if table_size & (table_size - 1):
        raise ParameterError(
            f"table_size must be a power of two such as {2 ** table_size.bit_length()}, not {table_size}"
        )
    return table_size


def _table(size: int, compiled: bool) -> Ints:
    try:
        return _zeros(BOUNDS_WORDS * size, compiled)
    except MemoryError:
        raise ParameterError(
            f"a table of {size:,} entries takes {size * ENTRY_BYTES / 2**30:,.1f} GiB, more than the free memory: "
            f"pass a smaller table_size, such as {DEFAULT_TABLE_SIZE}"
        ) from None


def _zeros(length: int, compiled: bool) -> Any:
    return np.zeros(length, np.int64) if compiled else [0] * length
