"""The base of the slow references: rules in plain Python that share nothing with `jaxgames`.

A reference computes the position after a legal action. Illegal actions and finished boards are handled here for all
games, by code of its own and not that of `jaxgames.env`.

`Minimax` searches a reference depth-first, for games of two seats whose rewards sum to zero.
"""

import abc
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Position:
    """The parts of a board that every reference has, besides its pieces."""

    seat: int = 0  # to move
    rewards: tuple[float, ...] = (0.0, 0.0)  # that the last action paid
    terminated: bool = False
    truncated: bool = False

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


P = TypeVar("P", bound=Position)
M = TypeVar("M")


class Reference(abc.ABC, Generic[P, M]):
    """The rules for one set of parameters. P is the type of a position, M that of a move."""

    num_players = 2

    # -- what a game supplies ------------------------------------------------------------------------------

    @abc.abstractmethod
    def start(self) -> P: ...

    @abc.abstractmethod
    def moves(self, position: P) -> dict[int, M]:
        """The legal moves of a live position by the number of their action."""

    @abc.abstractmethod
    def after(self, position: P, move: M) -> P:
        """The position after a legal move, with its rewards and whether it is over."""

    @abc.abstractmethod
    def observation(self, position: P, viewer: int) -> np.ndarray: ...

    @abc.abstractmethod
    def to_string(self, position: P) -> str: ...

    @abc.abstractmethod
    def from_string(self, text: str) -> P: ...

    @abc.abstractmethod
    def move_to_string(self, position: P, move: M) -> str: ...

    def end(self, position: P) -> str:
        """Returns the kind of end that legal play led to, for counting."""
        return "truncated" if position.truncated else "won" if any(position.rewards) else "drawn"

    # -- the same for all games ----------------------------------------------------------------------------

    def legal(self, position: P) -> dict[int, M]:
        return {} if position.over else self.moves(position)

    def step(self, position: P, action: int, legal: dict[int, M] | None = None) -> P:
        """The position after any action. `legal` is `self.legal(position)` where the caller has it already."""
        nothing = (0.0,) * self.num_players
        if position.over:
            return replace(position, rewards=nothing)
        legal = self.legal(position) if legal is None else legal
        if action not in legal:
            share = 1 / (self.num_players - 1)
            penalty = tuple(-1.0 if seat == position.seat else share for seat in range(self.num_players))
            return replace(position, rewards=penalty, terminated=True)
        return self.after(position, legal[action])


AnyReference = Reference[Any, Any]


@dataclass
class Minimax:
    """The values of positions for the mover, by a look at every move down to a depth."""

    reference: Reference[Any, Any]
    evaluation: Callable[[Any], float]
    """The static evaluation of a position at the end of the search."""
    quiescence: Callable[[Any, int], Sequence[Any] | None]
    """The moves that are tried beside the static evaluation where the depth is at most 0; None: all, and without it."""
    key: Callable[[Any], Hashable]
    """All of a position that its value depends on."""
    reward_unit: float
    """The value of a reward of 1. Each ply makes the value of a win smaller by 1."""
    depth_is_turns: bool = False
    """True: only the last action of a turn uses up depth. False: every action does."""
    memo: dict[Hashable, float] = field(default_factory=dict[Hashable, float])

    def values(self, position: Any, depth: int) -> dict[int, float]:
        """The value of each legal action, in ascending order of the actions."""
        moves = sorted(self.reference.moves(position).items())
        return {action: self._value_of(position, move, depth) for action, move in moves}

    def _value_of(self, position: Any, move: Any, depth: int) -> float:
        """The value of a move."""
        after = self.reference.after(position, move)
        moves_again = after.seat == position.seat
        value = self._value(after, depth if moves_again and self.depth_is_turns else depth - 1)
        sign = 1 if moves_again else -1
        value = self.reward_unit * after.rewards[position.seat] + sign * value
        return value - np.sign(value) * (abs(value) > self.reward_unit / 2)

    def _value(self, position: Any, depth: int) -> float:
        if position.over:
            return 0
        own = self.key(position)
        if (own, depth) not in self.memo:
            tried = None if depth > 0 else self.quiescence(position, depth)
            moves = self.reference.moves(position).values() if tried is None else tried
            values = [self._value_of(position, move, depth) for move in moves]
            self.memo[own, depth] = max(values if tried is None else [self.evaluation(position), *values])
        return self.memo[own, depth]


def random_games(
    reference: Reference[Any, Any],
    rng: np.random.Generator,
    number: int,
    plies: tuple[int, int],
    is_wanted: Callable[[Any], bool] = lambda position: True,
) -> list[Any]:
    """Live positions of random games, one of each game: the first one that is wanted after a random number of plies."""
    positions: list[Any] = []
    while len(positions) < number:
        position, least = reference.start(), int(rng.integers(*plies))
        while not position.over and (position.ply < least or not is_wanted(position)):
            moves = list(reference.moves(position).values())
            position = reference.after(position, moves[int(rng.integers(len(moves)))])
        if not position.over:
            positions.append(position)
    return positions
