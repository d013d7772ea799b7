"""The player of checkers behind the agent `alphabeta`, and the values of a position's moves.

    player = make_player(env, depth=6)
    action = player.choose(state, seed=0)

    found = evaluate(env, state, depth=6)       # Evaluation(value, actions, values), in men

The search is that of jaxgames/solvers/checkers_search.py. It is deepened level by level up to `depth`; a level is one
turn. All moves of the best value are found, and one of them is drawn.

Time. Without `milliseconds` every move is searched to its depth. With it, the nodes of a move are limited in proportion
to the time, to so few that most machines finish long before. So the same seed gives the same move. If the time ends
earlier, the best moves so far count: see jaxgames/solvers/_clock.py.
"""

import contextlib
import functools
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames._checks import ParameterError, check_choice, check_int
from jaxgames.env import Env
from jaxgames.games.checkers import QUIET_LIMIT, Checkers, CheckersState
from jaxgames.solvers._clock import MAX_MILLISECONDS, Clock, OutOfTimeError
from jaxgames.solvers._numba import HAS_NUMBA, function_for
from jaxgames.solvers.checkers_evaluation import WEIGHTS
from jaxgames.solvers.checkers_moves import START, legal_sources, moved, write_moves
from jaxgames.solvers.checkers_search import (
    DRAW_AT,
    DRAW_FIRST,
    LEAST_WIN,
    LOWEST,
    MAX_DEPTH,
    MAX_NODES,
    MEN_PROGRESS,
    NO_LIMIT,
    NODES,
    PLIES_LEFT,
    WIN,
    Search,
    make_search,
    quiet_after,
    start_move,
    value_of,
)
from jaxgames.solvers.solution import check_keeps_rules
from jaxgames.wrappers import game_of, inside

DEFAULT_DEPTH = 6  # without a limit of time
NODES_PER_MILLISECOND = 1000  # a compiled search needs about a fifth of the time for them
SHARE_OF_TIME = 0.8  # of `milliseconds`; the rest is for work that takes longer than expected
TABLE_SIZE = 1 << 18  # entries
MEN = 100  # the unit of the search is a hundredth of a man
LEAST_WIN_IN_MEN = LEAST_WIN / MEN


class Evaluation(NamedTuple):
    """The values of a position and of its moves for the mover, in men.

    A value of at least `LEAST_WIN_IN_MEN` is a win that the search has seen to its end, and its negative is a loss.
    `plies_to_end` reads the distance of the end from it.
    """

    value: float
    actions: list[int]  # the legal actions, in ascending order
    values: list[float]  # of each of them


def plies_to_end(value: float) -> int | None:
    """Returns the plies until the end of the game in a value of an `Evaluation`; None for neither a win nor a loss."""
    return round(WIN - MEN * abs(value)) if abs(value) >= LEAST_WIN_IN_MEN else None


class Position(NamedTuple):
    """A position at the root; see jaxgames/solvers/checkers_moves.py."""

    own: int
    opponents: int
    kings: int
    jumper: int
    quiet: int  # plies since the last progress


class CheckersPlayer:
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
        self.depth, self.milliseconds = depth, milliseconds
        self.nodes = 0  # that the last search visited
        self._function = function_for(compiled)
        self._search: Search = make_search(WEIGHTS[evaluation], table_size, compiled)
        counts = self._search.counts
        counts[DRAW_AT] = QUIET_LIMIT[env.draw_rule]
        counts[MEN_PROGRESS] = int(env.draw_rule == "wcdf")
        counts[DRAW_FIRST] = int(env.draw_rule == "openspiel")
        self._max_plies = env.max_plies
        self._clock = Clock()
        self._clock.start(math.inf, NO_LIMIT)
        start = Position(*START, quiet=0)
        for _ in range(2):  # the first call can compile, the second one measures the speed
            dict(self._valued(start, self._start(start, NO_LIMIT), 2, only_best=True))

    def choose(self, state: CheckersState, seed: int) -> int:
        """Returns the action on a live board.

        Args:
          state: the board, on the host.
          seed: of the choice among actions of the best value, from 0 to 2**32 - 1.
        """
        return random.Random(seed).choice(self.best_actions(state))

    def best_actions(self, state: CheckersState) -> list[int]:
        """Returns the actions of the best value on a live board, in ascending order. `choose` draws one of them."""
        end, nodes = math.inf, NO_LIMIT
        if self.milliseconds is not None:
            end = self._clock.after(SHARE_OF_TIME * self.milliseconds / 1000)
            nodes = NODES_PER_MILLISECOND * self.milliseconds
        position, actions = self._read(state)
        best = actions
        if len(actions) == 1:
            return actions
        self._clock.start(end, nodes)
        for depth in range(1, self.depth + 1):
            valued: dict[int, int] = {}
            with contextlib.suppress(OutOfTimeError):
                valued.update(self._valued(position, actions, depth, only_best=True))
            if valued:
                highest = max(valued.values())
                best = sorted(action for action, value in valued.items() if value == highest)
            if len(valued) < len(actions):
                break
            actions.sort(key=lambda action, valued=valued: -valued[action])
        return best

    def evaluate(self, state: CheckersState) -> Evaluation:
        """Returns the values of a live board and of its actions, by a search to the whole depth without a clock."""
        position, actions = self._read(state)
        self._clock.start(math.inf, NO_LIMIT)
        valued: dict[int, int] = {}
        for depth in range(1, self.depth + 1):
            valued = dict(self._valued(position, actions, depth, only_best=False))
        return Evaluation(max(valued.values()) / MEN, actions, [valued[action] / MEN for action in actions])

    def _read(self, state: CheckersState) -> tuple[Position, list[int]]:
        """Returns a live board as a position, and what `_start` returns for it."""
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

    def _valued(
        self, position: Position, actions: Iterable[int], depth: int, only_best: bool
    ) -> Iterator[tuple[int, int]]:
        """Yields the actions with their values. With `only_best` values below the best so far are upper bounds.

        Raises OutOfTimeError when the time or the nodes are used up.
        """
        best = LOWEST
        for action in actions:
            low = best - 1 if only_best else LOWEST
            # Most moves are worse than the best or equal to it, and a narrow window shows that with less work.
            value = self._value_after(position, action, depth, low, best + 1 if low > LOWEST else -LOWEST)
            if low > LOWEST and value > best:
                value = self._value_after(position, action, depth, best, -LOWEST)
            best = max(best, value)
            yield action, value

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
    if depth is not None:
        check_int("depth", depth, 1, MAX_DEPTH, " or None")
    if milliseconds is not None:
        check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS, " or None")
    check_choice("evaluation", evaluation, WEIGHTS)
    if depth is None:
        depth = DEFAULT_DEPTH if milliseconds is None else MAX_DEPTH
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
    check_keeps_rules(env)
    game, board = game_of(env), jax.device_get(inside(env, state)[1])
    if not isinstance(game, Checkers):
        raise ParameterError(f"env must be checkers, not {env}")
    if np.any(board.terminated | board.truncated):
        raise ValueError("expected a live board; a board that is over has no moves to value")
    return _evaluator(game, depth, evaluation).evaluate(board)
