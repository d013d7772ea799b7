"""Dots and Boxes in slow plain Python, straight from the rules: what the tests compare the env with.

It shares nothing with `jaxgames`. An edge is its name in notation, a box is the pair (row, column).
"""

from dataclasses import dataclass

import numpy as np

from tests.helpers import reference

Box = tuple[int, int]  # (row, column)


@dataclass(frozen=True, kw_only=True)
class Position(reference.Position):
    drawn: frozenset[str]  # edges
    owner: dict[Box, int]  # the seat that took a box, for the boxes that are taken


class Reference(reference.Reference[Position, str]):
    """The rules for one board and one reward scheme. A move is the edge that it draws."""

    def __init__(self, rows: int, cols: int, reward: str = "win_loss") -> None:
        self.rows, self.cols, self.reward = rows, cols, reward
        horizontal = [f"h({r},{c})" for r in range(rows + 1) for c in range(cols)]
        vertical = [f"v({r},{c})" for r in range(rows) for c in range(cols + 1)]
        self.edges = horizontal + vertical  # in the order of the actions
        self.boxes: list[Box] = [(r, c) for r in range(rows) for c in range(cols)]

    def around(self, box: Box) -> set[str]:
        """The four edges of a box: top, bottom, left, right."""
        r, c = box
        return {f"h({r},{c})", f"h({r + 1},{c})", f"v({r},{c})", f"v({r},{c + 1})"}

    # -- the rules ---------------------------------------------------------------------------------------------

    def start(self) -> Position:
        return Position(drawn=frozenset(), owner={})

    def moves(self, position: Position) -> dict[int, str]:
        return {action: edge for action, edge in enumerate(self.edges) if edge not in position.drawn}

    def after(self, position: Position, move: str) -> Position:
        drawn = position.drawn | {move}
        taken = [box for box in self.boxes if box not in position.owner and self.around(box) <= drawn]
        owner = position.owner | dict.fromkeys(taken, position.seat)
        over = len(drawn) == len(self.edges)
        margin = self.margin(owner) if over else 0
        for_seat_0 = {
            "win_loss": (margin > 0) - (margin < 0),
            "margin": margin,
            "boxes": len(taken) if position.seat == 0 else -len(taken),
        }[self.reward]
        return Position(
            drawn=drawn,
            owner=owner,
            seat=position.seat if taken else 1 - position.seat,
            rewards=(float(for_seat_0), float(-for_seat_0)),
            terminated=over,
        )

    def margin(self, owner: dict[Box, int]) -> int:
        """By how many boxes seat 0 is ahead."""
        owners = list(owner.values())
        return owners.count(0) - owners.count(1)

    def end(self, position: Position) -> str:
        return "won" if self.margin(position.owner) else "drawn"

    # -- what a network sees -----------------------------------------------------------------------------------

    def observation(self, position: Position, viewer: int) -> np.ndarray:
        """Dots stand at even rows and columns of the grid, boxes at odd ones, edges between two dots."""
        seen = np.zeros((2 * self.rows + 1, 2 * self.cols + 1, 3), bool)
        for edge in position.drawn:
            r, c = map(int, edge[2:-1].split(","))
            seen[(2 * r, 2 * c + 1) if edge[0] == "h" else (2 * r + 1, 2 * c)][0] = True
        for (r, c), owner in position.owner.items():
            seen[2 * r + 1, 2 * c + 1][1 if owner == viewer else 2] = True
        return seen

    # -- notation ----------------------------------------------------------------------------------------------

    def to_string(self, position: Position) -> str:
        bits = "".join("1" if edge in position.drawn else "0" for edge in self.edges)
        owners = "".join(str(position.owner.get(box, ".")) for box in self.boxes)
        return f"{bits} {owners} {position.seat}"

    def from_string(self, text: str) -> Position:
        bits, owners, seat = text.split()
        drawn = frozenset(edge for edge, bit in zip(self.edges, bits, strict=True) if bit == "1")
        owner = {box: int(letter) for box, letter in zip(self.boxes, owners, strict=True) if letter != "."}
        return Position(drawn=drawn, owner=owner, seat=int(seat), terminated=len(drawn) == len(self.edges))

    def move_to_string(self, position: Position, move: str) -> str:
        return move
