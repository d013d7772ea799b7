"""The parts of a drawing that a game supplies, and the card that is made of them: a board and its caption.

A game draws in its own units. One cell is `CELL` wide, and (0, 0) is the middle of its board:

    Drawing   the parts that all positions share: the background, the looks of the pieces, the strokes of the marks
    Scene     the parts of one position: the look and place of each piece, the path of each mark, the caption

A still picture draws one scene on the background. An animation compares the scenes of a game.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from jaxgames.env import Outcome
from jaxgames.render.theme import Theme

CELL = 20.0  # a cell's width in a drawing's units
CARD = 400.0  # a card's width in a document's units, in which the caption is set
PADDING = 14.0  # between a card's border and its board
CAPTION = 40.0  # height of the caption
GAP = 12.0  # between the cards of a grid
FONT_SIZE = 14.0  # of captions
CHARACTER_WIDTH = 0.62  # of a bold character, as a share of the font size; fonts differ, so this is on the safe side
FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, 'Noto Sans', 'DejaVu Sans', 'Liberation Sans', sans-serif"

Place = tuple[float, float]  # (x, y) of the middle of a piece


@dataclass(frozen=True)
class Caption:
    """A line below a board."""

    look: str | None  # a piece drawn before the text
    text: str
    note: str = ""  # text at the right end, in a muted colour
    strong: bool = False  # whether the game is over


@dataclass(frozen=True)
class Scene:
    """The parts that a position adds to the background."""

    caption: Caption
    pieces: Mapping[Place, str] = field(default_factory=dict[Place, str])  # the look of the piece at each place
    marks: Mapping[str, str] = field(default_factory=dict[str, str])  # path data (`d`) of the visible marks


class Motion(NamedTuple):
    """The parts of a legal move that a page needs, to let people play it. Cells are named as in the texts of moves."""

    source: str | None  # the cell of the piece that moves; None if no piece does
    target: str | None  # the cell where the move ends, or the edge that it draws; None for "end turn" and "pass"
    kind: str  # "move", "step", "hop", "capture", "promotion to queen", "edge", "end turn", "pass", or another word
    label: str  # in words, for a screen reader


@dataclass(frozen=True)
class Drawing:
    """The parts that every position of one env shares, in one theme."""

    name: str  # the ids in the document begin with it, so that two pictures may be on one page
    theme: Theme
    width: float  # of the drawing, in units; (0, 0) is in the middle
    height: float
    background: Element
    looks: Mapping[str, Element]  # every kind of piece, drawn around (0, 0); the first ones are at the bottom
    under: Mapping[str, Mapping[str, str]]  # attributes of the paths of the marks below the pieces, bottom first
    over: Mapping[str, Mapping[str, str]]  # the same above the pieces
    scene: Callable[[Any, Sequence[str]], Scene]  # of a state and the texts of the moves of its last turn
    cells: Mapping[str, Place]  # the middles of all cells, or of all edges, by their names in the texts of moves
    contents: Callable[[Any], Mapping[str, str]]  # of a state: the piece on each cell that is not empty, in words
    motions: Callable[[Any, Sequence[str]], list[Motion]]  # of a state and the texts of legal moves, in their order
    chosen: Callable[[Place], Mapping[str, str]] | None = None  # the mark of `svg(moves_of=...)`; None: no piece moves
    legs: Callable[[Any, str, Sequence[str]], Sequence[tuple[str, str]]] | None = None
    """(state, cell, targets): the steps and hops from the cell of a piece to its targets; None: one to each of them."""
    angles: Sequence[float] = ()  # degrees clockwise that bring the home of each seat to the bottom
    seats: Sequence[tuple[str, str]] = ()  # the name of each seat and the colour of its pieces, `#rrggbb`
    goals: Sequence[str] = ()  # path data of the mark "goal0", "goal1", ... of each seat
    angle: float = 0  # degrees clockwise by which the board is rotated
    caption_height: float = CAPTION

    @property
    def scale(self) -> float:
        """Units of a card per unit of the drawing."""
        return (CARD - 2 * PADDING) / self.width

    @property
    def middle(self) -> Place:
        """The middle of the board on its card."""
        return CARD / 2, PADDING + self.height * self.scale / 2

    @property
    def card_height(self) -> float:
        """Height of a card, in its own units."""
        return round(self.height * self.scale + PADDING + self.caption_height, 1)

    def seen_from(self, seat: int) -> "Drawing":
        """Returns the drawing rotated for a seat, whose home is at the bottom; numbers and pieces stay upright."""
        angle = self.angles[seat] if self.angles else 0
        name = f"{self.name}r{angle:g}" if angle else self.name
        return dataclasses.replace(self, name=name, angle=angle, background=_upright(self.background, angle))

    def on_card(self, place: Place) -> Place:
        """Returns where a place of the board is on its card."""
        (x, y), turn = self.middle, math.radians(self.angle)
        right = math.cos(turn) * place[0] - math.sin(turn) * place[1]
        down = math.sin(turn) * place[0] + math.cos(turn) * place[1]
        return round(x + self.scale * right, 2), round(y + self.scale * down, 2)


def caption_of(outcome: Outcome, mover: int, looks: Sequence[str], names: Sequence[str], live: str) -> Caption:
    """Returns the caption of a board; `looks` and `names` are those of the seats, `live` says what the mover does."""
    if outcome.kind == "live":
        return Caption(looks[mover], f"{names[mover]} {live}")
    if outcome.kind == "win":
        winner = outcome.winners[0]
        return Caption(looks[winner], f"{names[winner]} wins: {outcome.reason}", strong=True)
    if outcome.kind == "forfeit":
        return Caption(looks[mover], f"illegal action by {names[mover]}", strong=True)
    return Caption(None, f"draw: {outcome.reason}" if outcome.kind == "draw" else outcome.reason, strong=True)


def in_words(pieces: Mapping[Any, tuple[int, str]], names: Sequence[str]) -> dict[str, str]:
    """Returns `Drawing.contents` of a board: the name of the seat and the kind of the piece on each cell."""
    return {str(cell): f"{names[seat]} {kind}" for cell, (seat, kind) in pieces.items()}


def number(value: float) -> str:
    """Returns a coordinate to a hundredth, as short as possible."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def at(place: Place) -> str:
    """Returns a place as path data."""
    return f"{number(place[0])},{number(place[1])}"


def node(tag: str, *children: Element, **attributes: float | str) -> Element:
    """Returns an element; `stroke_width=2` is the attribute `stroke-width`."""
    named = {
        name.replace("_", "-"): value if isinstance(value, str) else number(value) for name, value in attributes.items()
    }
    element = Element(tag, named)
    element.extend(children)
    return element


def text_node(content: str, **attributes: float | str) -> Element:
    """Returns a text element."""
    element = node("text", **attributes)
    element.text = content
    return element


def move_to(place: Place) -> str:
    """Returns the transform that moves an element from (0, 0) to a place."""
    return f"translate({number(place[0])},{number(place[1])})"


def piece(drawing: Drawing, look: str, place: Place) -> Element:
    """Returns a piece of a kind that the document defines once, at a place."""
    upright = f" rotate({number(-drawing.angle)})" if drawing.angle else ""
    return node("use", href=f"#{_name(drawing, look)}", transform=move_to(place) + upright)


def mark(attributes: Mapping[str, str], path: str) -> Element:
    """Returns the path of a mark, in the stroke or fill that its attributes give."""
    return Element("path", {"fill": "none", **attributes, "d": path})


def caption_line(drawing: Drawing, caption: Caption, y: float = 0) -> Element:
    """Returns one caption, `CAPTION` high, with its top at `y`."""
    theme, baseline = drawing.theme, y + CAPTION / 2 + 3
    line = node("g")
    left = PADDING + 4
    if caption.look is not None:
        dot = piece(dataclasses.replace(drawing, angle=0), caption.look, (left + 7, baseline - 5))
        dot.set("transform", dot.attrib["transform"] + " scale(.85)")
        line.append(dot)
        left += 22
    words = text_node(caption.text, x=left, y=baseline, font_weight="600" if caption.strong else "400")
    room = CARD - PADDING - 4 - left - CHARACTER_WIDTH * FONT_SIZE * len(caption.note)
    fitting = room / (CHARACTER_WIDTH * max(len(caption.text), 1))
    if fitting < FONT_SIZE:
        words.set("font-size", number(fitting))
    line.append(words)
    if caption.note:
        line.append(text_node(caption.note, x=CARD - PADDING - 4, y=baseline, text_anchor="end", fill=theme.muted))
    return line


def still(drawing: Drawing, scene: Scene) -> Element:
    """Returns the card of one position."""

    def marks(layer: Mapping[str, Mapping[str, str]]) -> list[Element]:
        return [mark(attributes, scene.marks[name]) for name, attributes in layer.items() if name in scene.marks]

    order = list(drawing.looks)
    standing = sorted(scene.pieces.items(), key=lambda item: order.index(item[1]))
    pieces = [piece(drawing, look, place) for place, look in standing]
    return card(drawing, [*marks(drawing.under), *pieces, *marks(drawing.over)], caption_line(drawing, scene.caption))


def card(drawing: Drawing, on_board: Sequence[Element], caption: Element) -> Element:
    """Returns a board on its paper, with the top left corner at (0, 0)."""
    theme = drawing.theme
    paper = node(
        "rect",
        x=0.5,
        y=0.5,
        width=CARD - 1,
        height=drawing.card_height - 1,
        rx=12,
        fill=theme.paper,
        stroke=theme.border,
    )
    background = node("use", href=f"#{_name(drawing, 'background')}")
    rotated = f" rotate({number(drawing.angle)})" if drawing.angle else ""
    board = node("g", background, *on_board, transform=f"{move_to(drawing.middle)} scale({drawing.scale:.4f}){rotated}")
    if drawing.caption_height < CAPTION:
        return node("g", paper, board)
    below = node("g", caption, transform=move_to((0, drawing.card_height - CAPTION)), fill=theme.ink)
    return node("g", paper, board, below)


def document(drawing: Drawing, cards: Sequence[Element], columns: int, width: float, label: str) -> str:
    """Returns a grid of cards as one SVG, each `width` pixels wide."""
    rows = -(-len(cards) // columns)
    total = (columns * (CARD + GAP) - GAP, rows * (drawing.card_height + GAP) - GAP)
    definitions = node("defs")
    for name, element in {"background": drawing.background, **drawing.looks}.items():
        definitions.append(node("g", element, id=_name(drawing, name)))
    root = node(
        "svg",
        definitions,
        xmlns="http://www.w3.org/2000/svg",
        width=round(total[0] * width / CARD),
        height=round(total[1] * width / CARD),
        viewBox=f"0 0 {number(total[0])} {number(total[1])}",
        role="img",
        aria_label=label,
        font_family=FONTS,
        font_size=FONT_SIZE,
    )
    for index, element in enumerate(cards):
        corner = (index % columns * (CARD + GAP), index // columns * (drawing.card_height + GAP))
        if len(cards) > 1:
            element.set("transform", move_to(corner))
        root.append(element)
    return ElementTree.tostring(root, encoding="unicode")


def _upright(element: Element, angle: float, font_size: float = FONT_SIZE, anchor: str = "start") -> Element:
    """Returns a copy in which every text is rotated back by `angle` around its own middle."""
    turned = copy.copy(element)
    font_size, anchor = float(element.get("font-size", font_size)), element.get("text-anchor", anchor)
    if angle and element.tag == "text":
        right = 0.28 * font_size * len(element.text or "") if anchor == "start" else 0
        x, y = float(element.get("x", 0)) + right, float(element.get("y", 0)) - 0.36 * font_size
        turned.set("transform", f"rotate({number(-angle)} {number(x)} {number(y)})")
    turned[:] = [_upright(child, angle, font_size, anchor) for child in element]
    return turned


def _name(drawing: Drawing, name: str) -> str:
    """Returns the id of a definition, which no other drawing or theme on the page has."""
    return f"{drawing.name}-{drawing.theme.name}-{name}"
