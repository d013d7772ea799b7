"""Whole moves of checkers on the host: a turn is one path of squares, also where it has several jumps.

The env plays one jump per action, but people write one move per turn and may leave out the squares between. So this
module lists all legal paths of a turn. Squares are PDN numbers for both seats; 0 is outside of the board.
`tests/games/checkers/test_whole_moves.py` compares the moves with the env.
"""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from jaxgames.games.checkers.rules import Checkers, CheckersState, shift

Path = tuple[int, ...]  # the first square is the piece's, the others are those on which it stops
Pieces = dict[int, tuple[int, str]]  # the seat and "man" or "king" of the piece on each square

LAST_ROW = ((29, 30, 31, 32), (1, 2, 3, 4))  # by seat, where its men become kings


class Way(NamedTuple):
    """One direction from a square."""

    action: int  # the env's, for the seat that moves
    near: int  # the next square
    far: int  # the square behind it


@dataclass(slots=True)
class Board:
    """A position on the host, which `play` changes."""

    seat: int  # to move
    pieces: Pieces
    jumper: int | None = None  # the square of the piece that must jump again; None at the beginning of a turn

    @classmethod
    def of(cls, state: CheckersState) -> Self:
        """Returns the position of one board of the env."""
        env = Checkers()
        return cls(int(state.current_player), env.pieces_of(state), env.jumper(state))

    def legal_paths(self) -> list[Path]:
        """Returns all legal moves of the turn; in the middle of a capture, all ways to complete it."""
        own = [square for square, (seat, _) in self.pieces.items() if seat == self.seat]
        movers = sorted(own) if self.jumper is None else [self.jumper]
        captures = [path for square in movers for path in self._captures(square)]
        return captures or [
            (square, near) for square in movers for _, near, _ in self._ways(square) if near and near not in self.pieces
        ]

    def play(self, path: Path) -> list[int]:
        """Plays a legal path, or the first jumps of one. Returns the env's actions, one per step or jump."""
        actions: list[int] = []
        for square, target in itertools.pairwise(path):
            way = next(way for way in self._ways(square) if target in (way.near, way.far))
            _, kind = self.pieces.pop(square)
            captured = self.pieces.pop(way.near, None)
            is_crowned = kind == "man" and target in LAST_ROW[self.seat]
            self.pieces[target] = (self.seat, "king" if is_crowned else kind)
            self.jumper = target if captured and not is_crowned and self._captures(target) else None
            actions.append(way.action)
        if self.jumper is None:
            self.seat = 1 - self.seat
        return actions

    def path_of(self, actions: Iterable[int]) -> Path:
        """Returns the path of one turn, which the next actions of a game make, or a part of it if the actions end.

        It takes no more actions than it needs. Raises ValueError for an illegal action.
        """
        legal = self.legal_paths()
        path: Path = ()
        for action in actions:
            square, near, far = _squares(self.seat).get(action, (0, 0, 0))
            path = (*(path or (square,)), far if self.pieces.get(near, (self.seat,))[0] != self.seat else near)
            if path[-2] != square or not any(longer[: len(path)] == path for longer in legal):
                raise ValueError(f"action {action} is illegal here, where {texts_of(legal)} can be played")
            if path in legal:
                break
        return path

    def _ways(self, square: int) -> list[Way]:
        return _ways(self.seat, self.pieces[square][1])[square]

    def _captures(self, square: int) -> list[Path]:
        """Returns the captures of the piece on a square, each to its end."""
        return [(square, *rest) for rest in _jumps(*self.pieces[square], square, square, self.pieces)]


def _jumps(seat: int, kind: str, origin: int, square: int, pieces: Pieces) -> list[Path]:
    """Returns the squares after `square` of every capture from there by the piece that stands on `origin`.

    A captured piece leaves the board at once.
    """
    paths: list[Path] = []
    for _, near, far in _ways(seat, kind)[square]:
        if far and (far not in pieces or far == origin) and pieces.get(near, (seat,))[0] != seat:
            rest = {other: piece for other, piece in pieces.items() if other != near}
            is_crowned = kind == "man" and far in LAST_ROW[seat]
            paths += [(far, *more) for more in (not is_crowned and _jumps(seat, kind, origin, far, rest)) or [()]]
    return paths


def text_of(path: Path) -> str:
    """Returns `11-15` for a step, `26x17x10` for a capture."""
    is_capture = abs((path[0] - 1) // 4 - (path[1] - 1) // 4) == 2  # rows of the board
    return ("x" if is_capture else "-").join(map(str, path))


def visits(path: Path, squares: Path) -> bool:
    """Returns whether a path has these squares in this order, with others between them or not."""
    following = iter(path)
    return all(square in following for square in squares)


def texts_of(paths: Iterable[Path]) -> str:
    """Returns moves as one text for a message, in their order on the board; "no move" if there is none."""
    return ", ".join(map(text_of, sorted(paths))) or "no move"


@functools.cache
def _ways(seat: int, kind: str) -> dict[int, list[Way]]:
    """Returns the directions in which a seat's man or king may go, by its square."""
    number = {1 << index: index + 1 if seat == 1 else 32 - index for index in range(32)} | {0: 0}
    ways: dict[int, list[Way]] = {}
    for index, direction in itertools.product(range(32), range(4) if kind == "king" else (0, 3)):
        near = shift(np.uint32(1 << index), direction)
        way = Way(4 * index + direction, number[int(near)], number[int(shift(near, direction))])
        ways.setdefault(number[1 << index], []).append(way)
    return ways


@functools.cache
def _squares(seat: int) -> dict[int, Path]:
    """Returns by action of a seat the squares from which it goes, next to it and behind that."""
    return {way.action: (square, way.near, way.far) for square, ways in _ways(seat, "king").items() for way in ways}
