"""The places of cells and moves on the picture of a board, for pages on which people play.

Coordinates are those of the `viewBox` of `render.svg(env, state)`, whatever its theme and width.
"""

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.host import legal_moves
from jaxgames.render import boards
from jaxgames.render.drawing import Place
from jaxgames.wrappers import AutoResetState


class Cell(NamedTuple):
    """A cell of a board, or an edge that a move draws, on its picture."""

    x: float
    y: float
    radius: float  # of a circle around (x, y) that touches no circle of another cell
    label: str  # its name and what stands there, for a screen reader


class Move(NamedTuple):
    """A legal move: its action, its text and where it is on the board. Two moves differ in source, target or kind."""

    action: int
    text: str  # as `env.action_to_string` writes it
    source: str | None  # the cell of the piece that moves; None if no piece does
    target: str | None  # the cell where the move ends, or the edge that it draws; None for "end turn" and "pass"
    kind: str  # "move", "step", "hop", "capture", "promotion to queen", "edge", "end turn" or "pass"
    label: str  # in words, for a screen reader


@dataclass(frozen=True)
class Anchors:
    """The cells and the legal moves of one position."""

    cells: Mapping[str, Cell]  # all cells, by their names in the texts of moves, in reading order
    moves: tuple[Move, ...]  # by action; none on a finished board


def anchors(env: Env[Any], state: Any, seat: int | None = None) -> Anchors:
    """Returns the places of all cells and legal moves on `render.svg(env, state, seat=seat)`, for one state."""
    game, drawing = boards.drawing_of(env)
    if np.ndim(state.current_player) != 0:
        raise ParameterError(f"expected one state, got a batch of {len(state.current_player)}: pass one of them")
    board: Any = jax.device_get(state.board if isinstance(state, AutoResetState) else state)
    contents = drawing.contents(board)
    places, radius = _geometry(game, seat)
    cells = {name: Cell(x, y, radius, f"{name}, {contents.get(name, 'empty')}") for name, (x, y) in places.items()}
    texts = legal_moves(game, board)
    motions = drawing.motions(board, list(texts.values()))
    moves = [Move(action, text, *motion) for (action, text), motion in zip(texts.items(), motions, strict=True)]
    return Anchors(cells, tuple(moves))


@functools.lru_cache
def _geometry(env: Env[Any], seat: int | None) -> tuple[dict[str, Place], float]:
    """Returns the middles of the cells on the picture, row by row, and half the distance between the nearest ones."""
    _, drawing = boards.drawing_of(env, seat=seat)
    on_card = {name: drawing.on_card(place) for name, place in drawing.cells.items()}
    places = dict(sorted(on_card.items(), key=lambda cell: (round(cell[1][1]), cell[1][0])))
    nearest = min(math.dist(a, b) for a, b in itertools.combinations(places.values(), 2))
    return places, math.floor(50 * nearest) / 100
