"""The board of checkers as it is printed: square 1 on top, Black (seat 0) moving down, PDN numbers in the dark squares.

The square in row r and column c has its middle at CELL (c - 3.5, r - 3.5).
"""

import functools
import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from jaxgames.games.checkers.rules import Checkers, CheckersState
from jaxgames.render import moves
from jaxgames.render.drawing import CELL, Drawing, Motion, Place, Scene, at, caption_of, in_words, node, text_node
from jaxgames.render.theme import Theme

MAN_RADIUS, RING_RADIUS = 7.3, 8.5  # the ring is around the piece whose moves are shown, or that must jump again
BOARD_WIDTH = 8 * CELL
SEAT_NAMES = ("Black", "White")
_CROWN = "M-3.6,2.8L-4.3,-2.1L-1.9,-.2L0,-3.5L1.9,-.2L4.3,-2.1L3.6,2.8Z"


def drawing(env: Checkers, theme: Theme) -> Drawing:
    """Returns the board, men and kings."""
    looks = {f"{kind}{seat}": _piece(theme, seat, king=kind == "king") for kind in ("man", "king") for seat in (0, 1)}
    highlight = theme.men.last_move
    line = {"stroke": highlight, "stroke-linecap": "round", "stroke-linejoin": "round"}
    return Drawing(
        name="checkers",
        theme=theme,
        width=BOARD_WIDTH + 5,
        height=BOARD_WIDTH + 5,
        background=_board(theme),
        looks=looks,
        under={
            "last": {"fill": highlight, "fill-opacity": ".55"},
            "trail": {**line, "stroke-width": "2.6", "stroke-opacity": ".9"},
            "captured": {"stroke": theme.seats[0], "stroke-width": "1.8", "stroke-linecap": "round"},
            **moves.under(theme),
        },
        over={"jumper": {"stroke": highlight, "stroke-width": "2"}, **moves.over(theme)},
        scene=functools.partial(_scene, env),
        cells={str(square): _place(square) for square in range(1, 33)},
        contents=lambda state: in_words(env.pieces_of(state), SEAT_NAMES),
        motions=functools.partial(_motions, env),
        chosen=lambda place: {"ring": moves.circle(place, RING_RADIUS)},
        angles=(180, 0),
        seats=tuple(zip(SEAT_NAMES, (side.fill for side in theme.men.sides), strict=True)),
    )


# -- one position ----------------------------------------------------------------------------------


def _scene(env: Checkers, state: CheckersState, turn: Sequence[str]) -> Scene:
    seat, jumper = int(state.current_player), env.jumper(state)
    pieces = {_place(square): f"{kind}{owner}" for square, (owner, kind) in env.pieces_of(state).items()}
    live = "to move" if jumper is None else "must jump again"
    caption = caption_of(env.outcome(state), seat, ("man0", "man1"), SEAT_NAMES, live)
    marks: dict[str, str] = {}
    if legs := [_leg(move) for move in turn]:
        through = [legs[0][0], *(to for _, to in legs)]
        marks["last"] = "".join(_square(place) for place in dict.fromkeys(through))
        marks["trail"] = "M" + "L".join(map(at, through))
        jumps = [leg for leg, move in zip(legs, turn, strict=True) if "x" in move]
        if jumps:
            marks["captured"] = "".join(_cross(((x0 + x1) / 2, (y0 + y1) / 2)) for (x0, y0), (x1, y1) in jumps)
    if jumper is not None:
        marks["jumper"] = moves.circle(_place(jumper), RING_RADIUS)
    return Scene(caption, pieces, marks)


def _leg(text: str) -> tuple[Place, Place]:
    found = re.fullmatch(r"(\d{1,2})[-x](\d{1,2})", text)
    if not found or not all(1 <= int(square) <= 32 for square in found.groups()):
        raise ValueError(f"expected a step '11-15' or a jump '15x22' of squares from 1 to 32, not {text!r}")
    return _place(int(found[1])), _place(int(found[2]))


def _motions(env: Checkers, state: CheckersState, texts: Sequence[str]) -> list[Motion]:
    """Returns the parts of plies: steps and captures, with the piece that is captured."""
    contents = in_words(env.pieces_of(state), SEAT_NAMES)

    def motion(text: str) -> Motion:
        source, target = re.split("[-x]", text)
        if "x" not in text:
            return Motion(source, target, "step", f"{source} to {target}")
        (x0, y0), (x1, y1) = _leg(text)
        captured = next(cell for cell in contents if _place(int(cell)) == ((x0 + x1) / 2, (y0 + y1) / 2))
        return Motion(
            source, target, "capture", f"{source} jumps to {target} and takes the {contents[captured]} on {captured}"
        )

    return [motion(text) for text in texts]


# -- geometry --------------------------------------------------------------------------------------


def _place(square: int) -> Place:
    row, k = divmod(square - 1, 4)
    return CELL * (2 * k + (1 - row % 2) - 3.5), CELL * (row - 3.5)


def _square(place: Place) -> str:
    return f"M{at((place[0] - CELL / 2, place[1] - CELL / 2))}h{CELL:g}v{CELL:g}h{-CELL:g}z"


def _cross(place: Place) -> str:
    x, y = place
    return f"M{at((x - 3, y - 3))}l6,6M{at((x + 3, y - 3))}l-6,6"


# -- background and pieces ---------------------------------------------------------------------------


def _board(theme: Theme) -> Element:
    """Returns the squares, with PDN numbers in the corners of the dark ones."""
    colours, edge, side = theme.men, BOARD_WIDTH / 2 + 1.5, BOARD_WIDTH + 3
    frame = node("rect", x=-edge, y=-edge, width=side, height=side, rx=2.5, fill=colours.light, stroke=theme.edge)
    squares = node("path", d="".join(_square(_place(square)) for square in range(1, 33)), fill=colours.dark)
    numbers = node("g", font_size=4.2, fill=colours.numbers)
    for square in range(1, 33):
        x, y = _place(square)
        numbers.append(text_node(str(square), x=x - CELL / 2 + 0.8, y=y - CELL / 2 + 4))
    return node("g", frame, squares, numbers)


def _piece(theme: Theme, seat: int, *, king: bool) -> Element:
    """Returns a disc with two rings, and a crown on it for a king."""
    side = theme.men.sides[seat]
    disc = node("circle", r=MAN_RADIUS, fill=side.fill, stroke=side.outline, stroke_width=0.8)
    radii = (5.9,) if king else (5.9, 3.4)
    rings = [node("circle", r=r, fill="none", stroke=side.detail, stroke_width=0.7) for r in radii]
    if not king:
        return node("g", disc, *rings)
    crown = node("path", d=_CROWN, fill=side.crown, stroke=side.crown, stroke_width=0.8, stroke_linejoin="round")
    return node("g", disc, *rings, crown)
