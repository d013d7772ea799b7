"""Depth-first minimax in plain Python, on the slow references of the rules. For games of two seats that sum to zero."""

from dataclasses import dataclass, field
from typing import Any

from tests.helpers.reference import Reference


@dataclass
class Minimax:
    """The best actions by a look at everything that can happen within `depth` actions; what comes later counts 0.

    `alternating` makes the mistake of a sign that changes after every action, also where a seat moves again.
    """

    reference: Reference[Any, Any]
    depth: int
    alternating: bool = False
    memo: dict[tuple[str, int, int], float] = field(default_factory=dict[tuple[str, int, int], float])

    def best(self, position: Any) -> set[int]:
        """The best actions of the mover."""
        gains = self._gains(position, self.depth)
        best = max(gains.values()) if position.seat == 0 else min(gains.values())
        return {action for action, gain in gains.items() if abs(gain - best) < 1e-6}

    def _value(self, position: Any, depth: int) -> float:
        """The gain of seat 0 from here on if both play well."""
        if position.over or depth == 0:
            return 0.0
        known = (self.reference.to_string(position), position.seat, depth)
        if known not in self.memo:
            gains = self._gains(position, depth).values()
            self.memo[known] = max(gains) if position.seat == 0 else min(gains)
        return self.memo[known]

    def _gains(self, position: Any, depth: int) -> dict[int, float]:
        """The gain of seat 0 by each legal action of the mover."""
        gains: dict[int, float] = {}
        for action, move in self.reference.moves(position).items():
            after = self.reference.after(position, move)
            sign = -1 if self.alternating and after.seat == position.seat else 1
            gains[action] = after.rewards[0] + sign * self._value(after, depth - 1)
        return gains
