"""Whole moves of checkers on the host: a turn is one path of squares, also where it has several jumps.

The env plays one jump per action, but people write one move per turn and may leave out the squares between. So this
module lists all legal paths of a turn. A position is a few Python integers: bit i is PDN square i + 1 for both seats.
The neighbours of a square are from `rules.shift`; `tests/games/checkers/test_whole_moves.py` compares the rest with
the env.
"""

import functools
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from jaxgames.games.checkers.rules import CheckersState, shift

Path = tuple[int, ...]  # PDN squares: the first is the piece's, the others are those on which it stops

_CROWNING = (0xF0000000, 0x0000000F)  # by seat, the row on which its men become kings


class _Way(NamedTuple):
    """One direction from a square. A set outside of the board is 0."""

    action: int  # the env's, for the seat that moves
    near: int  # the set of the next square
    far: int  # the set of the square behind it


@dataclass(slots=True)
class Board:
    """A position on the host, which `play` changes."""

    seat: int  # to move
    own: int  # the set of the mover's pieces
    opponents: int
    kings: int  # of both seats
    jumper: int = 0  # the set of the piece that must jump again; 0 at the beginning of a turn

    @classmethod
    def of(cls, state: CheckersState) -> Self:
        """Returns the position of one board of the env."""
        seat = int(state.current_player)
        words = (state.own, state.opponents, state.kings, state.jumper)
        return cls(seat, *(_printed(np.uint32(word), seat) for word in words))

    def legal_paths(self) -> list[Path]:
        """Returns all legal moves of the turn; in the middle of a capture, all ways to complete it."""
        origins = _single_bits(self.jumper or self.own)
        captures = [path for origin in origins for path in self._captures(origin)]
        if captures:
            return captures
        occupied = self.own | self.opponents
        return [
            (origin.bit_length(), way.near.bit_length())
            for origin in origins
            for way in _ways(self.seat, bool(self.kings & origin))[origin]
            if way.near & ~occupied
        ]

    def play(self, path: Path) -> list[int]:
        """Plays a legal path, or the first jumps of one. Returns the env's actions, one per step or jump."""
        actions: list[int] = []
        for square, target in itertools.pairwise(path):
            origin, to = 1 << square - 1, 1 << target - 1
            is_man = not self.kings & origin
            way = next(way for way in _ways(self.seat, not is_man)[origin] if to in (way.near, way.far))
            captured = way.near & self.opponents
            is_crowned = is_man and bool(to & _CROWNING[self.seat])
            self.own = self.own & ~origin | to
            self.opponents &= ~captured
            self.kings = self.kings & ~(origin | captured) | (0 if is_man and not is_crowned else to)
            self.jumper = to if captured and not is_crowned and self._captures(to) else 0
            actions.append(way.action)
        if not self.jumper:
            self.seat, self.own, self.opponents = 1 - self.seat, self.opponents, self.own
        return actions

    def path_of(self, actions: Iterable[int]) -> Path:
        """Returns the path of one turn, which the next actions of a game make, or a part of it if the actions end.

        It takes no more actions than it needs. Raises ValueError for an illegal action.
        """
        legal = self.legal_paths()
        path: Path = ()
        for action in actions:
            square, near, far = _squares(self.seat).get(action, (0, 0, 0))
            is_jump = near > 0 and self.opponents >> near - 1 & 1
            path = (*(path or (square,)), far if is_jump else near)
            if path[-2] != square or not any(longer[: len(path)] == path for longer in legal):
                raise ValueError(f"action {action} is illegal here, where {texts_of(legal)} can be played")
            if path in legal:
                break
        return path

    def _captures(self, origin: int) -> list[Path]:
        """Returns the captures of the piece on a square, each to its end."""
        is_king, empty = bool(self.kings & origin), ~(self.own | self.opponents) | origin
        square = origin.bit_length()
        return [(square, *rest) for rest in _jumps(self.seat, is_king, origin, empty, self.opponents)]


def _jumps(seat: int, is_king: bool, origin: int, empty: int, opponents: int) -> list[Path]:
    """Returns the squares after `origin` of every capture from it. A captured piece leaves the board at once."""
    paths: list[Path] = []
    for way in _ways(seat, is_king)[origin]:
        if way.near & opponents and way.far & empty:
            is_crowned = not is_king and way.far & _CROWNING[seat]
            more = [] if is_crowned else _jumps(seat, is_king, way.far, empty | way.near, opponents & ~way.near)
            paths += [(way.far.bit_length(), *rest) for rest in more or [()]]
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


# -- squares and sets ------------------------------------------------------------------------------------------------


@functools.cache
def _ways(seat: int, is_king: bool) -> dict[int, list[_Way]]:
    """Returns the directions in which a seat's piece may go, by the set of its square."""
    found: dict[int, list[_Way]] = {}
    for index in range(32):
        origin = np.uint32(1 << index)  # in the mover's frame
        for direction in range(4) if is_king else (0, 3):
            near = shift(origin, direction)
            way = _Way(4 * index + direction, _printed(near, seat), _printed(shift(near, direction), seat))
            found.setdefault(_printed(origin, seat), []).append(way)
    return found


@functools.cache
def _squares(seat: int) -> dict[int, Path]:
    """Returns by action of a seat the PDN squares from which it goes, next to it and behind that; 0 for none."""
    return {
        way.action: (origin.bit_length(), way.near.bit_length(), way.far.bit_length())
        for origin, ways in _ways(seat, is_king=True).items()
        for way in ways
    }


def _printed(word: np.uint32, seat: int) -> int:
    """Returns a set of the mover's frame with bit i for PDN square i + 1."""
    return int(word) if seat == 1 else int(f"{int(word):032b}"[::-1], 2)


def _single_bits(word: int) -> list[int]:
    """Returns the sets of one square of which a set is made."""
    bits: list[int] = []
    while word:
        bits.append(word & -word)
        word &= word - 1
    return bits
