"""The player of 5 x 5 chess behind the agent `alphabeta`, and the values of a position's moves.

    player = make_player(env, depth=4)
    action = player.choose(state, seed=0)

    found = evaluate(env, state, depth=4)       # Evaluation(value, actions, values), in pawns

The search is that of jaxgames/solvers/minichess/search.py. It is deepened level by level up to `depth`; a level is one
move. How a move is chosen, and how its time is kept: jaxgames/solvers/alphabeta/deepening.py.

The search plays for the win by the rules, under both values of the env's `reward`. `expected_return` turns its values
into the unit of the rewards.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames._checks import check_choice
from jaxgames.env import Env
from jaxgames.games.minichess import Minichess, MinichessState
from jaxgames.games.minichess_board import KING, VALUES
from jaxgames.solvers.alphabeta.clock import OutOfTimeError
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for
from jaxgames.solvers.alphabeta.deepening import TABLE_SIZE, DeepeningPlayer, Evaluation, live_board, settled_depth
from jaxgames.solvers.alphabeta.deepening import plies_to_end as plies_to_end
from jaxgames.solvers.alphabeta.table import LEAST_WIN, NO_LIMIT
from jaxgames.solvers.minichess.evaluation import WEIGHTS, evaluation
from jaxgames.solvers.minichess.moves import moved, turned, words_of, write_legal_moves
from jaxgames.solvers.minichess.search import (
    DOUBLE_STEP,
    KING_CAPTURE,
    MAX_NODES,
    NODES,
    PLIES_LEFT,
    QUEEN_ONLY,
    ROOT_QUIET,
    Search,
    make_search,
    start_move,
    value_of,
)

DEFAULT_DEPTH = 4  # without a limit of time
SCALE = 500.0  # the value, in hundredths of a pawn, with the expected result tanh(1); docs/games/minichess.md
KING_REWARD = VALUES[KING] / 1000  # that the capture of a king pays with reward="material"


class Position(NamedTuple):
    """A position at the root; see jaxgames/solvers/minichess/moves.py."""

    own: int
    ones: int
    twos: int
    fours: int
    quiet: int  # plies since the last capture or pawn move
    repeats: int  # 1 if a position of these plies occurred before


class MinichessPlayer(DeepeningPlayer[MinichessState, Position]):
    """Chooses actions on one board at a time. Its arrays are work space: a move does not depend on earlier ones."""

    def __init__(
        self,
        env: Minichess,
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
        super().__init__(depth, milliseconds)
        compiled = HAS_NUMBA if compiled is None else compiled
        self._env = env
        self._function = function_for(compiled)
        self._search: Search = make_search(WEIGHTS[evaluation], table_size, compiled)
        counts = self._search.counts
        counts[KING_CAPTURE] = int(env.rules == "king_capture")
        counts[DOUBLE_STEP] = int(env.double_step)
        counts[QUEEN_ONLY] = int(env.promotion == "queen")
        self._clock.start(math.inf, NO_LIMIT)
        start = jax.device_get(env.init())
        for _ in range(2):  # the first call can compile, the second one measures the speed
            position, actions = self._read(start)
            dict(self._valued(position, actions, 2, only_best=True))
            self.expected_return(start, 0)

    def analyse(self, state: MinichessState) -> tuple[list[int], float]:
        """Returns the actions from which `choose` draws on a live board, and the expected return of the mover.

        The value is that of a search to the whole depth, without a clock.
        """
        position, actions = self._read(state)
        self._clock.start(math.inf, NO_LIMIT)
        best, value = self._deepened(position, actions)
        return best, self.expected_return(state, value)

    def expected_return(self, state: MinichessState, value: int) -> float:
        """Returns an estimate of the mover's return on a live board, in the unit of the env's rewards.

        The expected result is 1 or -1 for a win or a loss that the search has seen, else tanh(value / SCALE). It is the
        return with reward="win_loss". With reward="material" the return is the lead in material that the search gains.
        Under "king_capture" it also has the expected result times the reward of a captured king.

        Args:
          state: the board, on the host.
          value: of a search, in hundredths of a pawn.
        """
        is_decided = abs(value) >= LEAST_WIN
        result = math.copysign(1.0, value) if is_decided else math.tanh(value / SCALE)
        if self._env.reward == "win_loss":
            return result
        search = self._search
        now = self._function(evaluation)(search.weights, search.tables, *words_of(state))
        gain = 0.0 if is_decided else (value - now) / 1000
        return gain + (KING_REWARD * result if self._env.rules == "king_capture" else 0.0)

    def _read(self, state: MinichessState) -> tuple[Position, list[int]]:
        """Prepares the search of a live board; returns its position, and its legal actions in ascending order."""
        self.nodes = 0
        search, quiet = self._search, int(state.quiet)
        counts = search.counts
        own, ones, twos, fours = words = words_of(state)
        repeats = 0
        if state.history is not None:
            low, high = np.asarray(state.history)[:, : quiet + 1].astype(np.int64)
            hashes = (low | (high & 0x3FFFFFFF) << 32).tolist()
            for place, word in enumerate(hashes):
                search.hashes[place] = word
            known = [(place % 2, word) for place, word in enumerate(hashes) if word]
            repeats = int(len({*known}) < len(known))
        counts[ROOT_QUIET] = quiet
        counts[PLIES_LEFT] = self._env.max_steps - int(state.ply)
        self._function(start_move)(search)
        rules = (counts[KING_CAPTURE], counts[DOUBLE_STEP], counts[QUEEN_ONLY])
        number = self._function(write_legal_moves)(search.tables, *words, *rules, search.moves, 0)
        actions = sorted(int(search.moves[place]) for place in range(number))
        return Position(own, ones, twos, fours, quiet, repeats), actions

    def _value_after(self, position: Position, action: int, depth: int, alpha: int, beta: int) -> int:
        """Returns the value of an action with `depth` levels to go. Raises OutOfTimeError."""
        *after, is_irreversible = self._function(moved)(self._search.tables, *position[:4], action)
        own, ones, twos, fours = self._function(turned)(*after)
        quiet = 0 if is_irreversible else position.quiet + 1
        follower = Position(own, ones, twos, fours, quiet, position.repeats)
        return -self._clock.run(functools.partial(self._value, follower, depth - 1, -beta, -alpha))

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
    env: Minichess, depth: int | None = None, milliseconds: int | None = None, evaluation: str = "positional"
) -> MinichessPlayer:
    """Returns the player of a game of 5 x 5 chess.

    Args:
      env: the game.
      depth: moves that the search looks ahead, before it follows captures to their end. None: 4, or with a limit of
        time as many as fit.
      milliseconds: the time of a move. None: no limit.
      evaluation: "positional", or "material", which counts the values of the pieces.

    Raises ParameterError (a ValueError) for a value that is not allowed.
    """
    depth = settled_depth(depth, milliseconds, DEFAULT_DEPTH)
    check_choice("evaluation", evaluation, WEIGHTS)
    return MinichessPlayer(env, depth, milliseconds, evaluation)


@functools.lru_cache(maxsize=8)
def _evaluator(env: Minichess, depth: int, evaluation: str) -> MinichessPlayer:
    return make_player(env, depth=depth, evaluation=evaluation)


def evaluate(env: Env[Any], state: Any, depth: int = DEFAULT_DEPTH, evaluation: str = "positional") -> Evaluation:
    """Returns the values of a live board and of each of its legal actions for the mover, in pawns.

    Args:
      env: minichess, or a `Wrapper` of it that keeps its rules.
      state: a live board of `env`.
      depth: moves that the search looks ahead, before it follows captures to their end.
      evaluation: as for `make_player`.

    Raises ParameterError (a ValueError) for another game or a value that is not allowed, and ValueError for a board
    that is over.
    """
    game, board = live_board(env, state, Minichess)
    return _evaluator(game, depth, evaluation).evaluate(board)
