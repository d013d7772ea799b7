"""Players of whole games, and positions that play never reaches."""

import numpy as np

from tests.games.chinese_checkers.pictures import PLAYERS, REWARDS
from tests.games.chinese_checkers.reference import Cell, Move, Position, Reference, rotated

BOARDS = 6  # at once, everywhere: one shape to compile for
MAX_ROUNDS = {1: 3, 2: 17, 3: 38, 4: 75}  # enough for eager players to win, not for random ones


def named(size: int, num_players: int, max_rounds: int | None = None) -> str:
    """An env. The reward scheme depends on size and seats so that each size and each number of seats meets most."""
    reward = REWARDS[(size + PLAYERS.index(num_players)) % 5]
    max_rounds = max_rounds or MAX_ROUNDS[size]
    return f"chinese_checkers(size={size}, num_players={num_players}, reward={reward!r}, max_rounds={max_rounds})"


def choose_eagerly(reference: Reference, rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """The submove that brings a peg furthest towards the tip of the goal, the last pegs first; one in ten is random."""
    if rng.random() < 0.1:
        return list(legal)[int(rng.integers(len(legal)))]

    def squared_way(cell: Cell) -> int:
        q, r = reference.seen[position.seat][cell]
        q, r = q + reference.size, r - 2 * reference.size  # from the tip
        return max(abs(q), abs(r), abs(q + r)) ** 2

    def gain(move: Move) -> int:
        if move.origin is None or move.target is None:
            return 0
        return squared_way(move.origin) - squared_way(move.target)

    return max(legal, key=lambda action: (gain(legal[action]), rng.random()))


def crowd(rng: np.random.Generator, reference: Reference) -> Position:
    """Any pegs on any cells near the limit of rounds: seats without pegs, stuck ones, long chains, full goals."""
    density, seat = rng.random(), int(rng.integers(reference.num_players))
    pegs: dict[Cell, int | None] = {
        cell: int(rng.integers(reference.num_players)) if rng.random() < density else None for cell in reference.cells
    }
    if rng.random() < 0.5:
        owner = seat if rng.random() < 0.5 else int(rng.integers(reference.num_players))
        pegs |= dict.fromkeys(reference.goal[owner], owner)
    return Position(pegs=pegs, seat=seat, rounds=max(0, reference.max_rounds - int(rng.integers(1, 4))))


def rotated_by_one(position: Position) -> Position:
    """The board of six seats rotated by one triangle, with the pegs of each seat passed to the next."""
    return Position(
        pegs={rotated(cell, 1): None if seat is None else (seat + 1) % 6 for cell, seat in position.pegs.items()},
        seat=(position.seat + 1) % 6,
        chain=tuple(rotated(cell, 1) for cell in position.chain),
        rounds=position.rounds,
    )
