"""All positions of a game on one card, for a page that shows one of them at a time.

Every part that some positions share is drawn once: a piece at its place, the path of a mark, a caption. The attribute
`data-at` lists the positions where it is visible: "0-4 9" are the positions 0 to 4, and 9.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from jaxgames.render.drawing import Drawing, Scene, caption_line, card, mark, node, piece

T = TypeVar("T")


def together(drawing: Drawing, scenes: Sequence[Scene]) -> Element:
    """Returns the card of all scenes of a game."""
    pieces = node("g")
    for look in drawing.looks:
        standing = positions_of([place for place, kind in scene.pieces.items() if kind == look] for scene in scenes)
        pieces.extend(_at(piece(drawing, look, place), numbers) for place, numbers in standing.items())
    on_board = [*_marks(drawing.under, scenes), pieces, *_marks(drawing.over, scenes)]
    return card(drawing, on_board, _captions(drawing, scenes))


def positions_of(parts: Iterable[Iterable[T]]) -> dict[T, list[int]]:
    """Returns the numbers of the positions that have each part, from the parts of each position."""
    found: dict[T, list[int]] = {}
    for number, of_position in enumerate(parts):
        for part in of_position:
            found.setdefault(part, []).append(number)
    return found


def spans(numbers: Sequence[int]) -> str:
    """Returns rising numbers as spans: "0-2 5" for 0, 1, 2 and 5."""
    ends: list[tuple[int, int]] = []
    for number in numbers:
        if ends and ends[-1][1] == number - 1:
            ends[-1] = ends[-1][0], number
        else:
            ends.append((number, number))
    return " ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in ends)


def _marks(layer: Mapping[str, Mapping[str, str]], scenes: Sequence[Scene]) -> list[Element]:
    """Returns a group for each mark of a layer with all its paths."""
    groups: list[Element] = []
    for name, attributes in layer.items():
        paths = positions_of([scene.marks[name]] if name in scene.marks else [] for scene in scenes)
        group = mark(attributes, "")
        group.tag = "g"
        del group.attrib["d"]
        group.extend(_at(node("path", d=path), numbers) for path, numbers in paths.items())
        groups.append(group)
    return groups


def _captions(drawing: Drawing, scenes: Sequence[Scene]) -> Element:
    """Returns the parts of all captions: the looks of pieces, the texts and the notes."""
    lines = [
        [ElementTree.tostring(part, encoding="unicode") for part in caption_line(drawing, scene.caption)]
        for scene in scenes
    ]
    return node("g", *(_at(ElementTree.fromstring(part), at) for part, at in positions_of(lines).items()))


def _at(element: Element, numbers: Sequence[int]) -> Element:
    element.set("data-at", spans(numbers))
    return element
