"""Positions of checkers at random, each a text."""

import numpy as np

from tests.games.checkers.reference import SQUARES, Piece, Position, Reference, other_side


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
    """Two kings on even rows, prey on odd rows: long captures, some back to the square of origin."""
    texts: list[str] = []
    for _ in range(number):
        lairs = [square for square in SQUARES if square[0] % 2 == 0]
        paths = [square for square in SQUARES if square[0] % 2 == 1 and 0 < square[0] < 7 and 0 < square[1] < 7]
        pieces = {lairs[i]: Piece(0, True) for i in rng.permutation(len(lairs))[:2]}
        pieces |= {paths[i]: Piece(1, False) for i in rng.permutation(len(paths))[: rng.integers(4, 9)]}
        texts.append(Reference().to_string(Position(pieces=pieces)))
    return [other_side(text) if rng.random() < 0.5 else text for text in texts]


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
