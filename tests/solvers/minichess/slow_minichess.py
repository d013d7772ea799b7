"""Minimax of 5 x 5 chess in slow plain Python: what the tests compare the search with.

It plays by the rules of `tests.games.minichess.reference`, and shares nothing with `jaxgames` but the state's type and
the numbers of actions. It looks at every move, in the order of the rules, and remembers only what it has computed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import jax
import numpy as np

from jaxgames.games.minichess import Minichess, MinichessState
from tests.games.minichess.reference import BISHOP, KNIGHT, ROOK, Move, Position, Reference, Square, inside

WIN = 100_000
MAX_PIECES = 11  # with more, slow Python takes minutes to follow all captures of a position to their end
WORTH = {"p": 100, "n": 280, "b": 320, "r": 479, "q": 929, "k": 2000}
LINES = {"n": KNIGHT, "b": BISHOP, "r": ROOK, "q": ROOK + BISHOP, "k": ROOK + BISHOP}


def material(position: Position) -> int:
    """The values of the pieces of the side to move, less those of its opponent."""
    return sum(WORTH[letter.lower()] * _sign(position, letter) for letter in position.board.values())


def positional(position: Position) -> int:
    """Returns the evaluation "positional", in hundredths of a pawn.

    Besides its value, a pawn counts 10 for each rank that it has advanced, and another piece 4 for each cell that it
    attacks. Every piece on the 9 cells in the centre counts 5.
    """
    total = material(position)
    for square, letter in position.board.items():
        extra = 5 * (square[0] in (1, 2, 3) and square[1] in (1, 2, 3))
        if letter in "pP":
            extra += 10 * (square[1] - 1 if letter == "P" else 3 - square[1])
        else:
            extra += 4 * _num_attacked(position.board, square)
        total += extra * _sign(position, letter)
    return total


def _sign(position: Position, letter: str) -> int:
    return 1 if letter.isupper() == position.white else -1


def _num_attacked(board: dict[Square, str], square: Square) -> int:
    """The cells that the piece on a square attacks, its own pieces on them included; not for a pawn."""
    kind, number = board[square].lower(), 0
    for files, ranks in LINES[kind]:
        for times in range(1, 2 if kind in "nk" else 5):
            to = square[0] + files * times, square[1] + ranks * times
            number += inside(to)
            if not inside(to) or to in board:
                break
    return number


EVALUATIONS: dict[str, Callable[[Position], int]] = {"material": material, "positional": positional}


@dataclass
class Minimax:
    """The values of positions for the side to move. A level is a move.

    Below the last level captures, and pawns that become queens, are followed to their end, unless the side to move does
    better without them. On the last level itself, a side in check tries all moves.
    """

    reference: Reference
    evaluation: str = "material"
    memo: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])

    def values(self, position: Position, depth: int) -> dict[int, int]:
        """The value of each action, in ascending order of the actions."""
        moves = sorted(self.reference.moves(position).items())
        return {action: self.after(position, move, depth) for action, move in moves}

    def after(self, position: Position, move: Move, depth: int) -> int:
        """The value of a move for the side that made it. A win is worth less by 1 for each ply."""
        value = -self.value(self.reference.after(position, move), depth - 1)
        return int(value - np.sign(value) * (abs(value) > WIN // 2))

    def value(self, position: Position, depth: int) -> int:
        key = (frozenset(position.board.items()), position.seat, position.quiet, position.ply, position.before, depth)
        if key not in self.memo:
            self.memo[key] = self._value(position, depth)
        return self.memo[key]

    def _value(self, position: Position, depth: int) -> int:
        if position.terminated:
            return -WIN if self.reference.ended(position)[0] else 0
        if position.over:
            return 0
        moves = list(self.reference.moves(position).values())
        if depth > 0 or (depth == 0 and self.reference.can_take_king(replace(position, seat=1 - position.seat))):
            return max(self.after(position, move, depth) for move in moves)
        noisy = [move for move in moves if is_noisy(position, move)]
        return max(EVALUATIONS[self.evaluation](position), *(self.after(position, move, depth) for move in noisy), -WIN)


def is_noisy(position: Position, move: Move) -> bool:
    """Returns whether a move captures or makes a queen of a pawn; no other promotion is noisy."""
    return move[2] == "q" or (move[1] in position.board and move[2] == "")


def random_games(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions of random games with at most MAX_PIECES left, one of each game."""
    found: list[Position] = []
    while len(found) < number:
        position = reference.start()
        plies = int(rng.integers(10, 60))
        while not position.over and (position.ply < plies or len(position.board) > MAX_PIECES):
            moves = list(reference.moves(position).values())
            position = reference.after(position, moves[int(rng.integers(len(moves)))])
        if not position.over:
            found.append(position)
    return found


def shuffles(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions of games with few pieces that often go back: many of them occurred before."""
    found: list[Position] = []
    while len(found) < number:
        position = reference.from_string(scattered(rng, 2))
        for _ in range(int(rng.integers(4, 14))):
            if position.over:
                break
            moves = list(reference.moves(position).values())
            back = [move for move in moves if reference.after(position, move).occurred]
            chosen = back if back and rng.random() < 0.8 else moves
            position = reference.after(position, chosen[int(rng.integers(len(chosen)))])
        if not position.over and position.before:
            found.append(position)
    return found


def scattered(rng: np.random.Generator, pieces: int) -> str:
    """A king and at most that many other pieces of each side on random cells, a random side to move."""
    letters = ["K", "k"]
    for side in ("PNBRQ", "pnbrq"):
        letters += [side[int(rng.integers(5))] for _ in range(int(rng.integers(pieces + 1)))]
    board = np.full(25, ".", "<U1")
    board[rng.permutation(25)[: len(letters)]] = letters
    rows = "/".join("".join(row) for row in board.reshape(5, 5))
    return f"{re.sub('[.]+', lambda gap: str(len(gap[0])), rows)} {'wb'[int(rng.integers(2))]} - - 0 20"


def placements(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions with random pieces on random cells, in half of them a few plies before a draw."""
    found: list[Position] = []
    while len(found) < number:
        position = reference.from_string(scattered(rng, int(rng.integers(1, (MAX_PIECES - 1) // 2))))
        if not position.over:
            found.append(replace(position, quiet=100 - int(rng.integers(1, 6))) if rng.random() < 0.5 else position)
    return found


def state_of(env: Minichess, reference: Reference, position: Position) -> MinichessState:
    """A live position as a state on the host, with all its earlier positions."""
    state = env.from_string(reference.to_string(position))
    if state.history is not None:
        history = np.array(state.history)
        for place, rows in enumerate(position.before, start=position.quiet - len(position.before)):
            earlier = env.from_string(f"{rows} - - {place} 1")
            assert earlier.history is not None
            history[:, place] = np.asarray(earlier.history)[:, place]
        state = replace(state, history=history, occurred=np.int8(position.occurred))
    return jax.device_get(state)
