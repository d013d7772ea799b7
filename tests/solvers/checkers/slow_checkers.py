"""Minimax of checkers in slow plain Python: what the tests compare the search with.

It plays by the rules of `tests.games.checkers.reference`, and shares nothing with `jaxgames` but the state's type and
the numbers of actions. It looks at every move, in the order of the rules, and remembers only what it has computed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jaxgames.games.checkers import CheckersState
from tests.games.checkers.reference import PDN, Position, Reference, seen

WIN = 100_000


def material(position: Position) -> int:
    """100 for a man, 150 for a king, 2 for each row that a man has advanced; of the side to move, less its opponent."""
    total = 0
    for square, piece in position.pieces.items():
        worth = 150 if piece.king else 100 + 2 * (7 - seen(square, piece.seat)[0])
        total += worth if piece.seat == position.seat else -worth
    return total


def positional(position: Position) -> int:
    """Returns the evaluation "positional", in hundredths of a man.

    A king counts 150, and 20 more on the 8 squares in the centre. A man counts 100, 1 more for each row that it has
    advanced, 20 on its first row, and 4 at the edge. Each half man of a lead counts 150 divided by the number of
    pieces, rounded down.
    """
    total = lead = 0
    for square, piece in position.pieces.items():
        row, column = seen(square, piece.seat)
        sign = 1 if piece.seat == position.seat else -1
        if piece.king:
            worth = 150 + 20 * (row in range(2, 6) and column in range(2, 6))
        else:
            worth = 100 + (7 - row) + 20 * (row == 7) + 4 * (column in (0, 7))
        total += sign * worth
        lead += sign * (3 if piece.king else 2)
    return total + int(np.sign(lead)) * (150 * abs(lead) // len(position.pieces))


EVALUATIONS: dict[str, Callable[[Position], int]] = {"material": material, "positional": positional}


@dataclass
class Minimax:
    """The values of positions for the side to move. A level is a whole turn.

    Captures are followed to their end. One turn more follows the last level where the opponent threatens to capture.
    """

    reference: Reference
    evaluation: str = "material"
    memo: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])

    def values(self, position: Position, depth: int) -> dict[int, int]:
        """The value of each action, in ascending order of the actions."""
        moves = sorted(self.reference.moves(position).items())
        return {action: self.after(position, self.reference.after(position, move), depth) for action, move in moves}

    def after(self, position: Position, after: Position, depth: int) -> int:
        """The value of a move for the side that made it. A win is worth less by 1 for each ply."""
        goes_on = after.seat == position.seat
        value = self.value(after, depth if goes_on else depth - 1)
        value -= np.sign(value) * (abs(value) > WIN // 2)
        return int(value if goes_on else -value)

    def value(self, position: Position, depth: int) -> int:
        key = (frozenset(position.pieces.items()), position.seat, position.jumper, position.quiet, position.ply, depth)
        if key not in self.memo:
            self.memo[key] = self._value(position, depth)
        return self.memo[key]

    def _value(self, position: Position, depth: int) -> int:
        if position.terminated and any(position.rewards):
            return -WIN  # the side to move cannot move
        if position.over:
            return 0
        moves = self.reference.available(position)
        if depth <= 0 and moves[0].captured is None and not (depth == 0 and self.is_threatened(position)):
            return EVALUATIONS[self.evaluation](position)
        return max(self.after(position, self.reference.after(position, move), depth) for move in moves)

    def is_threatened(self, position: Position) -> bool:
        """Returns whether the opponent could capture if it were to move."""
        theirs = [square for square, piece in position.pieces.items() if piece.seat != position.seat]
        return any(self.reference.jumps(position.pieces, square) for square in theirs)


def random_games(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions of random games, one of each game, at a random ply up to 100."""
    found: list[Position] = []
    while len(found) < number:
        position = reference.start()
        for _ in range(int(rng.integers(100))):
            moves = reference.available(position)
            position = reference.after(position, moves[int(rng.integers(len(moves)))])
            if position.over:
                break
        else:
            found.append(position)
    return found


def near_limits(
    positions: list[Position], rng: np.random.Generator, quiet_limit: int, max_plies: int | None
) -> Iterator[Position]:
    """The same positions a few plies before a draw, and before the limit of plies where there is one."""
    for position in positions:
        quiet = 0 if position.jumper else quiet_limit - int(rng.integers(1, 6))
        ply = position.ply if max_plies is None else max_plies - int(rng.integers(1, 8))
        yield replace(position, quiet=quiet, ply=ply)


def state_of(position: Position) -> CheckersState:
    """A live position as a state on the host."""

    def word(squares: list[tuple[int, int]]) -> np.uint32:
        numbers = [PDN[square] - 1 if position.seat == 1 else 32 - PDN[square] for square in squares]
        return np.uint32(sum(1 << number for number in numbers))

    pieces = position.pieces.items()
    leaves: dict[str, Any] = {
        "current_player": np.int32(position.seat),
        "rewards": np.zeros(2, np.float32),
        "terminated": np.bool_(False),
        "truncated": np.bool_(False),
        "own": word([square for square, piece in pieces if piece.seat == position.seat]),
        "opponents": word([square for square, piece in pieces if piece.seat != position.seat]),
        "kings": word([square for square, piece in pieces if piece.king]),
        "jumper": word([position.jumper] if position.jumper else []),
        "quiet": np.int16(position.quiet),
        "ply": np.int32(position.ply),
    }
    return CheckersState(**leaves)
