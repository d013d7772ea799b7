"""Chinese Checkers in slow plain Python, straight from the rules: what the tests compare the env with.

It shares nothing with `jaxgames`. A position is a dictionary from the cells (q, r) of the board, as everybody around
the table sees it, to the seat whose peg stands there, or None. A seat's own frame appears only where the rules have it:
in the number of an action, in the directions that a bonus is paid for, and in the observation.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

from tests.helpers import reference

Cell = tuple[int, int]  # (q, r) on the absolute board

DIRECTIONS: list[Cell] = [(1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1)]
FORWARD = (4, 5)  # down-left and down-right: away from the mover's home, which is on top
BACKWARD = (1, 2)
TRIANGLES = {2: [0, 3], 3: [0, 2, 4], 4: [0, 1, 3, 4], 6: [0, 1, 2, 3, 4, 5]}  # of seat 0, 1, ...


def plus(cell: Cell, step: Cell, times: int = 1) -> Cell:
    """The cell `times` steps further."""
    return cell[0] + times * step[0], cell[1] + times * step[1]


def rotated(cell: Cell, sixths: int) -> Cell:
    """The cell after the board is rotated clockwise by a number of sixths."""
    for _ in range(sixths % 6):
        cell = (-cell[1], cell[0] + cell[1])
    return cell


@dataclass(frozen=True, kw_only=True)
class Position(reference.Position):
    pegs: dict[Cell, int | None]
    chain: tuple[Cell, ...] = ()  # where the hopping peg stood in this turn, its origin first; empty before a hop
    rounds: int = 0  # full rounds played


@dataclass(frozen=True)
class Move:
    """A legal submove: `end`, or a peg that goes from one cell to another in a direction of the mover's frame."""

    origin: Cell | None = None
    target: Cell | None = None
    direction: int | None = None
    hop: bool = False


class Reference(reference.Reference[Position, Move]):
    """The rules for one set of parameters."""

    def __init__(self, size: int, num_players: int, reward: str = "positive_sum", max_rounds: int = 1000) -> None:
        self.size, self.num_players, self.reward, self.max_rounds = size, num_players, reward, max_rounds
        reach = range(-2 * size, 2 * size + 1)
        # row by row from the top, left to right: r first, then q
        self.cells: list[Cell] = [(q, r) for r in reach for q in reach if self.on_board((q, r))]
        self.index = {cell: i for i, cell in enumerate(self.cells)}
        self.end_turn = 6 * len(self.cells)
        self.triangle = TRIANGLES[num_players]
        top = [(q, r) for q, r in self.cells if r < -size]
        self.home = [{rotated(cell, triangle) for cell in top} for triangle in self.triangle]
        self.goal = [{rotated(cell, triangle + 3) for cell in top} for triangle in self.triangle]
        # each cell in each seat's frame
        self.seen = [{cell: rotated(cell, -triangle) for cell in self.cells} for triangle in self.triangle]

    def on_board(self, cell: Cell) -> bool:
        """A star is two big triangles laid over each other, one pointing up and one down."""
        (q, r), n = cell, self.size
        s = -q - r
        points_down = q <= n and r <= n and s <= n
        points_up = q >= -n and r >= -n and s >= -n
        return points_down or points_up

    # -- the rules ------------------------------------------------------------------------------------

    def start(self) -> Position:
        pegs: dict[Cell, int | None] = dict.fromkeys(self.cells)
        for seat, home in enumerate(self.home):
            pegs |= dict.fromkeys(home, seat)
        return Position(pegs=pegs, rewards=self.paid())

    def moves(self, position: Position) -> dict[int, Move]:
        pegs, seat, chain = position.pegs, position.seat, position.chain
        # of the mover's frame, on the absolute board
        steps = [rotated(direction, self.triangle[seat]) for direction in DIRECTIONS]
        moves: dict[int, Move] = {}
        movable = [chain[-1]] if chain else [cell for cell, owner in pegs.items() if owner == seat]
        for origin in movable:
            number = 6 * self.index[self.seen[seat][origin]]
            for direction, step in enumerate(steps):
                neighbour, behind = plus(origin, step), plus(origin, step, 2)
                if neighbour not in pegs:
                    continue
                if pegs[neighbour] is None:
                    if not chain:
                        moves[number + direction] = Move(origin, neighbour, direction)
                elif behind in pegs and pegs[behind] is None and behind not in chain:
                    moves[number + direction] = Move(origin, behind, direction, hop=True)
        if chain or not moves:
            moves[self.end_turn] = Move()
        return moves

    def after(self, position: Position, move: Move) -> Position:
        seat, pegs = position.seat, dict(position.pegs)
        if move.origin is not None and move.target is not None:
            pegs[move.origin] = None
            pegs[move.target] = seat
        won = self.has_won(pegs, seat)
        after = replace(position, pegs=pegs, rewards=self.paid(seat, move, won), terminated=won)
        if move.hop:
            assert move.origin is not None
            assert move.target is not None
            return replace(after, chain=(*(position.chain or (move.origin,)), move.target))
        next_seat = (seat + 1) % self.num_players
        rounds = position.rounds + (next_seat == 0)
        truncated = not won and next_seat == 0 and rounds >= self.max_rounds
        return replace(after, seat=next_seat, chain=(), rounds=rounds, truncated=truncated)

    def has_won(self, pegs: dict[Cell, int | None], seat: int) -> bool:
        return all(pegs[cell] == seat for cell in self.goal[seat])

    def paid(self, seat: int = 0, move: Move | None = None, won: bool = False) -> tuple[float, ...]:
        """Returns the rewards of all seats for a legal submove of `seat`; zeros without a move."""
        rewards = [0.0] * self.num_players
        if move is None:
            return tuple(rewards)
        if won:
            winner, loser = {
                "sparse": (5 * self.size, -self.size),
                "goal": (5 * self.size, -self.size),
                "movement": (5 * self.size, -self.size),
                "positive_sum": (5 * self.size, 0),
                "win_loss": (self.num_players - 1, -1),
            }[self.reward]
            rewards = [float(loser)] * self.num_players
            rewards[seat] = float(winner)
        if self.reward in ("goal", "positive_sum"):
            goal = self.goal[seat]
            rewards[seat] += 0.1 * ((move.target in goal) - (move.origin in goal))
        if self.reward in ("movement", "positive_sum"):
            rewards[seat] += 0.001 * ((move.direction in FORWARD) - (move.direction in BACKWARD))
        return tuple(rewards)

    def end(self, position: Position) -> str:
        return "truncated" if position.truncated else "won"

    # -- what a network sees -----------------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """The board rotated so that the viewer's home is on top."""
        width = 4 * self.size + 1
        seen = np.zeros((width, width, self.num_players + 2), bool)

        def mark(cell: Cell, channel: int) -> None:
            q, r = self.seen[viewer][cell]
            seen[q + 2 * self.size, r + 2 * self.size, channel] = True

        for cell, owner in position.pegs.items():
            if owner is not None:
                mark(cell, (owner - viewer) % self.num_players)
        for cell in position.chain[:-1]:
            mark(cell, self.num_players)
        for cell in position.chain[-1:]:
            mark(cell, self.num_players + 1)
        return seen

    # -- notation -----------------------------------------------------------------------------------------

    def move_to_string(self, position: Position, move: Move) -> str:
        if move.origin is None or move.target is None:
            return "end"
        return f"{self.index[move.origin]}{'=>' if move.hop else '->'}{self.index[move.target]}"

    def to_string(self, position: Position) -> str:
        rows: dict[int, str] = {}
        for cell in self.cells:
            owner = position.pegs[cell]
            rows[cell[1]] = rows.get(cell[1], "") + ("." if owner is None else str(owner))
        chain = ",".join(str(self.index[cell]) for cell in position.chain) or "-"
        return f"{'/'.join(rows.values())} {position.seat} {chain} {position.rounds}"

    def from_string(self, text: str) -> Position:
        board, seat_text, chain_text, rounds_text = text.split()
        symbols = board.replace("/", "")
        assert len(symbols) == len(self.cells)
        pegs = {cell: None if s == "." else int(s) for cell, s in zip(self.cells, symbols, strict=True)}
        seat, rounds = int(seat_text), int(rounds_text)
        chain = tuple(self.cells[int(i)] for i in re.findall(r"\d+", chain_text))
        last_mover = seat if chain else (seat - 1) % self.num_players
        won = self.has_won(pegs, last_mover)
        truncated = not won and rounds >= self.max_rounds
        return Position(
            pegs=pegs,
            seat=seat,
            chain=chain,
            rounds=rounds,
            rewards=self.paid(),
            terminated=won,
            truncated=truncated,
        )
