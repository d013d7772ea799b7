"""Pictures of 5 x 5 chess: every piece at its place, the last move, a check, and the caption."""

import re
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from jaxgames import make, render
from jaxgames.games.minichess.drawing import INSIDES, OUTLINES
from jaxgames.render.theme import THEMES
from tests.render.drawn import SVG, on_board, parse, texts
from tests.render.drawn import pieces as looks


def draw(text: str, parameters: str = "", **options: Any) -> Element:
    env = make(f"minichess({parameters})")
    return parse(render.svg(env, env.from_string(text), **options))


def pieces(root: Element) -> dict[str, str]:
    """The letter of FEN on every square, found by its place: a1 at the bottom left, squares 20 wide."""
    return {f"{'abcde'[int(x // 20 + 2)]}{int(3 - y // 20)}": letter for (x, y), letter in looks(root).items()}


def squares(root: Element, color: str) -> set[str]:
    """The squares under the mark of a colour."""
    (path,) = [e.attrib["d"] for e in on_board(root) if e.tag == f"{SVG}path" and e.get("fill") == color]
    corners = re.findall(r"M(-?[\d.]+),(-?[\d.]+)h20v20h-20Z", path)
    return {f"{'abcde'[int((float(x) + 50) // 20)]}{int(5 - (float(y) + 50) // 20)}" for x, y in corners}


LAST, CHECK = "#e3b505", "#d1321f"


@pytest.mark.parametrize("theme", THEMES)
def test_pieces_stand_where_the_text_says(theme: str) -> None:
    root = draw("r3k/1P3/2nQ1/3p1/K1RbB w - - 3 7", theme=theme)
    assert pieces(root) == {
        **{"a5": "r", "e5": "k", "b4": "P", "c3": "n", "d3": "Q", "d2": "p"},
        **{"a1": "K", "c1": "R", "d1": "b", "e1": "B"},
    }
    names = [e.text or "" for e in root.iter(f"{SVG}text")]
    assert [name for name in names if len(name) == 1] == ["a", "1", "b", "2", "c", "3", "d", "4", "e", "5"]


def test_pieces_have_different_shapes_inside_their_squares() -> None:
    assert set(OUTLINES) == set("pnbrqk")
    assert len(set(OUTLINES.values())) == 6
    for path in [*OUTLINES.values(), *INSIDES.values()]:
        numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", re.sub(r"A[^QLZA]*?0 1 1", "L", path))]
        assert max(map(abs, numbers)) < 10


def test_last_move_is_marked() -> None:
    assert squares(draw("rnbqk/pp1pp/5/PPPPP/RNBQK w - - 0 2", last="c4d3"), LAST) == {"c4", "d3"}
    assert squares(draw("4Q/5/5/5/K2k1 b - - 0 9", last="e4e5q"), LAST) == {"e4", "e5"}


def test_check_is_marked() -> None:
    root = draw("k1R2/5/K4/5/5 b - - 3 9")
    assert squares(root, CHECK) == {"a5"}
    assert not [e for e in on_board(draw("k4/2R2/K4/5/5 b - - 3 9")) if e.get("fill") == CHECK]


@pytest.mark.parametrize(
    ("text", "parameters", "caption"),
    [
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "", "White to move · move 1"),
        ("k1R2/1p3/4K/5/5 b - - 3 9", "", "Black to move, in check · move 9"),
        ("k1R2/5/K4/5/5 b - - 3 9", "", "White wins: checkmate"),
        ("k4/2Q2/1K3/5/5 b - - 5 9", "", "draw: stalemate"),
        ("k4/5/K4/5/4R w - - 5 129", "", "256 plies without a winner"),
        ("4K/5/5/5/R4 b - - 5 9", "rules=king_capture", "White wins: king captured"),
        ("k4/5/5/5/4K b - - 5 9", "rules=king_capture", "Black to move · move 9"),
    ],
)
def test_caption_names_the_mover_or_the_outcome(text: str, parameters: str, caption: str) -> None:
    assert texts(draw(text, parameters))[-1] == caption


def test_wrong_last_move_is_explained() -> None:
    with pytest.raises(ValueError, match="such as 'a2a3' or 'd4d5q', not 'a2x3'"):
        draw("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", last="a2x3")
