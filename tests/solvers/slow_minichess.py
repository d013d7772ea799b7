"""Minimax of 5 x 5 chess in slow plain Python: what the tests compare the search with.

It plays by the rules of `tests.games.minichess.reference`, and shares nothing with `jaxgames` but the state's type and
the numbers of actions.
"""

import re
from collections.abc import Callable, Hashable
from dataclasses import replace

import jax
import numpy as np

from jaxgames.games.minichess import Minichess, MinichessState
from tests.games.minichess.reference import BISHOP, KNIGHT, ROOK, Move, Position, Reference, Square, inside
from tests.helpers.reference import Minimax, random_games

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


def minimax(reference: Reference, evaluation: str) -> Minimax:
    """Minimax with quiescence search. A level is a move.

    At depth 0 and below, captures, and pawns that become queens, are searched to their end, unless the side to move
    does better without them. At depth 0, a side in check tries all moves.
    """

    def quiescence(position: Position, depth: int) -> list[Move] | None:
        if depth == 0 and reference.can_take_king(replace(position, seat=1 - position.seat)):
            return None
        return [move for move in reference.moves(position).values() if is_noisy(position, move)]

    def key(position: Position) -> Hashable:
        return frozenset(position.board.items()), position.seat, position.quiet, position.ply, position.before

    return Minimax(reference, EVALUATIONS[evaluation], quiescence, key, WIN)


def is_noisy(position: Position, move: Move) -> bool:
    """Returns whether a move captures or makes a queen of a pawn; no other promotion is noisy."""
    return move[2] == "q" or (move[1] in position.board and move[2] == "")


def endings(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions of random games with at most MAX_PIECES left, one of each game."""
    return random_games(reference, rng, number, (10, 60), lambda position: len(position.board) <= MAX_PIECES)


def shuffles(reference: Reference, rng: np.random.Generator, number: int) -> list[Position]:
    """Live positions of games with few pieces that often go back: many of them occurred before."""
    positions: list[Position] = []
    while len(positions) < number:
        position = reference.from_string(scattered(rng, 2))
        for _ in range(int(rng.integers(4, 14))):
            if position.over:
                break
            moves = list(reference.moves(position).values())
            back = [move for move in moves if reference.after(position, move).occurred]
            tried = back if back and rng.random() < 0.8 else moves
            position = reference.after(position, tried[int(rng.integers(len(tried)))])
        if not position.over and position.before:
            positions.append(position)
    return positions


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
    positions: list[Position] = []
    while len(positions) < number:
        position = reference.from_string(scattered(rng, int(rng.integers(1, (MAX_PIECES - 1) // 2))))
        if not position.over:
            positions.append(replace(position, quiet=100 - int(rng.integers(1, 6))) if rng.random() < 0.5 else position)
    return positions


def positions(reference: Reference, seed: int, number: int) -> list[Position]:
    """Random games, placements, and games that go back and forth; with a limit of plies, all just before it."""
    rng = np.random.default_rng(seed)
    live = endings(replace(reference, max_plies=256), rng, number) + placements(reference, rng, number)
    if not reference.king_capture:
        live += shuffles(reference, rng, number)
    if reference.max_plies >= 100:
        return live
    left = rng.integers(2, 8, len(live)).tolist()
    return [
        replace(position, ply=2 * ((reference.max_plies - plies) // 2) + position.seat)
        for position, plies in zip(live, left, strict=True)
    ]


def state_of(position: Position, env: Minichess, reference: Reference) -> MinichessState:
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
