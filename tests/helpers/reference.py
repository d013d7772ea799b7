"""The base of the slow references: rules in plain Python that share nothing with `jaxgames`.

A reference computes the position after a legal action. Illegal actions and finished boards are handled here for all
games, by code of its own and not that of `jaxgames.env`.
"""

import abc
from dataclasses import dataclass, replace
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
