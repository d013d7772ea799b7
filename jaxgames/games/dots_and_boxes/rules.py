"""Dots and Boxes on rows x cols boxes, for two seats.

The seats draw edges between neighbouring dots in turn. A player who draws the fourth edge of a box takes the box
and moves again. When all edges are drawn, the player with more boxes wins. One `step` of the env is one edge.

    *-0-*-1-*-2-*       rows = 2, cols = 3: the edges, horizontal ones first, row by row,
    9  10  11  12       and (rows + 1) * cols + rows * (cols + 1) = 17 of them;
    *-3-*-4-*-5-*       box (r, c), the number r * cols + c, lies between
   13  14  15  16         h(r, c) above, h(r + 1, c) below,
    *-6-*-7-*-8-*         v(r, c) on the left, v(r, c + 1) on the right

Rules, rewards and notation: docs/games/dots_and_boxes.md.
"""

import dataclasses
import functools
import re
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import check_choice, check_int
from jaxgames._platforms import at
from jaxgames.env import Env, State
from jaxgames.games import _text
from jaxgames.games._text import SEAT_LETTERS, parse_seat, split_fields
from jaxgames.games._won_or_lost import WonOrLost

REWARDS = ("win_loss", "margin", "boxes")
MAX_SEARCHED_SIZE = 8  # rows or columns of boxes of the boards that the search plays
NOBODY = -1  # owner of a box that is not taken

Edges = TypeVar("Edges", jax.Array, np.ndarray)  # on the device or on the host


@jax.tree_util.register_dataclass
@dataclass(frozen=True, kw_only=True)
class DotsAndBoxesState(State):
    """One board: one byte per edge, one per box and 14 more."""

    edges: jax.Array  # bool[num_edges], whether the edge is drawn
    owner: jax.Array  # int8[num_boxes], the seat that took the box, or NOBODY


@dataclass(frozen=True)
class DotsAndBoxes(WonOrLost, Env[DotsAndBoxesState]):
    """Dots and Boxes.

    Args:
      rows: number of rows of boxes, 1..16.
      cols: number of boxes per row, 1..16.
      reward: "win_loss": at the end +1 to the seat with more boxes and -1 to the other, 0 to both in a draw. "margin":
        at the end a seat's boxes minus the other seat's. "boxes": when a box is taken, +1 to the seat that takes it,
        -1 to the other.

    Action: the edge to draw; h(r, c) is r * cols + c, v(r, c) is (rows + 1) * cols + r * (cols + 1) + c.
    Observation: bool[2 * rows + 1, 2 * cols + 1, 3], a grid with a place for every dot, edge and box. Planes: the drawn
    edges, the boxes of the viewer (the seat that observes), the other seat's boxes.
    Source: Berlekamp, The Dots and Boxes Game, 2000.
    """

    id: ClassVar[str] = "dots_and_boxes"
    num_players: int = dataclasses.field(default=2, init=False)
    rows: int = 5
    cols: int = 5
    reward: str = "win_loss"

    def __post_init__(self) -> None:
        check_int("rows", self.rows, 1, 16)
        check_int("cols", self.cols, 1, 16)
        check_choice("reward", self.reward, REWARDS)

    # -- plain values ------------------------------------------------------------------------------

    @property
    def num_horizontal(self) -> int:
        """Number of edges h(r, c), which is also the first edge v(r, c)."""
        return (self.rows + 1) * self.cols

    @property
    def num_edges(self) -> int:
        return self.num_horizontal + self.rows * (self.cols + 1)

    @property
    def num_boxes(self) -> int:
        return self.rows * self.cols

    @property
    def num_actions(self) -> int:
        return self.num_edges

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (2 * self.rows + 1, 2 * self.cols + 1, 3)

    @property
    def observation_support(self) -> np.ndarray:
        row, col = np.indices(self.observation_shape[:2]) % 2
        return np.stack([row != col, row & col == 1, row & col == 1], axis=-1)

    @property
    def max_steps(self) -> int:
        return self.num_edges

    @property
    def reward_range(self) -> tuple[float, float]:
        highest = {"win_loss": 1, "margin": self.num_boxes, "boxes": min(2, self.num_boxes)}[self.reward]
        return float(-highest), float(highest)

    @property
    def terminal_rewards(self) -> bool:
        return self.reward != "boxes"

    @property
    def return_range(self) -> tuple[float, float]:
        return (float(-self.num_boxes), float(self.num_boxes)) if self.reward == "boxes" else self.reward_range

    # -- rules -------------------------------------------------------------------------------------

    def _init(self, key: jax.Array | None) -> DotsAndBoxesState:
        return DotsAndBoxesState(
            current_player=jnp.int32(0),
            rewards=jnp.zeros(2, jnp.float32),
            terminated=jnp.bool_(False),
            truncated=jnp.bool_(False),
            edges=jnp.zeros(self.num_edges, jnp.bool_),
            owner=jnp.full(self.num_boxes, NOBODY, jnp.int8),
        )

    def _legal_action_mask(self, state: DotsAndBoxesState) -> jax.Array:
        return ~state.edges

    def _is_legal(self, state: DotsAndBoxesState, action: jax.Array) -> jax.Array:
        return (action >= 0) & (action < self.num_edges) & ~at(state.edges, action)

    def _step(self, state: DotsAndBoxesState, action: jax.Array, key: jax.Array | None) -> DotsAndBoxesState:
        edges = state.edges | (np.arange(self.num_edges) == action)
        taken = self._complete(edges) & (state.owner == NOBODY)
        owner = jnp.where(taken, state.current_player.astype(jnp.int8), state.owner)
        boxes = taken.sum(dtype=jnp.int32)
        over = edges.all()
        if self.reward == "boxes":
            for_seat_0 = jnp.where(state.current_player == 0, boxes, -boxes)
        else:
            margin = _margin(owner)
            for_seat_0 = jnp.where(over, margin if self.reward == "margin" else jnp.sign(margin), 0)
        return DotsAndBoxesState(
            current_player=jnp.where(boxes > 0, state.current_player, 1 - state.current_player),
            rewards=jnp.where(jnp.arange(2) == 0, for_seat_0, -for_seat_0).astype(jnp.float32),
            terminated=over,
            truncated=jnp.bool_(False),
            edges=edges,
            owner=owner,
        )

    def _complete(self, edges: jax.Array) -> jax.Array:
        """Returns bool[num_boxes], whether all four edges of the box are drawn."""
        above, below = edges[: self.num_boxes], edges[self.cols : self.num_horizontal]
        first = self.num_horizontal + np.arange(self.rows) * (self.cols + 1)  # the edge v(r, 0) of each row of boxes
        left, right = (jnp.concatenate([edges[x : x + self.cols] for x in first + side]) for side in (0, 1))
        return above & below & left & right

    def split(self, edges: Edges) -> tuple[Edges, Edges]:
        """Returns the horizontal edges, [rows + 1, cols], and the vertical ones, [rows, cols + 1]."""
        horizontal = edges[: self.num_horizontal].reshape(self.rows + 1, self.cols)
        return horizontal, edges[self.num_horizontal :].reshape(self.rows, self.cols + 1)

    # -- outcome -----------------------------------------------------------------------------------

    def _winners(self, state: DotsAndBoxesState) -> jax.Array:
        margin = _margin(state.owner)
        return jnp.stack([margin > 0, margin < 0]) & state.edges.all()

    def _reason(self, state: DotsAndBoxesState) -> str:
        return "all edges drawn" if np.asarray(state.edges).all() else ""

    # -- observation -------------------------------------------------------------------------------

    def _observe(self, state: DotsAndBoxesState, player: jax.Array) -> jax.Array:
        horizontal, vertical = self.split(state.edges)
        drawn = _spread(horizontal, 0, 1) | _spread(vertical, 1, 0)
        owner = state.owner.reshape(self.rows, self.cols)
        boxes = [_spread(owner == seat.astype(jnp.int8), 1, 1) for seat in (player, 1 - player)]
        return jnp.stack([drawn, *boxes], axis=-1)

    # -- notation ----------------------------------------------------------------------------------

    def _action_to_string(self, state: DotsAndBoxesState, action: int) -> str:
        """Returns `h(r,c)` or `v(r,c)`."""
        if action < self.num_horizontal:
            row, col = divmod(action, self.cols)
            return f"h({row},{col})"
        row, col = divmod(action - self.num_horizontal, self.cols + 1)
        return f"v({row},{col})"

    def _action_from_string(self, state: DotsAndBoxesState, text: str) -> int:
        """Returns the edge that a text names, drawn or not."""
        found = re.fullmatch(r"([hv])\(([0-9]{1,9}),([0-9]{1,9})\)", text)
        if not found:
            raise ValueError(f"expected an edge 'h(r,c)' or 'v(r,c)' such as 'h(0,1)', not {text!r}")
        kind, row, col = found[1], int(found[2]), int(found[3])
        rows, cols = (self.rows + 1, self.cols) if kind == "h" else (self.rows, self.cols + 1)
        for name, value, bound in (("row", row, rows), ("column", col, cols)):
            if value >= bound:
                raise ValueError(f"expected a {name} from 0 to {bound - 1} of {kind}(r,c), not {value} in {text!r}")
        return (0 if kind == "h" else self.num_horizontal) + row * cols + col

    def _to_string(self, state: DotsAndBoxesState) -> str:
        """Returns one bit per edge; `.` or the owner of every box, row by row; and the seat to move."""
        edges = "".join("01"[drawn] for drawn in np.asarray(state.edges).astype(int).tolist())
        owners = "".join("01."[owner] for owner in np.asarray(state.owner).tolist())
        return f"{edges} {owners} {int(state.current_player)}"

    def _to_text(self, state: DotsAndBoxesState) -> str:
        edges, owner = np.asarray(state.edges), np.asarray(state.owner).tolist()
        horizontal, vertical = self.split(edges)
        lines = ["    " + _text.row([str(col) for col in range(self.cols + 1)], 4)]
        for row in range(self.rows + 1):
            lines.append(f"{row:>2}  +" + "".join("---+" if edge else "   +" for edge in horizontal[row]))
            if row < self.rows:
                owners = owner[row * self.cols : (row + 1) * self.cols]
                boxes = [SEAT_LETTERS[seat] if seat >= 0 else " " for seat in owners]
                walls = ["|" if edge else " " for edge in vertical[row]]
                lines.append("    " + "".join(f"{wall} {box} " for wall, box in zip(walls, [*boxes, " "], strict=True)))
        boxes_of = [f"seat {seat} {SEAT_LETTERS[seat]}: {owner.count(seat)} boxes" for seat in range(2)]
        return _text.lines([*lines, "    ".join(boxes_of)])

    def _from_string(self, text: str) -> DotsAndBoxesState:
        """Returns any set of drawn edges with any owners of the complete boxes; see `to_string`."""
        bits, owners, seat = split_fields(text, "edges boxes seat")
        for name, field, size, allowed in (
            ("edge", bits, self.num_edges, "01"),
            ("box", owners, self.num_boxes, ".01"),
        ):
            if len(field) != size:
                raise ValueError(f"expected {size} characters, one for each {name}, not {len(field)} in {field!r}")
            for letter in field:
                if letter not in allowed:
                    names = ", ".join(map(repr, allowed))
                    raise ValueError(f"expected one of {names} for each {name}, not {letter!r} in {field!r}")
        mover = parse_seat(seat, 2)
        edges = np.array([bit == "1" for bit in bits])
        owner = np.array([".01".index(letter) - 1 for letter in owners], np.int8)
        complete = np.asarray(self._complete(jnp.asarray(edges)))
        for box in np.flatnonzero(complete != (owner != NOBODY)).tolist():
            where = f"box ({box // self.cols},{box % self.cols})"
            wrong = "is complete and must have an owner" if complete[box] else "lacks an edge and must have no owner"
            raise ValueError(f"expected owners that fit the edges: {where} {wrong}, not {owners[box]!r} in {owners!r}")
        return dataclasses.replace(
            self.init(),
            current_player=jnp.int32(mover),
            terminated=jnp.bool_(edges.all()),
            edges=jnp.asarray(edges),
            owner=jnp.asarray(owner),
        )


@functools.lru_cache
def boxes(env: DotsAndBoxes) -> np.ndarray:
    """Returns int[num_boxes, 4], the edges of each box: above, below, left, right."""
    across, down = env.split(np.arange(env.num_edges))
    return np.stack([across[:-1], across[1:], down[:, :-1], down[:, 1:]], axis=-1).reshape(-1, 4)


def _margin(owner: jax.Array) -> jax.Array:
    """Returns int32[], the boxes of seat 0 minus those of seat 1."""
    return jnp.where(owner == 0, 1, jnp.where(owner == 1, -1, 0)).sum(dtype=jnp.int32)


def _spread(cells: jax.Array, row: int, col: int) -> jax.Array:
    """Returns bool[2 * h - 1 + 2 * row, 2 * w - 1 + 2 * col] of bool[h, w]: the cells at every second place.

    The places between them, and a border of `row` rows and `col` columns, are False.
    """
    return jax.lax.pad(cells, jnp.bool_(False), [(row, row, 1), (col, col, 1)])
