"""Dots and Boxes in slow plain Python: what the tests compare the solver and the measures with.

`SlowBoxes` shares nothing with `jaxgames`. A set of drawn edges is an integer with bit e for edge e:

    *-0-*-1-*
    6   7   8       the horizontal ones first, row by row
    *-2-*-3-*
    9  10  11
    *-4-*-5-*
"""

import functools
from typing import Any

import numpy as np

from jaxgames.games.dots_and_boxes import DotsAndBoxesState


class SlowBoxes:
    """The rules and the values of one board."""

    def __init__(self, rows: int, cols: int) -> None:
        self.num_edges = (rows + 1) * cols + rows * (cols + 1)
        self.full = 2**self.num_edges - 1
        self.boxes: list[set[int]] = []
        for row in range(rows):
            for col in range(cols):
                left = (rows + 1) * cols + row * (cols + 1) + col
                self.boxes.append({row * cols + col, (row + 1) * cols + col, left, left + 1})
        self.value = functools.cache(self._value)
        self.best_edges = functools.cache(self._best_edges)

    def edges(self, drawn: int) -> list[int]:
        """The edges that are not drawn, in ascending order."""
        return [edge for edge in range(self.num_edges) if not drawn >> edge & 1]

    def complete(self, drawn: int) -> int:
        """The number of boxes with four drawn edges."""
        return sum(all(drawn >> edge & 1 for edge in box) for box in self.boxes)

    def gain(self, drawn: int, edge: int) -> int:
        """The boxes that an edge completes."""
        return self.complete(drawn | 1 << edge) - self.complete(drawn)

    def worth(self, drawn: int, edge: int) -> int:
        """The mover's margin to go after it draws an edge and both sides play perfectly from there."""
        gain, after = self.gain(drawn, edge), self.value(drawn | 1 << edge)
        return gain + after if gain else -after

    def _value(self, drawn: int) -> int:
        """The mover's margin to go if both sides play perfectly."""
        return max((self.worth(drawn, edge) for edge in self.edges(drawn)), default=0)

    def _best_edges(self, drawn: int) -> list[int]:
        """The edges that keep the margin to go."""
        return [edge for edge in self.edges(drawn) if self.worth(drawn, edge) == self.value(drawn)]


def random_states(rows: int, cols: int, number: int, seed: int = 0) -> list[Any]:
    """States with a random number of random edges, at least one of them open, and alternating owners."""
    slow, generator = SlowBoxes(rows, cols), np.random.default_rng(seed)
    states: list[Any] = []
    for _ in range(number):
        edges = np.zeros(slow.num_edges, bool)
        edges[generator.permutation(slow.num_edges)[: generator.integers(slow.num_edges)]] = True
        complete = np.array([edges[[*box]].all() for box in slow.boxes])
        leaves: dict[str, Any] = {
            "current_player": np.int32(generator.integers(2)),
            "rewards": np.zeros(2, np.float32),
            "terminated": np.bool_(False),
            "truncated": np.bool_(False),
            "edges": edges,
            "owner": np.where(complete, np.cumsum(complete) % 2, -1).astype(np.int8),
        }
        states.append(DotsAndBoxesState(**leaves))
    return states
