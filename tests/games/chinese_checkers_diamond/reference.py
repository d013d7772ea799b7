"""Chinese Checkers on the diamond in slow plain Python, straight from the rules: what the tests compare the env with.

It shares nothing with `jaxgames`. A position is a dictionary from the cells (row, col) of the board, as seat 0 sees it,
to the seat whose piece stands there; empty cells are left out. A seat's own frame appears only where the rules have it:
in the number of an action and in the observation.
"""

from dataclasses import dataclass

import numpy as np

from tests.helpers import reference

Cell = tuple[int, int]  # (row, col) on the absolute board
Move = tuple[Cell, Cell] | None  # from and to; None is the pass

NEIGHBOURS = [(0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)]


@dataclass(frozen=True, kw_only=True)
class Position(reference.Position):
    pieces: dict[Cell, int]
    ply: int = 0


class Reference(reference.Reference[Position, Move]):
    """The rules for one set of parameters."""

    def __init__(self, size: int, pieces: int, tip_lock: bool = False, max_plies: int = 200) -> None:
        self.size, self.tip_lock, self.max_plies = size, tip_lock, max_plies
        self.cells = [(row, col) for row in range(size) for col in range(size)]
        self.board = set(self.cells)
        corner = sorted(self.cells, key=sum)[:pieces]
        self.home = [set(corner), {self.rotated(cell) for cell in corner}]

    def rotated(self, cell: Cell) -> Cell:
        """The cell after the board is rotated by 180 degrees."""
        return self.size - 1 - cell[0], self.size - 1 - cell[1]

    def seen_by(self, seat: int, cell: Cell) -> Cell:
        """An absolute cell in a seat's frame, and the other way round."""
        return cell if seat == 0 else self.rotated(cell)

    # -- the rules ---------------------------------------------------------------------------------------------

    def start(self) -> Position:
        return Position(pieces={cell: seat for seat in (0, 1) for cell in self.home[seat]})

    def has_won(self, pieces: dict[Cell, int], seat: int) -> bool:
        """The goal, which is the other's home, is full, and one of the pieces in it is the seat's own."""
        there = [pieces.get(cell) for cell in self.home[1 - seat]]
        return None not in there and seat in there

    def is_locked(self, pieces: dict[Cell, int], seat: int) -> bool:
        """The tip of the seat's home is empty and its own pieces stand on the four cells next to it."""
        fence = [self.seen_by(seat, cell) for cell in [(0, 1), (1, 0), (0, 2), (2, 0)]]
        tip = self.seen_by(seat, (0, 0))
        return tip not in pieces and all(pieces.get(cell) == seat for cell in fence)

    def targets(self, pieces: dict[Cell, int], origin: Cell) -> set[Cell]:
        """Where the piece may go if nothing is forbidden: one step, or any number of hops."""
        others = set(pieces) - {origin}  # the piece has been lifted
        row, col = origin
        reached = {(row + down, col + right) for down, right in NEIGHBOURS}
        reached = {cell for cell in reached if cell in self.board and cell not in others}
        seen, waiting = {origin}, [origin]
        while waiting:
            row, col = waiting.pop()
            for down, right in NEIGHBOURS:
                over, landing = (row + down, col + right), (row + 2 * down, col + 2 * right)
                if over in others and landing in self.board and landing not in others and landing not in seen:
                    seen.add(landing)
                    waiting.append(landing)
        return (reached | seen) - {origin}

    def moves(self, position: Position) -> dict[int, Move]:
        seat, moves = position.seat, dict[int, Move]()
        for origin in [cell for cell, owner in position.pieces.items() if owner == seat]:
            for target in self.targets(position.pieces, origin):
                after = self.moved(position.pieces, seat, (origin, target))
                forbidden = self.has_won(after, 1 - seat)
                if self.tip_lock:
                    forbidden |= self.is_locked(after, 0) or self.is_locked(after, 1)
                if not forbidden:
                    moves[self.number(seat, origin) * self.size**2 + self.number(seat, target)] = (origin, target)
        return moves or {0: None}

    def number(self, seat: int, cell: Cell) -> int:
        row, col = self.seen_by(seat, cell)
        return row * self.size + col

    def moved(self, pieces: dict[Cell, int], seat: int, move: Move) -> dict[Cell, int]:
        pieces = dict(pieces)
        if move is not None:
            del pieces[move[0]]
            pieces[move[1]] = seat
        return pieces

    def after(self, position: Position, move: Move) -> Position:
        seat, ply = position.seat, position.ply + 1
        pieces = self.moved(position.pieces, seat, move)
        won = self.has_won(pieces, seat)
        return Position(
            pieces=pieces,
            seat=1 - seat,
            ply=ply,
            rewards=((1.0, -1.0) if seat == 0 else (-1.0, 1.0)) if won else (0.0, 0.0),
            terminated=won,
            truncated=not won and ply >= self.max_plies,
        )

    # -- what a network sees -----------------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """The board rotated so that the viewer's home is at (0, 0)."""
        seen = np.zeros((self.size, self.size, 2), bool)
        for cell, owner in position.pieces.items():
            seen[(*self.seen_by(viewer, cell), int(owner != viewer))] = True
        return seen

    # -- notation ----------------------------------------------------------------------------------------------

    def move_to_string(self, position: Position, move: Move) -> str:
        tip = self.seen_by(position.seat, (0, 0))
        cells = (tip, tip) if move is None else move
        return ">".join(str(row * self.size + col) for row, col in cells)

    def to_string(self, position: Position) -> str:
        rows = [
            "".join(str(position.pieces.get((row, col), ".")) for col in range(self.size)) for row in range(self.size)
        ]
        return f"{'/'.join(rows)} {position.seat} {position.ply}"

    def from_string(self, text: str) -> Position:
        board, seat_text, ply_text = text.split()
        symbols = board.replace("/", "")
        pieces = {cell: int(symbol) for cell, symbol in zip(self.cells, symbols, strict=True) if symbol != "."}
        seat, ply = int(seat_text), int(ply_text)
        won = self.has_won(pieces, 1 - seat)
        return Position(pieces=pieces, seat=seat, ply=ply, terminated=won, truncated=not won and ply >= self.max_plies)
