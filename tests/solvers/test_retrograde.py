"""Retrograde analysis on graphs that are drawn at random, against a definition in plain Python."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.solvers.exact import retrograde
from jaxgames.solvers.exact.retrograde import CLOSED, DRAW, ILLEGAL, NONE, OPEN

POSITIONS, MOVES = 40, 3


@dataclass(frozen=True)
class Graph:
    """Positions with up to three moves each, whose slots are in another order than their places."""

    children: tuple[tuple[int, ...], ...]  # by place in the table
    order: tuple[int, ...]  # the place of each slot

    def place(self, slots: jax.Array) -> jax.Array:
        return jnp.asarray(self.order, jnp.uint32)[slots]

    def before(self, places: jax.Array) -> tuple[jax.Array, jax.Array]:
        slots = {place: slot for slot, place in enumerate(self.order)}
        rows = np.full((MOVES * POSITIONS + 1, POSITIONS), NONE)  # the last row is never written
        for child in range(POSITIONS):
            found = [slots[place] for place, moves in enumerate(self.children) for move in moves if move == child]
            rows[: len(found), child] = found
        return jnp.asarray(rows)[:, places], jnp.int32(MOVES * POSITIONS)


def moves_left_of(graph: Graph, ends: np.ndarray) -> np.ndarray:
    """The number of moves of each open position, by slot."""
    moves = np.array([len(moves) for moves in graph.children], np.uint8)
    return np.where(ends == OPEN, moves, CLOSED)[list(graph.order)]


def random_graph(seed: int) -> tuple[Graph, np.ndarray]:
    """A graph, and its ends; positions 0 to 3 are finished, 4 is illegal and no move leads to it."""
    random = np.random.default_rng(seed)
    children: list[tuple[int, ...]] = []
    for place in range(POSITIONS):  # most moves lead towards the ends, some away from them
        near = [child for child in range(place - 6, place + 3) if 0 <= child < POSITIONS and child != 4]
        children.append(tuple(random.choice(near, random.integers(1, MOVES + 1)).tolist()))
    ends = np.full(POSITIONS, OPEN)
    ends[:4], ends[4] = 0, ILLEGAL
    return Graph(tuple(children), tuple(random.permutation(POSITIONS).tolist())), ends


def slow(graph: Graph, ends: np.ndarray) -> list[int]:
    """The numbers by their definition: one more than that of the best move, round by round."""
    number = dict.fromkeys(np.flatnonzero(ends == 0).tolist(), 0)
    for plies in range(1, POSITIONS):
        known = dict(number)
        for place in np.flatnonzero(ends == OPEN).tolist():
            replies = [known.get(child) for child in graph.children[place]]
            wins = any(reply is not None and reply % 2 == 0 for reply in replies)
            loses = all(reply is not None and reply % 2 == 1 for reply in replies)
            if place not in number and (wins or loses):
                number[place] = plies
    return [int(ILLEGAL) if ends[place] == ILLEGAL else number.get(place, int(DRAW)) for place in range(POSITIONS)]


@pytest.mark.parametrize("seed", [6, 11])  # their longest ways to the end have 5 and 15 plies
def test_numbers_are_those_of_the_definition(seed: int) -> None:
    graph, table = random_graph(seed)
    expected = slow(graph, table)
    assert {int(DRAW), 0, 1, 2, 3, 4} <= set(expected)
    sweeps: list[int] = []
    retrograde.analyse(table, moves_left_of(graph, table), graph, 16, progress=False, after_sweep=sweeps.append)
    assert table.tolist() == expected
    assert sweeps == list(range(1, len(sweeps) + 1))


def test_position_without_an_end_within_the_byte_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrograde, "MAX_PLIES", 2)
    graph, table = random_graph(11)
    with pytest.raises(RuntimeError, match="a position ends after 2 plies, and"):
        retrograde.analyse(table, moves_left_of(graph, table), graph, 16, progress=False, after_sweep=lambda _: None)


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_parts_are_full_chunks_of_places_in_ascending_order(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Across the blocks that are searched at once."""
    monkeypatch.setattr(retrograde, "BLOCK", 7)
    entries = np.where(np.random.default_rng(0).random(100) < share, np.uint8(3), np.uint8(4))
    parts = list(retrograde.parts(entries, np.uint8(3), 4))
    assert all(len(part) == 4 for part in parts[:-1])
    np.testing.assert_array_equal(np.concatenate([np.zeros(0, np.uint32), *parts]), np.flatnonzero(entries == 3))
