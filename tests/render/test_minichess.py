"""Pictures of 5 x 5 chess: every piece at its place, the last move, a check, and how a game ended."""

import re
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import pytest

from jaxgames import make, render
from jaxgames.render.minichess import INSIDES, OUTLINES
from jaxgames.render.theme import THEMES

SVG = "{http://www.w3.org/2000/svg}"


def draw(text: str, parameters: str = "", **options: Any) -> Element:
    env = make(f"minichess({parameters})")
    return ElementTree.fromstring(render.svg(env, env.from_string(text), **options).svg)


def on_board(root: Element) -> list[Element]:
    """What lies on the background of the first board."""
    (board,) = [
        g
        for g in root.iter(f"{SVG}g")
        if "scale" in g.get("transform", "") and g[0].get("href", "").endswith("background")
    ]
    return list(board)[1:]


def pieces(root: Element) -> dict[str, str]:
    """The letter of FEN on every square, found by its place: a1 at the bottom left, squares 20 wide."""
    found: dict[str, str] = {}
    for use in on_board(root):
        if use.tag == f"{SVG}use":
            x, y = map(float, re.findall(r"-?[\d.]+", use.attrib["transform"]))
            name = use.attrib["href"].rsplit("-", 1)[-1]
            found[f"{'abcde'[int(x // 20 + 2)]}{int(3 - y // 20)}"] = name
    return found


def squares(root: Element, color: str) -> set[str]:
    """The squares that a mark of that colour covers."""
    (path,) = [e.attrib["d"] for e in on_board(root) if e.tag == f"{SVG}path" and e.get("fill") == color]
    corners = re.findall(r"M(-?[\d.]+),(-?[\d.]+)h20v20h-20Z", path)
    return {f"{'abcde'[int((float(x) + 50) // 20)]}{int(5 - (float(y) + 50) // 20)}" for x, y in corners}


def texts(root: Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


LAST, CHECK = "#e3b505", "#d1321f"


@pytest.mark.parametrize("theme", THEMES)
def test_pieces_stand_where_the_text_says(theme: str) -> None:
    root = draw("r3k/1P3/2nQ1/3p1/K1RbB w - - 3 7", theme=theme)
    assert pieces(root) == {
        **{"a5": "r", "e5": "k", "b4": "P", "c3": "n", "d3": "Q", "d2": "p"},
        **{"a1": "K", "c1": "R", "d1": "b", "e1": "B"},
    }
    assert [text for text in texts(root) if len(text) == 1] == ["a", "1", "b", "2", "c", "3", "d", "4", "e", "5"]


def test_every_piece_has_a_shape_of_its_own_inside_its_square() -> None:
    assert set(OUTLINES) == set("pnbrqk")
    assert len(set(OUTLINES.values())) == 6
    for path in [*OUTLINES.values(), *INSIDES.values()]:
        numbers = [float(n) for n in re.findall(r"-?\d*\.?\d+", re.sub(r"A[^QLZA]*?0 1 1", "L", path))]
        assert max(map(abs, numbers)) < 10


def test_the_last_move_is_marked() -> None:
    assert squares(draw("rnbqk/pp1pp/5/PPPPP/RNBQK w - - 0 2", last="c4d3"), LAST) == {"c4", "d3"}
    assert squares(draw("4Q/5/5/5/K2k1 b - - 0 9", last="e4e5q"), LAST) == {"e4", "e5"}


def test_a_check_is_marked() -> None:
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
        ("k4/5/K4/5/4R w - - 100 60", "", "draw: 100 plies without a capture or a pawn's move"),
        ("k4/5/K4/5/4B w - - 5 9", "", "draw: too little to mate"),
        ("k4/5/K4/5/4R w - - 5 129", "", "no winner after 256 plies"),
        ("4K/5/5/5/R4 b - - 5 9", "rules=king_capture", "White wins: king captured"),
        ("kp3/pp3/pp3/pp3/pp2K b - - 5 9", "rules=king_capture", "draw: no move"),
        ("k4/5/5/5/4K b - - 5 9", "rules=king_capture", "Black to move · move 9"),
    ],
)
def test_caption_says_who_moves_or_how_it_ended(text: str, parameters: str, caption: str) -> None:
    assert texts(draw(text, parameters))[-1] == caption


def test_captions_that_a_text_does_not_tell() -> None:
    """A third occurrence and an illegal move."""
    env = make("minichess")
    state = env.init(jax.random.key(0))
    illegal = env.step(state, jnp.int32(-1))
    assert texts(ElementTree.fromstring(render.svg(env, illegal).svg))[-1] == "illegal move by White"
    step = jax.jit(env.step)
    for move in ["b1a3", "b5c3", "a3b1", "c3b5"] * 2:
        state = step(state, jnp.int32(env.action_from_string(state, move)))
    assert texts(ElementTree.fromstring(render.svg(env, state).svg))[-1] == "draw: third occurrence"


def test_a_wrong_move_is_refused() -> None:
    with pytest.raises(ValueError, match="such as 'a2a3' or 'd4d5q', not 'a2x3'"):
        draw("rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", last="a2x3")


def test_a_game_in_motion() -> None:
    env = make("minichess")
    states, actions = [env.init(jax.random.key(0))], list[int]()
    for move in ["d2d3", "b4b3", "a2b3"]:
        actions.append(env.action_from_string(states[-1], move))
        states.append(env.step(states[-1], jnp.int32(actions[-1])))
    picture = render.animate(env, states, actions)
    assert "3. a2b3" in picture.svg
    ElementTree.fromstring(picture.svg)
