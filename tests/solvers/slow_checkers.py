"""Minimax of checkers in slow plain Python: what the tests compare the search with.

It plays by the rules of `tests.games.checkers.reference`, and shares nothing with `jaxgames` but the state's type and
the numbers of actions.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from jaxgames.games.checkers import CheckersState
from tests.games.checkers.reference import PDN, Move, Position, Reference, crowds, endgames, hunts, seen
from tests.helpers.reference import Minimax, random_games

WIN = 100_000
QUIET_LIMIT = {"wcdf": 80, "openspiel": 40}
LEAD_TURNS = 40, 60  # "adjudicated": turns at which a lead can win


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


def minimax(reference: Reference, evaluation: str) -> Minimax:
    """Minimax with quiescence search. A level is a whole turn.

    Captures are searched to their end. One turn more follows depth 0 where the opponent threatens to capture.
    """

    def quiescence(position: Position, depth: int) -> tuple[Move, ...] | None:
        is_exchange = reference.available(position)[0].captured is not None
        return None if is_exchange or (depth == 0 and is_threatened(reference, position)) else ()

    def key(position: Position) -> Hashable:
        return frozenset(position.pieces.items()), position.seat, position.jumper, position.quiet, position.ply

    return Minimax(reference, EVALUATIONS[evaluation], quiescence, key, WIN, depth_is_turns=True)


def is_threatened(reference: Reference, position: Position) -> bool:
    """Returns whether the opponent could capture if it were to move."""
    theirs = [square for square, piece in position.pieces.items() if piece.seat != position.seat]
    return any(reference.jumps(position.pieces, square) for square in theirs)


def positions(reference: Reference, seed: int, number: int) -> list[Position]:
    """Random games, endgames, long captures and crowds; and all of them a few plies before the limits of the game."""
    rng, max_plies = np.random.default_rng(seed), reference.max_plies
    texts = [text for kind in (endgames, hunts, crowds) for text in kind(rng, number // 4)]
    live = random_games(Reference(reference.draw_rule), rng, number // 2, plies=(0, 100))
    live += [reference.from_string(text) for text in texts]
    live = [position for position in live if not position.over and position.ply < (max_plies or 1000)]
    limits = (QUIET_LIMIT[reference.draw_rule],) if reference.draw_rule in QUIET_LIMIT else LEAD_TURNS
    near: list[Position] = []
    for place, position in enumerate(live):
        quiet = 0 if position.jumper else limits[place % len(limits)] - int(rng.integers(1, 6))
        ply = position.ply if max_plies is None else max_plies - int(rng.integers(1, 8))
        near.append(replace(position, quiet=quiet, ply=ply))
    return live + near


def words(position: Position) -> tuple[int, int, int, int]:
    """The position as the words own, opponents, kings, jumper."""

    def word(squares: list[tuple[int, int]]) -> int:
        numbers = [PDN[square] - 1 if position.seat == 1 else 32 - PDN[square] for square in squares]
        return sum(1 << number for number in numbers)

    pieces = position.pieces.items()
    own = word([square for square, piece in pieces if piece.seat == position.seat])
    opponents = word([square for square, piece in pieces if piece.seat != position.seat])
    kings = word([square for square, piece in pieces if piece.king])
    return own, opponents, kings, word([position.jumper] if position.jumper else [])


def state_of(position: Position, *_: Any) -> CheckersState:
    """A live position as a state on the host; the env and the reference do not matter."""
    own, opponents, kings, jumper = map(np.uint32, words(position))
    leaves: dict[str, Any] = {
        "current_player": np.int32(position.seat),
        "rewards": np.zeros(2, np.float32),
        "terminated": np.bool_(False),
        "truncated": np.bool_(False),
        **{"own": own, "opponents": opponents, "kings": kings, "jumper": jumper},
        "quiet": np.int16(position.quiet),
        "ply": np.int32(position.ply),
    }
    return CheckersState(**leaves)
