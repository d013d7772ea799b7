"""The time of one move of a search: pieces of work, each as large as should fit into the time that is left."""

import time
from collections.abc import Callable
from typing import TypeVar

MAX_MILLISECONDS = 3_600_000  # that an agent can be given for a move
MIN_NODES = 8  # of a piece of work
SHORTEST = 1e-9  # seconds per node; a clock can stand still over a few nodes

T = TypeVar("T")


class OutOfTimeError(Exception):
    """Raised when the time or the nodes of a part of a move are used up."""


class Clock:
    """The time and the nodes that are left for a part of a move."""

    def __init__(self) -> None:
        self.seconds_per_node = 1e-6  # of the last piece of work
        self.end = 0.0
        self.nodes = 0

    def after(self, seconds: float) -> float:
        """Returns the time that many seconds from now, for `start`."""
        return time.perf_counter() + seconds

    def start(self, end: float, nodes: int) -> None:
        """Begins a part of a move, which ends at the latest at the time `end`, or after that many nodes."""
        self.end, self.nodes = end, nodes

    def run(self, work: Callable[[int], tuple[T, int]]) -> T:
        """Returns the first result of `work(size)`, which visits at most `size` nodes; the second is their number.

        Raises OutOfTimeError, before the piece, if no time or no node is left.
        """
        began = time.perf_counter()
        if began >= self.end or self.nodes <= 0:
            raise OutOfTimeError
        fitting = max(MIN_NODES, (self.end - began) / (2 * self.seconds_per_node))
        result, nodes = work(int(min(self.nodes, fitting)))
        if nodes >= MIN_NODES:
            self.seconds_per_node = max(SHORTEST, (time.perf_counter() - began) / nodes)
        self.nodes -= nodes
        return result
