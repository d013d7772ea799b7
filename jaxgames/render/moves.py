"""The marks of `svg(..., moves_of=piece)`: the piece, the cells that it can reach, and an arrow per step or hop.

The marks look alike on every board; a game can supply the stops on the way. Each arrow ends before the middle of its
cell, so that the hole or piece there stays visible.
"""

import math
from collections.abc import Mapping
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.env import Env
from jaxgames.host import legal_moves
from jaxgames.render.drawing import Drawing, Place, at, number
from jaxgames.render.theme import Theme

TARGET_RADIUS = 8.6  # of the shade on a cell that the piece can reach
FROM_PIECE, FROM_STOP, TO_CELL = 9.6, 4.6, 4.8  # from the middles of cells to the ends of arrows
HEAD_LENGTH, HEAD_HALF_WIDTH = 3.6, 2.2  # of an arrow
STAR_RADII = (5.6, 2.5)  # of the points and of the corners between them


def under(theme: Theme) -> dict[str, Mapping[str, str]]:
    """Returns the attributes of the marks below the pieces."""
    return {"targets": {"fill": theme.ink, "fill-opacity": ".24"}}


def over(theme: Theme) -> dict[str, Mapping[str, str]]:
    """Returns the attributes of the marks above the pieces; the arrows have a casing, to be legible on any piece."""
    line = {"stroke-linecap": "round", "stroke-linejoin": "round"}
    return {
        "arrow-casings": {**line, "stroke": theme.hole, "stroke-width": "3.6", "stroke-opacity": ".9"},
        "arrows": {**line, "stroke": theme.ink, "stroke-width": "1.5"},
        "ring": {"stroke": theme.ink, "stroke-width": "1.8"},
        "star": {"fill": theme.shine, "stroke": theme.outline, "stroke-width": ".9", "stroke-linejoin": "round"},
    }


def marks(game: Env[Any], drawing: Drawing, state: Any, piece: int | str) -> dict[str, str]:
    """Returns path data: of the mark of the mover's piece on a cell, of the shades on its targets, and of the arrows.

    Raises ParameterError if no piece of the mover is on the cell, and for a game whose pieces do not move.
    """
    if drawing.chosen is None:
        raise ParameterError(f"moves_of is for games whose pieces move, and those of {game.id!r} do not: leave it out")
    mover, cell, places = drawing.seats[int(state.current_player)][0], str(piece), drawing.cells
    own = [name for name, contents in drawing.contents(state).items() if contents.startswith(f"{mover} ")]
    if cell not in own:
        named = ", ".join(own) or "none on this board"
        raise ParameterError(
            f"moves_of must be the cell of a piece of {mover}, the player to move: {named}; not {piece!r}"
        )
    motions = drawing.motions(state, list(legal_moves(game, state).values()))
    targets = list(dict.fromkeys(move.target for move in motions if move.source == cell and move.target is not None))
    legs = [(cell, target) for target in targets] if drawing.legs is None else drawing.legs(state, cell, targets)
    shades = "".join(circle(places[target], TARGET_RADIUS) for target in targets)
    arrows = "".join(_arrow(places[a], places[b], FROM_PIECE if a == cell else FROM_STOP) for a, b in legs)
    shown = {"targets": shades, "arrow-casings": arrows, "arrows": arrows} if shades else {}
    return {**shown, **drawing.chosen(places[cell])}


def circle(middle: Place, radius: float) -> str:
    """Returns the path of a circle."""
    (x, y), r = middle, number(radius)
    across = number(2 * radius)
    return f"M{number(x - radius)},{number(y)}a{r},{r} 0 1,0 {across},0a{r},{r} 0 1,0 -{across},0Z"


def star(middle: Place) -> dict[str, str]:
    """Returns the mark of a five-pointed star."""
    angles = [math.pi * corner / 5 for corner in range(10)]
    radii = STAR_RADII * 5
    corners = [
        (middle[0] + r * math.sin(angle), middle[1] - r * math.cos(angle))
        for r, angle in zip(radii, angles, strict=True)
    ]
    return {"star": f"M{'L'.join(map(at, corners))}Z"}


def _arrow(start: Place, end: Place, gap: float) -> str:
    """Returns an arrow from `gap` behind the middle of a cell to `TO_CELL` before that of another."""
    length = math.dist(start, end)
    along = (end[0] - start[0]) / length, (end[1] - start[1]) / length

    def point(distance: float, aside: float = 0.0) -> str:
        return at(
            (start[0] + distance * along[0] - aside * along[1], start[1] + distance * along[1] + aside * along[0])
        )

    tip = length - TO_CELL
    head = [point(tip - HEAD_LENGTH, HEAD_HALF_WIDTH), point(tip), point(tip - HEAD_LENGTH, -HEAD_HALF_WIDTH)]
    return f"M{point(min(gap, tip))}L{point(tip)}M{'L'.join(head)}"
