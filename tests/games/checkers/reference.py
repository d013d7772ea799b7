"""Checkers in slow plain Python, straight from the rules: what the tests compare the env with.

It shares nothing with `jaxgames`. A position is a dictionary from the dark squares of the printed board (Black,
seat 0, on top) to the pieces on them. A seat's own frame appears only where the contract has it: in the number of an
action and in the observation.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

from tests.helpers import reference

Square = tuple[int, int]  # (row, column) of the printed board

SQUARES: list[Square] = [(row, column) for row in range(8) for column in range(8) if (row + column) % 2 == 1]
PDN = {square: number for number, square in enumerate(SQUARES, start=1)}
FORWARD = (1, -1)  # of seat 0, who moves down the page, and of seat 1
CROWN = (7, 0)  # the row in which each seat's men are crowned
DIRECTIONS: list[Square] = [(-1, 1), (1, 1), (1, -1), (-1, -1)]  # as the mover sees them: up-right, down-right, ...


@dataclass(frozen=True)
class Piece:
    seat: int
    king: bool


@dataclass(frozen=True, kw_only=True)
class Position(reference.Position):
    """The whole board and what the last ply paid."""

    pieces: dict[Square, Piece]
    jumper: Square | None = None  # the piece that must continue its capture
    quiet: int = 0  # plies since the last one that reset the draw counter; turns played, where a lead wins
    ply: int = 0


@dataclass(frozen=True)
class Move:
    """A piece that goes from one square to another, and the square of the piece that it captures if it jumps."""

    origin: Square
    target: Square
    captured: Square | None = None


def plus(square: Square, step: Square, times: int = 1) -> Square:
    """The square `times` steps further."""
    return square[0] + times * step[0], square[1] + times * step[1]


def seen(square: Square, seat: int) -> Square:
    """A square of the printed board as a seat sees it, its own side at the bottom; and back again."""
    return square if seat == 1 else (7 - square[0], 7 - square[1])


class Reference(reference.Reference[Position, Move]):
    """The rules for one set of parameters."""

    def __init__(self, draw_rule: str = "wcdf", max_plies: int | None = None) -> None:
        self.draw_rule, self.max_plies = draw_rule, max_plies

    # -- the rules ------------------------------------------------------------------------------------

    def start(self) -> Position:
        men = {square: Piece(0, False) for square in SQUARES if PDN[square] <= 12}
        men |= {square: Piece(1, False) for square in SQUARES if PDN[square] >= 21}
        return Position(pieces=men)

    def jumps(self, pieces: dict[Square, Piece], origin: Square) -> list[Move]:
        """Over an opponent's piece next to it, to the empty square behind."""
        piece, found = pieces[origin], list[Move]()
        for step in DIRECTIONS:
            over, target = plus(origin, step), plus(origin, step, 2)
            if not piece.king and step[0] != FORWARD[piece.seat]:
                continue
            if over in pieces and pieces[over].seat != piece.seat and target in PDN and target not in pieces:
                found.append(Move(origin, target, over))
        return found

    def steps(self, pieces: dict[Square, Piece], origin: Square) -> list[Move]:
        piece, found = pieces[origin], list[Move]()
        for step in DIRECTIONS:
            target = plus(origin, step)
            if (piece.king or step[0] == FORWARD[piece.seat]) and target in PDN and target not in pieces:
                found.append(Move(origin, target))
        return found

    def available(self, position: Position) -> list[Move]:
        """Jumps if there are any, by the piece that must continue if there is one; else steps."""
        if position.jumper is not None:
            return self.jumps(position.pieces, position.jumper)
        own = [square for square, piece in position.pieces.items() if piece.seat == position.seat]
        jumps = [move for square in own for move in self.jumps(position.pieces, square)]
        return jumps or [move for square in own for move in self.steps(position.pieces, square)]

    def moves(self, position: Position) -> dict[int, Move]:
        return {self.action(position.seat, move): move for move in self.available(position)}

    def action(self, seat: int, move: Move) -> int:
        (row, column), (to_row, to_column) = seen(move.origin, seat), seen(move.target, seat)
        towards = (1 if to_row > row else -1, 1 if to_column > column else -1)
        return 4 * (4 * row + column // 2) + DIRECTIONS.index(towards)

    def after(self, position: Position, move: Move) -> Position:
        seat = position.seat
        pieces = dict(position.pieces)
        piece = pieces.pop(move.origin)
        if move.captured is not None:
            del pieces[move.captured]
        crowned = not piece.king and move.target[0] == CROWN[seat]
        pieces[move.target] = Piece(seat, piece.king or crowned)

        continues = move.captured is not None and not crowned and bool(self.jumps(pieces, move.target))
        progress = move.captured is not None or (self.draw_rule == "wcdf" and not piece.king)
        adjudicated = self.draw_rule == "adjudicated"
        after = Position(
            pieces=pieces,
            seat=seat if continues else 1 - seat,
            jumper=move.target if continues else None,
            quiet=position.quiet + (not continues) if adjudicated else 0 if progress else position.quiet + 1,
            ply=position.ply + 1,
        )
        return self.ended(after)

    def ended(self, position: Position) -> Position:
        """The position marked as won (the side to move is blocked, or one side leads), drawn, truncated or live."""
        if self.draw_rule == "adjudicated" and position.jumper is None:
            winner = self.status_check(position)
            if winner is not None:
                rewards = {0: (1.0, -1.0), 1: (-1.0, 1.0), "draw": (0.0, 0.0)}[winner]
                return replace(position, terminated=True, rewards=rewards)
        blocked = not self.available(position)
        drawn = position.quiet >= {"wcdf": 80, "openspiel": 40, "adjudicated": 61}[self.draw_rule]
        if drawn and self.draw_rule == "openspiel":
            return replace(position, terminated=True)
        if blocked:
            return replace(position, terminated=True, rewards=(1.0, -1.0) if position.seat == 1 else (-1.0, 1.0))
        if drawn:
            return replace(position, terminated=True)
        return replace(position, truncated=self.max_plies is not None and position.ply >= self.max_plies)

    def status_check(self, position: Position) -> int | str | None:
        """The winning seat, "draw" or None: the function of this name in Larson's post, rule by rule."""
        move_count, winner = position.quiet, None
        n_p1 = sum(piece.seat == 0 for piece in position.pieces.values())
        n_p2 = sum(piece.seat == 1 for piece in position.pieces.values())
        piece_differential = n_p1 - n_p2
        if n_p1 == 0:
            winner = 1
        elif n_p2 == 0:
            winner = 0
        elif any(move_count >= turns and abs(piece_differential) > lead for turns, lead in ((40, 2), (50, 3), (60, 0))):
            winner = 0 if piece_differential > 0 else 1
        elif move_count >= 60:
            winner = "draw"
        return winner

    # -- what a network sees ------------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """The board with the viewer at the bottom."""
        planes = np.zeros((8, 4, 5), bool)
        for square, piece in position.pieces.items():
            row, column = seen(square, viewer)
            planes[row, column // 2, 2 * (piece.seat != viewer) + piece.king] = True
        if position.jumper is not None:
            row, column = seen(position.jumper, viewer)
            planes[row, column // 2, 4] = True
        return planes

    # -- notation -----------------------------------------------------------------------------------------

    def move_to_string(self, position: Position, move: Move) -> str:
        return f"{PDN[move.origin]}{'-' if move.captured is None else 'x'}{PDN[move.target]}"

    def to_string(self, position: Position) -> str:
        def side(seat: int) -> str:
            own = sorted((PDN[square], piece.king) for square, piece in position.pieces.items() if piece.seat == seat)
            return ",".join(f"{'K' * king}{number}" for number, king in own)

        onward = "" if position.jumper is None else f":J{PDN[position.jumper]}"
        return f"{'BW'[position.seat]}:W{side(1)}:B{side(0)}{onward}"

    def from_string(self, text: str) -> Position:
        """A position with no plies played, none of them quiet."""
        turn, white, black, *onward = text.split(":")
        pieces: dict[Square, Piece] = {}
        for seat, side in ((1, white), (0, black)):
            for king, number in re.findall(r"(K?)(\d+)", side):
                pieces[SQUARES[int(number) - 1]] = Piece(seat, bool(king))
        jumper = SQUARES[int(onward[0][1:]) - 1] if onward else None
        position = Position(pieces=pieces, seat="BW".index(turn), jumper=jumper)
        return replace(position, terminated=not self.available(position))


# -- positions at random, each a text -----------------------------------------------------------------


def scattered(rng: np.random.Generator, men: tuple[int, int], kings: tuple[int, int]) -> str:
    """That many men and kings of either seat on random squares, a random side to move."""
    squares = rng.permutation(32)[: sum(men) + sum(kings)]
    owners = [
        (seat, king) for king, numbers in enumerate((men, kings)) for seat in (0, 1) for _ in range(numbers[seat])
    ]
    pieces = {SQUARES[square]: Piece(seat, bool(king)) for square, (seat, king) in zip(squares, owners, strict=True)}
    return Reference().to_string(Position(pieces=pieces, seat=int(rng.integers(2))))


def endgames(rng: np.random.Generator, number: int) -> list[str]:
    """Kings and hardly a man: careful players draw, careless ones do not."""
    return [
        scattered(rng, men=(int(rng.integers(2)), int(rng.integers(2))), kings=(int(rng.integers(1, 3)), 1))
        for _ in range(number)
    ]


def hunts(rng: np.random.Generator, number: int) -> list[str]:
    """Two kings on even rows, prey on odd rows of their view: long captures, some back to the square of origin."""
    texts: list[str] = []
    lairs = [square for square in SQUARES if square[0] % 2 == 0]
    paths = [square for square in SQUARES if square[0] % 2 == 1 and 0 < square[0] < 7 and 0 < square[1] < 7]
    for _ in range(number):
        seat = int(rng.integers(2))
        pieces = {seen(lairs[i], seat): Piece(seat, True) for i in rng.permutation(len(lairs))[:2]}
        prey = rng.permutation(len(paths))[: rng.integers(4, 9)]
        pieces |= {seen(paths[i], seat): Piece(1 - seat, False) for i in prey}
        texts.append(Reference().to_string(Position(pieces=pieces, seat=seat)))
    return texts


def crowds(rng: np.random.Generator, number: int) -> list[str]:
    """Any placement: up to 32 pieces, men on their own king row, a side without pieces, blocked sides."""
    texts: list[str] = []
    for _ in range(number):
        pieces = int(rng.integers(2, 33))
        kings, black = int(rng.binomial(pieces, rng.random())), rng.random()
        black_men = int(rng.binomial(pieces - kings, black))
        black_kings = int(rng.binomial(kings, black))
        texts.append(scattered(rng, (black_men, pieces - kings - black_men), (black_kings, kings - black_kings)))
    return texts
