"""Chinese Checkers again: slowly, in plain Python, straight from the rules, for the tests to compare with.

Nothing is shared with `jaxgames`, and nothing is clever. A position is a dictionary from the cells (q, r) of
the board, as everybody around the table sees it, to the seat whose peg stands there, or None. A seat's own
frame appears in two places only, where the rules speak of it: the number of an action and the observation.
"""

import re
from dataclasses import dataclass, replace

import numpy as np

Cell = tuple[int, int]  # (q, r) on the absolute board

DIRECTIONS: list[Cell] = [(1, 0), (1, -1), (0, -1), (-1, 0), (-1, 1), (0, 1)]
FORWARD = (4, 5)  # down-left and down-right: away from the mover's home, which is on top
BACKWARD = (1, 2)
TRIANGLES = {2: [0, 3], 3: [0, 2, 4], 4: [0, 1, 3, 4], 6: [0, 1, 2, 3, 4, 5]}  # of seat 0, 1, ...


def plus(cell: Cell, step: Cell, times: int = 1) -> Cell:
    """The cell `times` steps further."""
    return cell[0] + times * step[0], cell[1] + times * step[1]


def turned(cell: Cell, sixths: int) -> Cell:
    """The cell after turning the board clockwise by a number of sixths."""
    for _ in range(sixths % 6):
        cell = (-cell[1], cell[0] + cell[1])
    return cell


@dataclass(frozen=True)
class Position:
    """The whole board and what the last submove paid."""

    pegs: dict[Cell, int | None]
    seat: int  # to move
    chain: tuple[Cell, ...]  # where the hopping peg stood in this turn, its origin first; empty before the first hop
    rounds: int  # full rounds played
    rewards: tuple[float, ...]
    terminated: bool = False
    truncated: bool = False

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


@dataclass(frozen=True)
class Move:
    """A legal submove: `end`, or a peg that goes from one cell to another in a direction of the mover's frame."""

    origin: Cell | None = None
    target: Cell | None = None
    direction: int | None = None
    hop: bool = False


class Reference:
    """The rules for one set of parameters."""

    def __init__(self, size: int, num_players: int, reward: str, max_rounds: int) -> None:
        self.size, self.num_players, self.reward, self.max_rounds = size, num_players, reward, max_rounds
        reach = range(-2 * size, 2 * size + 1)
        # row by row from the top, left to right: r first, then q
        self.cells: list[Cell] = [(q, r) for r in reach for q in reach if self.on_board((q, r))]
        self.index = {cell: i for i, cell in enumerate(self.cells)}
        self.end = 6 * len(self.cells)
        self.triangle = TRIANGLES[num_players]
        top = [(q, r) for q, r in self.cells if r < -size]
        self.home = [{turned(cell, triangle) for cell in top} for triangle in self.triangle]
        self.goal = [{turned(cell, triangle + 3) for cell in top} for triangle in self.triangle]

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
        return Position(pegs, 0, (), 0, self.paid())

    def legal(self, position: Position) -> dict[int, Move]:
        """Every legal submove by the number of its action."""
        if position.over:
            return {}
        pegs, seat, chain = position.pegs, position.seat, position.chain
        sixths = self.triangle[seat]
        steps = [turned(direction, sixths) for direction in DIRECTIONS]  # of the mover's frame, on the absolute board
        moves: dict[int, Move] = {}
        movable = [chain[-1]] if chain else [cell for cell in self.cells if pegs[cell] == seat]
        for origin in movable:
            relative = turned(origin, -sixths)
            for direction, step in enumerate(steps):
                neighbour, behind = plus(origin, step), plus(origin, step, 2)
                action = 6 * self.index[relative] + direction
                if neighbour not in pegs:
                    continue
                if pegs[neighbour] is None:
                    if not chain:
                        moves[action] = Move(origin, neighbour, direction)
                elif behind in pegs and pegs[behind] is None and behind not in chain:
                    moves[action] = Move(origin, behind, direction, hop=True)
        if chain or not moves:
            moves[self.end] = Move()
        return moves

    def step(self, position: Position, action: int, moves: dict[int, Move] | None = None) -> Position:
        """The position after an action, legal or not. `moves` is `legal(position)`, for those who have it already."""
        if position.over:
            return replace(position, rewards=self.paid())
        seat = position.seat
        moves = self.legal(position) if moves is None else moves
        if action not in moves:
            fine = [1 / (self.num_players - 1)] * self.num_players
            fine[seat] = -1.0
            return replace(position, rewards=tuple(fine), terminated=True)
        move = moves[action]

        pegs = dict(position.pegs)
        if move.origin is not None and move.target is not None:
            pegs[move.origin] = None
            pegs[move.target] = seat
        won = self.has_won(pegs, seat)
        rewards = self.paid(seat, move, won)
        if move.hop:
            assert move.origin is not None
            assert move.target is not None
            chain = (*(position.chain or (move.origin,)), move.target)
            return Position(pegs, seat, chain, position.rounds, rewards, terminated=won)
        seat = (seat + 1) % self.num_players
        rounds = position.rounds + (seat == 0)
        truncated = not won and seat == 0 and rounds >= self.max_rounds
        return Position(pegs, seat, (), rounds, rewards, terminated=won, truncated=truncated)

    def has_won(self, pegs: dict[Cell, int | None], seat: int) -> bool:
        return all(pegs[cell] == seat for cell in self.goal[seat])

    def paid(self, seat: int = 0, move: Move | None = None, won: bool = False) -> tuple[float, ...]:
        """What every seat gets for a legal submove of `seat`; nothing without a move."""
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

    # -- what a network sees ------------------------------------------------------------------------------

    def mask(self, position: Position) -> np.ndarray:
        mask = np.zeros(self.end + 1, bool)
        mask[list(self.legal(position))] = True
        return mask

    def observation(self, position: Position, viewer: int | None = None) -> np.ndarray:
        """The board turned so that the viewer's home is on top; the mover looks if nobody is named."""
        viewer = position.seat if viewer is None else viewer
        width = 4 * self.size + 1
        seen = np.zeros((width, width, self.num_players + 2), bool)

        def mark(cell: Cell, channel: int) -> None:
            q, r = turned(cell, -self.triangle[viewer])
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

    def move_to_string(self, move: Move) -> str:
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
        return Position(pegs, seat, chain, rounds, self.paid(), terminated=won, truncated=truncated)
