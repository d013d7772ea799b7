"""Reads the elements on the board, their places and the texts of a picture."""

import math
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from jaxgames.render import Picture

SVG = "{http://www.w3.org/2000/svg}"
XY = tuple[float, float]


def parse(picture: Picture) -> Element:
    return ElementTree.fromstring(picture.svg)


def is_background(element: Element) -> bool:
    return element.get("href", "").endswith("-background")


def on_board(root: Element) -> list[Element]:
    """The elements on the background of a picture's only board."""
    (board,) = [g for g in root.iter(f"{SVG}g") if "scale" in g.get("transform", "") and len(g) and is_background(g[0])]
    return list(board)[1:]


def pieces(root: Element) -> dict[XY, str]:
    """The look of the piece at each place: the last word of its name, such as `seat0`."""
    uses = [e for e in on_board(root) if e.tag == f"{SVG}use"]
    return {pairs(e.attrib["transform"])[0]: e.attrib["href"].split("-")[-1] for e in uses}


def paths(root: Element) -> list[str]:
    """The path data of the marks on the board without the outlines of goals, the bottom ones first."""
    return [e.attrib["d"] for e in on_board(root) if e.tag == f"{SVG}path" and "stroke-dasharray" not in e.attrib]


def goals(root: Element) -> list[Element]:
    """The outlines of goals."""
    return [e for e in on_board(root) if "stroke-dasharray" in e.attrib]


def pairs(text: str) -> list[XY]:
    """All pairs of numbers in path data or in a transform."""
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", text)]


def texts(root: Element) -> list[str]:
    """All texts that are not the number of a cell."""
    return [e.text or "" for e in root.iter(f"{SVG}text") if not (e.text or "").isdigit()]


def close(a: XY, b: XY) -> bool:
    return math.dist(a, b) < 0.02
