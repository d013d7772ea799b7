"""Dots and Boxes again: slowly, in plain Python, straight from the rules, for the tests to compare with.

Nothing is shared with `jaxgames`, and nothing is clever. An edge is its name, a box the pair (row, column).
"""

from dataclasses import dataclass, replace

import numpy as np

Box = tuple[int, int]  # (row, column)


@dataclass(frozen=True)
class Position:
    """The whole board and what the last step paid in every reward scheme."""

    drawn: frozenset[str]
    owner: dict[Box, int]  # of the boxes that somebody took
    seat: int  # to move
    rewards: dict[str, tuple[float, float]]
    over: bool = False


class Reference:
    """The rules for one board."""

    def __init__(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        horizontal = [f"h({r},{c})" for r in range(rows + 1) for c in range(cols)]
        vertical = [f"v({r},{c})" for r in range(rows) for c in range(cols + 1)]
        self.edges = horizontal + vertical  # in the order of the actions
        self.boxes: list[Box] = [(r, c) for r in range(rows) for c in range(cols)]

    def around(self, box: Box) -> set[str]:
        """The four edges of a box: top, bottom, left, right."""
        r, c = box
        return {f"h({r},{c})", f"h({r + 1},{c})", f"v({r},{c})", f"v({r},{c + 1})"}

    # -- the rules ------------------------------------------------------------------------------------

    def start(self) -> Position:
        return Position(frozenset(), {}, 0, paid(0.0, 0.0, 0.0))

    def legal(self, position: Position) -> list[int]:
        if position.over:
            return []
        return [action for action, edge in enumerate(self.edges) if edge not in position.drawn]

    def step(self, position: Position, action: int) -> Position:
        """The position after an action, legal or not."""
        if position.over:
            return replace(position, rewards=paid(0.0, 0.0, 0.0))
        if action not in self.legal(position):
            fine = -1.0 if position.seat == 0 else 1.0
            return replace(position, rewards=paid(fine, fine, fine), over=True)
        drawn = position.drawn | {self.edges[action]}
        taken = [box for box in self.boxes if box not in position.owner and self.around(box) <= drawn]
        owner = position.owner | dict.fromkeys(taken, position.seat)
        seat = position.seat if taken else 1 - position.seat
        boxes = float(len(taken)) if position.seat == 0 else -float(len(taken))
        if len(drawn) < len(self.edges):
            return Position(drawn, owner, seat, paid(0.0, 0.0, boxes))
        counts = [list(owner.values()).count(seat) for seat in (0, 1)]
        margin = float(counts[0] - counts[1])
        return Position(drawn, owner, seat, paid(float(np.sign(margin)), margin, boxes), over=True)

    # -- what a network sees --------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """Dots stand at even rows and columns of the grid, boxes at odd ones, edges between two dots."""
        seen = np.zeros((2 * self.rows + 1, 2 * self.cols + 1, 3), bool)
        for edge in position.drawn:
            r, c = map(int, edge[2:-1].split(","))
            seen[(2 * r, 2 * c + 1) if edge[0] == "h" else (2 * r + 1, 2 * c)][0] = True
        for (r, c), owner in position.owner.items():
            seen[2 * r + 1, 2 * c + 1][1 if owner == viewer else 2] = True
        return seen

    # -- notation -------------------------------------------------------------------------------------

    def to_string(self, position: Position) -> str:
        bits = "".join("1" if edge in position.drawn else "0" for edge in self.edges)
        owners = "".join(str(position.owner.get(box, ".")) for box in self.boxes)
        return f"{bits} {owners} {position.seat}"


def paid(win_loss: float, margin: float, boxes: float) -> dict[str, tuple[float, float]]:
    """What both seats get, from what seat 0 gets: what one wins the other loses."""
    return {"win_loss": (win_loss, -win_loss), "margin": (margin, -margin), "boxes": (boxes, -boxes)}
