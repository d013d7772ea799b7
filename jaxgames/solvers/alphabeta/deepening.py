"""Iterative deepening at the root, and the player of a game that is searched on the host.

    GAME = SearchedGame(...)                            # what a game supplies

    player = GAME.make_player(env, depth=6)
    action = player.choose(state, seed=0)
    values = player.move_values(state)                  # MoveValues(value, actions, values), in men or pawns

All moves of the best value are found, and one of them is drawn. Python tries the moves of the position itself, and the
game's `alphabeta` searches the positions after them.

Time. Without `milliseconds` every move is searched to its depth. With it, the nodes of a move are limited in proportion
to the time, to so few that most machines finish long before. So the same seed gives the same move. If the time ends
earlier, the best moves so far count: see jaxgames/solvers/alphabeta/clock.py.
"""

import contextlib
import functools
import math
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax

from jaxgames._checks import check_choice, check_int
from jaxgames.solvers.alphabeta.clock import MAX_MILLISECONDS, NO_LIMIT, Clock, OutOfTimeError
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA, function_for
from jaxgames.solvers.alphabeta.search import PLIES_LEFT, Search, new_search
from jaxgames.solvers.alphabeta.table import MAX_DEPTH, MIN_WIN_VALUE, MINUS_INFINITY, WIN

NODES_PER_MILLISECOND = 1000  # a compiled search needs about a fifth of the time for them
SHARE_OF_TIME = 0.8  # of `milliseconds`; the rest is for work that takes longer than expected
TABLE_SIZE = 1 << 18  # entries
UNIT = 100  # the unit of a search is a hundredth of a man or a pawn
MIN_WIN_IN_UNITS = MIN_WIN_VALUE / UNIT


class MoveValues(NamedTuple):
    """The values of a position and of its moves for the mover, in men or pawns.

    A value of at least `MIN_WIN_IN_UNITS` is a win that the search has seen to its end, and its negative is a loss.
    `plies_to_end` reads the distance of the end from it.
    """

    value: float
    actions: list[int]  # the legal actions, in ascending order
    values: list[float]  # of each of them


def plies_to_end(value: float) -> int | None:
    """Returns the plies until the end of the game in a value of `MoveValues`; None for neither a win nor a loss."""
    return round(WIN - UNIT * abs(value)) if abs(value) >= MIN_WIN_IN_UNITS else None


def deepen(
    moves: Iterable[int], depths: Iterable[int], values_at: Callable[[list[int], int], Iterable[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """Returns moves with their values by the deepest search that the clock allows.

    A search that the clock ends has values of its first moves only. Each depth begins with the best moves of the last
    one. `values_at` yields the moves with their values by a search of a depth, until it raises OutOfTimeError.
    """
    ordered, deepest = list(moves), list[tuple[int, int]]()
    for depth in depths:
        valued: list[tuple[int, int]] = []
        with contextlib.suppress(OutOfTimeError):
            valued.extend(values_at(ordered, depth))
        deepest = valued or deepest
        if len(valued) < len(ordered):
            break
        ordered = [move for move, _ in sorted(valued, key=lambda pair: -pair[1])]
    return deepest


@dataclass(frozen=True, eq=False)
class SearchedGame:
    """A game of two seats that sums to zero, and its search."""

    default_depth: int  # without a limit of time
    scale: float  # the value of a search with the expected result tanh(1)
    weights: dict[str, list[int]]  # of the static evaluations, by name
    make_search: Callable[[Any, list[int], int, bool], Search]
    """(env, weights, table_size, compiled): the work space, arrays for compiled functions or lists for plain ones."""
    read: Callable[[Any, Search, Any], tuple[Any, int]]
    """(env, search, state): the position of a live board, and the plies that are left of the game."""
    write_legal_moves: Callable[[Search, Any], int]
    """(search, position): the number of legal actions, which it writes to `search.moves`; can be compiled."""
    alphabeta: Callable[..., int]
    """A function of a module that calls the result of `make_alphabeta`."""
    after: Callable[[Search, Any, int], tuple[Any, bool]]
    """As in `GameFunctions`."""
    expected_return: Callable[[Any, Search, Any, int, float], float] = lambda env, search, state, value, result: result
    """(env, search, state, value, result): the mover's return by the value of a search and the expected result."""

    def make_player(
        self,
        env: Any,
        depth: int | None = None,
        milliseconds: int | None = None,
        evaluation: str = "positional",
    ) -> "HostSearchPlayer":
        """Returns the player of the game.

        Args:
          env: the game.
          depth: turns that the search looks ahead, before it follows captures to their end. None: `default_depth`, or
            with a limit of time as many as fit.
          milliseconds: the time of a move. None: no limit.
          evaluation: the static evaluation. "material" counts the pieces; "positional" adds what wins more games.
        """
        if depth is not None:
            check_int("depth", depth, 1, MAX_DEPTH, " or None")
        if milliseconds is not None:
            check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS, " or None")
        check_choice("evaluation", evaluation, self.weights)
        default = self.default_depth if milliseconds is None else MAX_DEPTH
        return HostSearchPlayer(self, env, default if depth is None else depth, milliseconds, evaluation)


class HostSearchPlayer:
    """Chooses actions on one board at a time. Its arrays are work space: a move does not depend on earlier ones."""

    def __init__(
        self,
        game: SearchedGame,
        env: Any,
        depth: int,
        milliseconds: int | None,
        evaluation: str,
        table_size: int = TABLE_SIZE,
        compiled: bool | None = None,
    ) -> None:
        """Compiles all functions, so that no move waits for that; see also `SearchedGame.make_player`.

        Args:
          table_size: entries of the transposition table, a power of two; 0 for none.
          compiled: whether functions are compiled; None: where numba is installed.
        """
        compiled = HAS_NUMBA if compiled is None else compiled
        self.depth: int = depth
        self.milliseconds: int | None = milliseconds
        self._game, self._env = game, env
        self._clock = Clock()
        functions = (game.alphabeta, game.after, game.write_legal_moves, new_search)
        self._alphabeta, self._after, self._write_legal_moves, self._new_search = map(function_for(compiled), functions)
        self._search = game.make_search(env, game.weights[evaluation], table_size, compiled)
        self._clock.start(math.inf, NO_LIMIT)
        if compiled or milliseconds is not None:
            start = jax.device_get(env.init())
            for _ in range(2):  # the first call can compile, the second one measures the speed
                self._warm_up(start)

    @property
    def nodes(self) -> int:
        """The nodes of the last search."""
        return self._clock.visited

    def choose(self, state: Any, seed: int) -> int:
        """Returns an action of the best value on a live board, drawn with a seed from 0 to 2**32 - 1."""
        return random.Random(seed).choice(self.best_actions(state))

    def best_actions(self, state: Any) -> list[int]:
        """Returns the actions of the best value on a live board, in ascending order. `choose` draws one of them."""
        end, nodes = math.inf, NO_LIMIT
        if self.milliseconds is not None:
            end = self._clock.after(SHARE_OF_TIME * self.milliseconds / 1000)
            nodes = NODES_PER_MILLISECOND * self.milliseconds
        position, actions = self._start(state)
        if len(actions) == 1:
            return actions
        self._clock.start(end, nodes)
        return self._deepened(position, actions)[0]

    def move_values(self, state: Any) -> MoveValues:
        """Returns the values of a live board and of its actions, by a search to the whole depth without a clock."""
        position, actions = self._start(state)
        self._clock.start(math.inf, NO_LIMIT)
        valued: dict[int, int] = {}
        for depth in range(1, self.depth + 1):
            valued = dict(self._values(position, actions, depth, only_best=False))
        return MoveValues(max(valued.values()) / UNIT, actions, [valued[action] / UNIT for action in actions])

    def analyse(self, state: Any) -> tuple[list[int], float]:
        """Returns the actions from which `choose` draws on a live board, and the expected return of the mover.

        The value is found by a search to the whole depth, without a clock; with a limit of time, by as many nodes as it
        allows.
        """
        position, actions = self._start(state)
        nodes = NO_LIMIT if self.milliseconds is None else NODES_PER_MILLISECOND * self.milliseconds
        self._clock.start(math.inf, nodes)
        best, value = self._deepened(position, actions)
        return best, self.expected_return(state, value)

    def expected_return(self, state: Any, value: int) -> float:
        """Returns an estimate of the mover's return on a live board, whose search has a value.

        The expected result is 1 or -1 for a win or a loss that the search has seen, else tanh(value / `scale`).
        """
        is_seen = abs(value) >= MIN_WIN_VALUE
        result = math.copysign(1.0, value) if is_seen else math.tanh(value / self._game.scale)
        return self._game.expected_return(self._env, self._search, state, value, result)

    def _warm_up(self, state: Any) -> None:
        """Calls every compiled function once."""
        position, actions = self._start(state)
        dict(self._values(position, actions, 2, only_best=True))

    def _start(self, state: Any) -> tuple[Any, list[int]]:
        """Begins the search of a live board; returns its position, and its legal actions in ascending order."""
        self._clock.visited = 0
        position, self._search.counts[PLIES_LEFT] = self._game.read(self._env, self._search, state)
        self._new_search(self._search)
        number = self._write_legal_moves(self._search, position)
        return position, sorted(int(self._search.moves[place]) for place in range(number))

    def _deepened(self, position: Any, actions: list[int]) -> tuple[list[int], int]:
        """Returns the actions of the best value in ascending order, and the value, as deep as the clock allows.

        Before the first action has a value, all are equal and the value is 0.
        """
        values = functools.partial(self._values, position, only_best=True)
        valued = deepen(actions, range(1, self.depth + 1), values) or [(action, 0) for action in actions]
        highest = max(value for _, value in valued)
        return sorted(action for action, value in valued if value == highest), highest

    def _values(self, position: Any, actions: Iterable[int], depth: int, only_best: bool) -> Iterator[tuple[int, int]]:
        """Yields the actions with their values. With `only_best` values below the best so far are upper bounds.

        Raises OutOfTimeError when the time or the nodes are used up.
        """
        best = MINUS_INFINITY
        for action in actions:
            low = best - 1 if only_best else MINUS_INFINITY
            # Most moves are worse than the best or equal to it, and a null window shows that with less work.
            high = best + 1 if low > MINUS_INFINITY else -MINUS_INFINITY
            value = self._value_after(position, action, depth, low, high)
            if low > MINUS_INFINITY and value > best:
                value = self._value_after(position, action, depth, best, -MINUS_INFINITY)
            best = max(best, value)
            yield action, value

    def _value_after(self, position: Any, action: int, depth: int, alpha: int, beta: int) -> int:
        """Returns the value of an action at a remaining depth. Raises OutOfTimeError."""
        following, moves_again = self._after(self._search, position, action)
        window = (depth, alpha, beta) if moves_again else (depth - 1, -beta, -alpha)
        alphabeta = functools.partial(self._alphabeta, self._search, following, 1, *window, 0)
        value = self._clock.search(self._search.counts, alphabeta)
        return value if moves_again else -value
