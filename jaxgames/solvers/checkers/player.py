"""The player of checkers behind the agent `alphabeta`, and the values of a position's moves.

    player = make_player(env, depth=6)
    action = player.choose(state, seed=0)

    found = evaluate(env, state, depth=6)       # Evaluation(value, actions, values), in men

The search is that of jaxgames/solvers/checkers/search.py. It is deepened level by level up to `depth`; a level is one
turn. How a move is chosen, and how its time is kept: jaxgames/solvers/alphabeta/deepening.py.
"""

import functools
import math
from typing import Any, NamedTuple

from jaxgames._checks import check_choice
from jaxgames.env import Env
from jaxgames.games.checkers import QUIET_LIMIT, Checkers, CheckersState
from jaxgames.solvers.alphabeta.clock import OutOfTimeError
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for
from jaxgames.solvers.alphabeta.deepening import TABLE_SIZE, DeepeningPlayer, Evaluation, live_board, settled_depth
from jaxgames.solvers.alphabeta.deepening import plies_to_end as plies_to_end
from jaxgames.solvers.alphabeta.table import NO_LIMIT
from jaxgames.solvers.checkers.evaluation import WEIGHTS
from jaxgames.solvers.checkers.moves import START, legal_sources, moved, write_moves
from jaxgames.solvers.checkers.search import (
    DRAW_AT,
    DRAW_FIRST,
    MAX_NODES,
    MEN_PROGRESS,
    NODES,
    PLIES_LEFT,
    Search,
    make_search,
    quiet_after,
    start_move,
    value_of,
)

DEFAULT_DEPTH = 6  # without a limit of time


class Position(NamedTuple):
    """A position at the root; see jaxgames/solvers/checkers/moves.py."""

    own: int
    opponents: int
    kings: int
    jumper: int
    quiet: int  # plies since the last progress


class CheckersPlayer(DeepeningPlayer[CheckersState, Position]):
    """Chooses actions on one board at a time. Its arrays are work space: a move does not depend on earlier ones."""

    def __init__(
        self,
        env: Checkers,
        depth: int,
        milliseconds: int | None,
        evaluation: str,
        table_size: int = TABLE_SIZE,
        compiled: bool | None = None,
    ) -> None:
        """Compiles all functions, so that no move waits for that; see `make_player` for the other arguments.

        Args:
          table_size: entries of the transposition table, a power of two; 0 for none.
          compiled: whether functions are compiled; None: where numba is installed.
        """
        compiled = HAS_NUMBA if compiled is None else compiled
        super().__init__(depth, milliseconds)
        self._function = function_for(compiled)
        self._search: Search = make_search(WEIGHTS[evaluation], table_size, compiled)
        counts = self._search.counts
        counts[DRAW_AT] = QUIET_LIMIT[env.draw_rule]
        counts[MEN_PROGRESS] = int(env.draw_rule == "wcdf")
        counts[DRAW_FIRST] = int(env.draw_rule == "openspiel")
        self._max_plies = env.max_plies
        self._clock.start(math.inf, NO_LIMIT)
        start = Position(*START, quiet=0)
        for _ in range(2):  # the first call can compile, the second one measures the speed
            dict(self._valued(start, self._start(start, NO_LIMIT), 2, only_best=True))

    def _read(self, state: CheckersState) -> tuple[Position, list[int]]:
        """Prepares the search of a live board; returns its position, and its legal actions in ascending order."""
        position = Position(
            *(int(leaf) for leaf in (state.own, state.opponents, state.kings, state.jumper, state.quiet))
        )
        left = NO_LIMIT if self._max_plies is None else self._max_plies - int(state.ply)
        return position, self._start(position, left)

    def _start(self, position: Position, plies_left: int) -> list[int]:
        """Prepares the search of a position; returns its legal actions in ascending order."""
        self.nodes = 0
        self._search.counts[PLIES_LEFT] = plies_left
        self._function(start_move)(self._search)
        moves = self._search.moves
        number = self._function(write_moves)(self._function(legal_sources)(*position[:4]), moves, 0)
        return sorted(int(moves[place]) for place in range(number))

    def _value_after(self, position: Position, action: int, depth: int, alpha: int, beta: int) -> int:
        """Returns the value of an action with `depth` levels to go. Raises OutOfTimeError."""
        *words, kind = self._function(moved)(*position[:3], action)
        after = Position(*words, quiet=self._function(quiet_after)(self._search, position.quiet, kind))
        if after.jumper:
            return self._clock.run(functools.partial(self._value, after, depth, alpha, beta))
        return -self._clock.run(functools.partial(self._value, after, depth - 1, -beta, -alpha))

    def _value(self, position: Position, depth: int, alpha: int, beta: int, max_nodes: int) -> tuple[int, int]:
        """Returns the value of a position one ply from the root for its mover, and the nodes. Raises OutOfTimeError."""
        counts = self._search.counts
        counts[NODES], counts[MAX_NODES] = 0, max_nodes
        value = self._function(value_of)(self._search, *position, 1, depth, alpha, beta, 0)
        self.nodes += int(counts[NODES])
        if counts[NODES] > max_nodes:
            raise OutOfTimeError
        return int(value), int(counts[NODES])


def make_player(
    env: Checkers, depth: int | None = None, milliseconds: int | None = None, evaluation: str = "positional"
) -> CheckersPlayer:
    """Returns the player of a game of checkers.

    Args:
      env: the game.
      depth: turns that the search looks ahead, before it follows captures to their end. None: 6, or with a limit of
        time as many as fit.
      milliseconds: the time of a move. None: no limit.
      evaluation: "positional", or "material", which counts men, kings and the rows that men have advanced.

    Raises ParameterError (a ValueError) for a value that is not allowed.
    """
    depth = settled_depth(depth, milliseconds, DEFAULT_DEPTH)
    check_choice("evaluation", evaluation, WEIGHTS)
    return CheckersPlayer(env, depth, milliseconds, evaluation)


@functools.lru_cache(maxsize=8)
def _evaluator(env: Checkers, depth: int, evaluation: str) -> CheckersPlayer:
    return make_player(env, depth=depth, evaluation=evaluation)


def evaluate(env: Env[Any], state: Any, depth: int = DEFAULT_DEPTH, evaluation: str = "positional") -> Evaluation:
    """Returns the values of a live board and of each of its legal actions for the mover, in men.

    Args:
      env: checkers, or a `Wrapper` of it that keeps its rules.
      state: a live board of `env`.
      depth: turns that the search looks ahead, before it follows captures to their end.
      evaluation: as for `make_player`.

    Raises ParameterError (a ValueError) for another game or a value that is not allowed, and ValueError for a board
    that is over.
    """
    game, board = live_board(env, state, Checkers)
    return _evaluator(game, depth, evaluation).evaluate(board)
