"""The choice of a move by alpha-beta that is deepened level by level, for the players of several games.

    class MyPlayer(DeepeningPlayer[State, Position]): ...

    action = player.choose(state, seed=0)
    found = player.evaluate(state)              # Evaluation(value, actions, values), in men or pawns

All moves of the best value are found, and one of them is drawn. Python tries the moves of the position itself, and a
function of the game searches the positions after them.

Time. Without `milliseconds` every move is searched to its depth. With it, the nodes of a move are limited in proportion
to the time, to so few that most machines finish long before. So the same seed gives the same move. If the time ends
earlier, the best moves so far count: see jaxgames/solvers/alphabeta/clock.py.
"""

import abc
import contextlib
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np

from jaxgames._checks import ParameterError, check_int
from jaxgames.env import Env
from jaxgames.solvers.alphabeta.clock import MAX_MILLISECONDS, Clock, OutOfTimeError
from jaxgames.solvers.alphabeta.table import LEAST_WIN, LOWEST, MAX_DEPTH, NO_LIMIT, WIN
from jaxgames.solvers.exact.solution import check_keeps_rules
from jaxgames.wrappers import game_of, inside

NODES_PER_MILLISECOND = 1000  # a compiled search needs about a fifth of the time for them
SHARE_OF_TIME = 0.8  # of `milliseconds`; the rest is for work that takes longer than expected
TABLE_SIZE = 1 << 18  # entries
UNIT = 100  # the unit of a search is a hundredth of a man or a pawn
LEAST_WIN_IN_UNITS = LEAST_WIN / UNIT

S = TypeVar("S")  # the game's state
P = TypeVar("P")  # a position at the root
G = TypeVar("G", bound=Env[Any])  # the game


class Evaluation(NamedTuple):
    """The values of a position and of its moves for the mover, in men or pawns.

    A value of at least `LEAST_WIN_IN_UNITS` is a win that the search has seen to its end, and its negative is a loss.
    `plies_to_end` reads the distance of the end from it.
    """

    value: float
    actions: list[int]  # the legal actions, in ascending order
    values: list[float]  # of each of them


def plies_to_end(value: float) -> int | None:
    """Returns the plies until the end of the game in a value of an `Evaluation`; None for neither a win nor a loss."""
    return round(WIN - UNIT * abs(value)) if abs(value) >= LEAST_WIN_IN_UNITS else None


def settled_depth(depth: int | None, milliseconds: int | None, default: int) -> int:
    """Returns the depth of a player: without one, `default`, or with a limit of time as many levels as fit.

    Raises ParameterError (a ValueError) for a depth or a time that is not allowed.
    """
    if depth is not None:
        check_int("depth", depth, 1, MAX_DEPTH, " or None")
    if milliseconds is not None:
        check_int("milliseconds", milliseconds, 1, MAX_MILLISECONDS, " or None")
    if depth is None:
        return default if milliseconds is None else MAX_DEPTH
    return depth


def live_board(env: Env[Any], state: Any, game: type[G]) -> tuple[G, Any]:
    """Returns the game inside of wrappers, and its live board on the host.

    Raises ParameterError (a ValueError) for another game or a wrapper with other rules, and ValueError for a board that
    is over.
    """
    check_keeps_rules(env)
    found, board = game_of(env), jax.device_get(inside(env, state)[1])
    if not isinstance(found, game):
        raise ParameterError(f"env must be {game.__name__.lower()}, not {env}")
    if np.any(board.terminated | board.truncated):
        raise ValueError("expected a live board; a board that is over has no moves to value")
    return found, board


class DeepeningPlayer(abc.ABC, Generic[S, P]):
    """Chooses actions on one board at a time. A move does not depend on earlier ones."""

    def __init__(self, depth: int, milliseconds: int | None) -> None:
        self.depth, self.milliseconds = depth, milliseconds
        self.nodes = 0  # that the last search visited
        self._clock = Clock()

    # -- what a game supplies ----------------------------------------------------------------------------------

    @abc.abstractmethod
    def _read(self, state: S) -> tuple[P, list[int]]:
        """Prepares the search of a live board; returns its position, and its legal actions in ascending order."""

    @abc.abstractmethod
    def _value_after(self, position: P, action: int, depth: int, alpha: int, beta: int) -> int:
        """Returns the value of an action with `depth` levels to go. Raises OutOfTimeError."""

    # -- the same for all games --------------------------------------------------------------------------------

    def choose(self, state: S, seed: int) -> int:
        """Returns the action on a live board.

        Args:
          state: the board, on the host.
          seed: of the choice among actions of the best value, from 0 to 2**32 - 1.
        """
        return random.Random(seed).choice(self.best_actions(state))

    def best_actions(self, state: S) -> list[int]:
        """Returns the actions of the best value on a live board, in ascending order. `choose` draws one of them."""
        end, nodes = math.inf, NO_LIMIT
        if self.milliseconds is not None:
            end = self._clock.after(SHARE_OF_TIME * self.milliseconds / 1000)
            nodes = NODES_PER_MILLISECOND * self.milliseconds
        position, actions = self._read(state)
        if len(actions) == 1:
            return actions
        self._clock.start(end, nodes)
        return self._deepened(position, actions)[0]

    def evaluate(self, state: S) -> Evaluation:
        """Returns the values of a live board and of its actions, by a search to the whole depth without a clock."""
        position, actions = self._read(state)
        self._clock.start(math.inf, NO_LIMIT)
        valued: dict[int, int] = {}
        for depth in range(1, self.depth + 1):
            valued = dict(self._valued(position, actions, depth, only_best=False))
        return Evaluation(max(valued.values()) / UNIT, actions, [valued[action] / UNIT for action in actions])

    def _deepened(self, position: P, actions: list[int]) -> tuple[list[int], int]:
        """Returns the actions of the best value in ascending order, and the value, as deep as the clock allows.

        Before the first action has a value, all are equal and the value is 0.
        """
        best, highest, ordered = actions, 0, list(actions)
        for depth in range(1, self.depth + 1):
            valued: dict[int, int] = {}
            with contextlib.suppress(OutOfTimeError):
                valued.update(self._valued(position, ordered, depth, only_best=True))
            if valued:
                highest = max(valued.values())
                best = sorted(action for action, value in valued.items() if value == highest)
            if len(valued) < len(ordered):
                break
            ordered.sort(key=lambda action, valued=valued: -valued[action])
        return best, highest

    def _valued(self, position: P, actions: Iterable[int], depth: int, only_best: bool) -> Iterator[tuple[int, int]]:
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
