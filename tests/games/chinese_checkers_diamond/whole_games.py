"""The boards of whole games, how the players choose their moves, and positions that play never reaches."""

from typing import Any

import numpy as np
import pytest

from tests.games.chinese_checkers_diamond.reference import Move, Position, Reference

BOARDS = 20  # at once, everywhere: one shape to compile for


def named(size: int, pieces: int, tip_lock: bool, max_plies: int) -> str:
    return f"chinese_checkers_diamond({size=}, {pieces=}, {tip_lock=}, {max_plies=})"


# Plies that are enough for eager players to win, and not for random ones.
PLAYED = [
    named(2, 1, False, 6),
    named(3, 3, False, 25),
    named(4, 6, True, 60),
    named(5, 6, True, 60),
]
MORE_PLAYED = [
    named(3, 1, False, 12),
    named(4, 3, False, 35),
    named(5, 10, False, 60),
    named(6, 6, False, 60),
    named(7, 6, True, 80),
    named(9, 10, False, 120),
]
CROWDED = [named(6, 6, True, 60), named(7, 3, False, 80), named(8, 10, False, 90), named(9, 10, False, 120)]


def slow(env: str) -> Any:
    """An env of a parametrised test that only `make test-all` runs."""
    return pytest.param(env, marks=pytest.mark.slow)


def choose_eagerly(rng: np.random.Generator, position: Position, legal: dict[int, Move]) -> int:
    """The move that brings a piece furthest towards the goal, the last pieces first; one in ten is random."""

    def gain(move: Move) -> float:
        if move is None:
            return 0.0
        way = [sum(cell) for cell in move]
        if position.seat == 0:
            return (way[1] - way[0]) * (10.0 - 0.1 * way[0])
        return (way[0] - way[1]) * (10.0 + 0.1 * way[0])

    if rng.random() < 0.1:
        return list(legal)[int(rng.integers(len(legal)))]
    return max(legal, key=lambda action: (gain(legal[action]), rng.random()))


def crowd(rng: np.random.Generator, reference: Reference) -> str:
    """Any number of pieces anywhere near the last ply. In every second one the homes are full but for a cell each."""
    size = reference.size
    share, swapped = rng.random(), rng.integers(0, 2)
    line = np.add.outer(np.arange(size), np.arange(size)) - (size - 1)
    likely = np.where(line < 0, swapped, 1 - swapped).astype(str)
    any_owner = rng.integers(0, 2, (size, size)).astype(str)
    content = np.where(rng.random((size, size)) < 0.7, likely, any_owner)
    content = np.where(rng.random((size, size)) < share, content, ".")
    if rng.random() < 0.5:
        for home in map(sorted, reference.home):
            for cell in home:
                content[cell] = any_owner[cell]
            content[home[int(rng.integers(len(home)))]] = "."
    ply = rng.integers(max(0, reference.max_plies - 8), reference.max_plies)
    return f"{'/'.join(''.join(row) for row in content)} {rng.integers(0, 2)} {ply}"
