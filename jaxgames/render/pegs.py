"""The parts of boards with pegs: the holes in a triangular grid, the lines between them, the pegs, outlined goals."""

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from jaxgames.render.drawing import CELL, Place, at, node
from jaxgames.render.theme import Theme

ROW = CELL * math.sqrt(3) / 2  # distance from one row to the next
PEG_RADIUS, HOLE_RADIUS = 8.3, 3.9
RIM = 13.0  # from the outermost cells to the board's edge
GOAL = {"stroke-width": "2.2", "stroke-dasharray": "5 3.2"}  # attributes of the outline of a goal, without its colour
# Attributes of the path that marks the last move, without its colour.
LAST_MOVE = {"stroke-linecap": "round", "stroke-linejoin": "round", "stroke-width": "19.4", "stroke-opacity": ".22"}


def path(places: Sequence[Place]) -> str:
    """Returns the open path through the places, in straight lines."""
    return "M" + "L".join(map(at, places))


def rounded(corners: Sequence[Place], radius: float) -> str:
    """Returns a closed path along the corners, each cut `radius` before it and rounded."""
    parts: list[str] = []
    for before, corner, after in zip([corners[-1], *corners[:-1]], corners, [*corners[1:], corners[0]], strict=True):
        near = [_towards(corner, other, radius) for other in (before, after)]
        parts.append(f"{at(near[0])}Q{at(corner)} {at(near[1])}")
    return f"M{'L'.join(parts)}Z"


def _towards(place: Place, other: Place, distance: float) -> Place:
    """Returns the place at a distance from `place` on the way to `other`."""
    share = distance / math.dist(place, other)
    return place[0] + share * (other[0] - place[0]), place[1] + share * (other[1] - place[1])


def lines(strokes: Sequence[Sequence[Place]], theme: Theme) -> Element:
    """Returns the lines between neighbouring holes."""
    return node("path", d="".join(map(path, strokes)), stroke=theme.line, stroke_width=1.1, stroke_linecap="round")


def holes(places: Sequence[Place], theme: Theme) -> Element:
    """Returns a hole at each place."""
    group = node("g", fill=theme.hole, stroke=theme.rim, stroke_width=0.9)
    group.extend(node("circle", cx=x, cy=y, r=HOLE_RADIUS) for x, y in places)
    return group


def peg(theme: Theme, colour: str) -> Element:
    """Returns a peg with a reflection on it."""
    body = node("circle", r=PEG_RADIUS, fill=colour, stroke=theme.outline, stroke_width=0.9)
    shine = node(
        "ellipse",
        cx=-2.6,
        cy=-3.2,
        rx=3.1,
        ry=2.2,
        fill=theme.shine,
        fill_opacity=".32",
        transform="rotate(-38 -2.6 -3.2)",
    )
    return node("g", body, shine)
