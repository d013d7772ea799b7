"""The time of one move of a search, in pieces of work, each as large as should fit into the time that is left."""

import time
from collections.abc import Callable
from typing import TypeVar

from jaxgames.solvers.alphabeta.compiled import Ints

MAX_MILLISECONDS = 3_600_000  # that an agent can be given for a move
MIN_NODES = 8  # of a piece of work
MIN_SECONDS_PER_NODE = 1e-9  # a clock can stand still over a few nodes
NO_LIMIT = 1 << 40  # of nodes, or of plies

# Places in the counts of a compiled search.
NODES = 0
MAX_NODES = 1  # a search that exceeds it returns any value

T = TypeVar("T")


class OutOfTimeError(Exception):
    """Raised when the time or the nodes of a part of a move are used up."""


class Clock:
    """The time and the nodes that are left for a part of a move."""

    def __init__(self) -> None:
        self.seconds_per_node: tuple[float, float] = (1e-6, 1e-6)  # of the last two pieces of work
        self.end: float = 0.0
        self.nodes: int = 0
        self.visited: int = 0  # nodes of all calls of `search`

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
        # The lesser one counts: other programs that interrupt a single piece say nothing of the next one.
        fitting = max(MIN_NODES, (self.end - began) / (2 * min(self.seconds_per_node)))
        result, nodes = work(int(min(self.nodes, fitting)))
        if nodes >= MIN_NODES:
            measured = max(MIN_SECONDS_PER_NODE, (time.perf_counter() - began) / nodes)
            self.seconds_per_node = (self.seconds_per_node[1], measured)
        self.nodes -= nodes
        return result

    def search(self, counts: Ints, value: Callable[[], int]) -> int:
        """Returns the value by a compiled search, which counts its nodes in counts[NODES] up to counts[MAX_NODES].

        Raises OutOfTimeError if the time or the nodes do not suffice.
        """

        def work(max_nodes: int) -> tuple[int, int]:
            counts[NODES], counts[MAX_NODES] = 0, max_nodes
            result, nodes = int(value()), int(counts[NODES])
            self.visited += nodes
            if nodes > max_nodes:
                raise OutOfTimeError
            return result, nodes

        return self.run(work)
