"""5 x 5 chess in slow plain Python, straight from the rules: what the tests compare the env with.

It shares nothing with `jaxgames`. A position is a dictionary from the squares (file, rank), as White sees them, to the
letters of FEN. A move is legal if no enemy piece could take the king after it. Earlier positions are kept whole. The
mover's frame appears only where the rules have it: in the number of an action and in the observation.
"""

import functools
import itertools
from dataclasses import dataclass, replace

import numpy as np

from tests.helpers import reference

Square = tuple[int, int]  # (file, rank), (0, 0) is a1
Move = tuple[Square, Square, str]  # from, to, what a pawn becomes or ""

ROOK = [(0, 1), (0, -1), (1, 0), (-1, 0)]
BISHOP = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
KNIGHT = [(1, 2), (2, 1), (-1, 2), (-2, 1), (1, -2), (2, -1), (-1, -2), (-2, -1)]
VALUES = {"p": 100, "n": 280, "b": 320, "r": 479, "q": 929, "k": 60000}

# Planes of the actions by how far a move goes: (files, ranks) seen by the mover.
FAR = [-4, -3, -2, -1, 1, 2, 3, 4]
LINES = [(9, (0, 1)), (17, (1, 0)), (25, (1, 1)), (33, (1, -1))]
JUMPS = [(-2, -1), (-2, 1), (-1, -2), (-1, 2), (2, -1), (2, 1), (1, -2), (1, 2)]
PLANES = {(files * far, ranks * far): first + i for first, (files, ranks) in LINES for i, far in enumerate(FAR)}
PLANES.update({jump: plane for plane, jump in enumerate(JUMPS, 41)})
UNDERPROMOTION_TO = {0: 0, 1: 1, -1: 2}  # by files to the right


@dataclass(frozen=True, kw_only=True)
class Position(reference.Position):
    board: dict[Square, str]
    ply: int = 0
    quiet: int = 0  # plies since the last capture or pawn move
    before: tuple[str, ...] = ()  # earlier positions since the last capture or pawn move

    @property
    def white(self) -> bool:
        """White is to move."""
        return self.seat == 0

    @property
    def rows(self) -> str:
        text = "/".join("".join(self.board.get((file, rank), ".") for file in range(5)) for rank in (4, 3, 2, 1, 0))
        for gap in (5, 4, 3, 2, 1):
            text = text.replace("." * gap, str(gap))
        return f"{text} {'w' if self.white else 'b'}"

    @property
    def fen(self) -> str:
        return f"{self.rows} - - {self.quiet} {self.ply // 2 + 1}"

    @property
    def occurred(self) -> int:
        return self.before.count(self.rows)

    def is_mine(self, square: Square) -> bool:
        return square in self.board and self.board[square].isupper() == self.white

    def is_theirs(self, square: Square) -> bool:
        return square in self.board and self.board[square].isupper() != self.white


def from_fen(text: str) -> Position:
    rows, side, _, _, quiet, move = text.split()
    board: dict[Square, str] = {}
    for rank, row in zip((4, 3, 2, 1, 0), rows.split("/"), strict=True):
        cells = "".join("." * int(letter) if letter.isdigit() else letter for letter in row)
        board |= {(file, rank): letter for file, letter in enumerate(cells) if letter != "."}
    seat = "wb".index(side)
    return Position(board=board, seat=seat, ply=2 * (int(move) - 1) + seat, quiet=int(quiet))


@dataclass(frozen=True)
class Reference(reference.Reference[Position, Move]):
    """The rules for one set of parameters."""

    rows: str = "rnbqk/ppppp/5/PPPPP/RNBQK"  # of the start
    king_capture: bool = False
    material: bool = False
    double_step: bool = False
    queen_only: bool = False
    max_plies: int = 256

    def start(self) -> Position:
        return from_fen(f"{self.rows} w - - 0 1")

    # -- moves ----------------------------------------------------------------------------------------

    def pseudo_legal(self, position: Position) -> list[Move]:
        """The moves of all pieces, the safety of the king left out."""
        moves: list[Move] = []
        for square, letter in position.board.items():
            if not position.is_mine(square):
                continue
            kind = letter.lower()
            if kind == "p":
                moves += self._pawn(position, square)
            elif kind == "n":
                moves += [(square, to, "") for to in self._ride(position, square, KNIGHT, 1)]
            else:
                lines = {"b": BISHOP, "r": ROOK, "q": ROOK + BISHOP, "k": ROOK + BISHOP}[kind]
                moves += [(square, to, "") for to in self._ride(position, square, lines, 1 if kind == "k" else 4)]
        return moves

    def _ride(self, position: Position, square: Square, lines: list[Square], far: int) -> list[Square]:
        reached: list[Square] = []
        for files, ranks in lines:
            for times in range(1, far + 1):
                to = square[0] + files * times, square[1] + ranks * times
                if not inside(to) or position.is_mine(to):
                    break
                reached.append(to)
                if position.is_theirs(to):
                    break
        return reached

    def _pawn(self, position: Position, square: Square) -> list[Move]:
        (file, rank), up = square, 1 if position.white else -1
        reached: list[Square] = []
        if inside((file, rank + up)) and (file, rank + up) not in position.board:
            reached.append((file, rank + up))
            start = 1 if position.white else 3
            if self.double_step and rank == start and (file, rank + 2 * up) not in position.board:
                reached.append((file, rank + 2 * up))
        reached += [to for to in ((file - 1, rank + up), (file + 1, rank + up)) if position.is_theirs(to)]
        becomes = "q" if self.queen_only else "qrbn"
        return [(square, to, piece) for to in reached for piece in (becomes if to[1] in (0, 4) else [""])]

    def moves(self, position: Position) -> dict[int, Move]:
        return self._moves(tuple(position.board.items()), position.seat)

    @functools.lru_cache(maxsize=10_000)  # noqa: B019  # asked twice of most positions; references are few
    def _moves(self, pieces: tuple[tuple[Square, str], ...], seat: int) -> dict[int, Move]:
        position = Position(board=dict(pieces), seat=seat)
        moves = self.pseudo_legal(position)
        if not self.king_capture:
            moves = [m for m in moves if position.board.get(m[1], "").lower() != "k" and self._is_safe(position, m)]
        return {number(position.white, move): move for move in moves}

    def _is_safe(self, position: Position, move: Move) -> bool:
        return not self.can_take_king(replace(position, board=moved(position, move), seat=1 - position.seat))

    def can_take_king(self, position: Position) -> bool:
        return any(position.board.get(to, "").lower() == "k" for _, to, _ in self.pseudo_legal(position))

    # -- the course of the game -----------------------------------------------------------------------

    def after(self, position: Position, move: Move) -> Position:
        board = moved(position, move)
        irreversible = move[1] in position.board or position.board[move[0]] in "pP"
        after = Position(
            board=board,
            seat=1 - position.seat,
            ply=position.ply + 1,
            quiet=0 if irreversible else position.quiet + 1,
            before=() if irreversible else (*position.before, position.rows),
        )
        won, over = self.ended(after)
        mine = float(won)
        if self.material:
            mine = (balance(board) - balance(position.board)) * (1 if position.white else -1) / 1000
        rewards = (mine, -mine) if position.white else (-mine, mine)
        return replace(after, rewards=rewards, terminated=over, truncated=not over and after.ply >= self.max_plies)

    def ended(self, position: Position) -> tuple[bool, bool]:
        """Returns whether the last mover has won, and whether the game is over."""
        stuck = not self.moves(position)
        if self.king_capture:
            won = ("K" if position.white else "k") not in position.board.values()
            return won, won or stuck
        check = self.can_take_king(replace(position, seat=1 - position.seat))
        draw = position.quiet >= 100 or position.occurred >= 2 or is_dead(position.board)
        return stuck and check, stuck or draw

    def end(self, position: Position) -> str:
        if position.truncated:
            return "truncated"
        if self.ended(position)[0]:
            return "won"
        return "third occurrence" if position.occurred >= 2 else "hundred plies" if position.quiet >= 100 else "draw"

    # -- what a network sees --------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """[rows from the top, files] as the viewer sits."""
        white = viewer == 0
        seen = np.zeros((5, 5, 15), bool)
        for (file, rank), letter in position.board.items():
            plane = "pnbrqk".index(letter.lower()) + (0 if letter.isupper() == white else 6)
            seen[4 - rank if white else rank, file, plane] = True
        seen[:, :, 12] = not position.white
        if not self.king_capture:
            seen[:, :, 13] = position.occurred >= 1
            seen[:, :, 14] = position.occurred >= 2
        return seen

    # -- notation -------------------------------------------------------------------------------------

    def move_to_string(self, position: Position, move: Move) -> str:
        return uci(move)

    def to_string(self, position: Position) -> str:
        return position.fen

    def from_string(self, text: str) -> Position:
        """A position whose past is forgotten; it may be over."""
        position = from_fen(text)
        _, over = self.ended(position)
        return replace(position, terminated=over, truncated=not over and position.ply >= self.max_plies)


def inside(square: Square) -> bool:
    return square[0] in range(5) and square[1] in range(5)


def moved(position: Position, move: Move) -> dict[Square, str]:
    origin, target, becomes = move
    board = dict(position.board)
    letter = board.pop(origin)
    board[target] = (becomes.upper() if position.white else becomes) or letter
    return board


def number(white: bool, move: Move) -> int:
    """The action of a move: the mover's own pawns go up."""
    (file, rank), (to_file, to_rank), becomes = move
    if not white:
        rank, to_rank = 4 - rank, 4 - to_rank
    files, ranks = to_file - file, to_rank - rank
    under = becomes in tuple("rbn")
    plane = 3 * "rbn".index(becomes) + UNDERPROMOTION_TO[files] if under else PLANES[files, ranks]
    return 49 * (5 * file + rank) + plane


def mirrored_actions() -> np.ndarray:
    """int[1225], each action with the files mirrored; -1 for those that lead off the board."""
    reflection = np.full(1225, -1)
    squares = [(file, rank) for file in range(5) for rank in range(5)]
    for (origin, to), becomes in itertools.product(itertools.permutations(squares, 2), ("", "r", "b", "n")):
        files, ranks = abs(to[0] - origin[0]), abs(to[1] - origin[1])
        line = files == ranks or 0 in (files, ranks) or {files, ranks} == {1, 2}
        if line and (not becomes or (files <= 1 and to[1] - origin[1] == 1)):
            there = ((4 - origin[0], origin[1]), (4 - to[0], to[1]), becomes)
            reflection[number(True, (origin, to, becomes))] = number(True, there)
    return reflection


def uci(move: Move) -> str:
    origin, target, becomes = move
    return f"{'abcde'[origin[0]]}{origin[1] + 1}{'abcde'[target[0]]}{target[1] + 1}{becomes}"


def balance(board: dict[Square, str]) -> int:
    """White's material less Black's."""
    return sum(VALUES[letter.lower()] * (1 if letter.isupper() else -1) for letter in board.values())


def is_dead(board: dict[Square, str]) -> bool:
    """K-K, K and a minor piece against K, or nothing but bishops of one colour."""
    others = [(square, letter.lower()) for square, letter in board.items() if letter.lower() != "k"]
    if len(others) <= 1:
        return all(letter in "nb" for _, letter in others)
    colors = {(file + rank) % 2 for (file, rank), _ in others}
    return all(letter == "b" for _, letter in others) and len(colors) == 1
