"""Pictures of Dots and Boxes: the position, the last turn in the colour of its seat, and the caption."""

import re
from collections import Counter
from itertools import groupby
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import pytest

from jaxgames import render
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.render.theme import THEMES
from tests.render.drawn import SVG, parse, pieces

Segment = frozenset[tuple[int, int]]  # the two dots (row, column) at the ends of a line


def board(env: DotsAndBoxes, text: str, last: str | None = None, theme: str = "light") -> Element:
    return parse(render.svg(env, env.from_string(text), last=last, theme=theme))


def dots(root: Element) -> list[tuple[float, float]]:
    """(x, y) of the dots in the background, row by row."""
    return [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in root.iter(f"{SVG}circle")]


def lines(root: Element, stroke: str, env: DotsAndBoxes) -> set[Segment]:
    """The lines of one colour on the board, as pairs of dots: each line is 11.6 of the 20 units long."""
    where = dots(root)
    found: set[Segment] = set()
    for path in root.iter(f"{SVG}path"):
        if path.get("stroke") != stroke:
            continue
        for x, y, way, length in re.findall(r"M(-?[\d.]+),(-?[\d.]+)([hv])([\d.]+)", path.attrib["d"]):
            assert length == "11.6"
            dx, dy = (4.2, 0) if way == "h" else (0, 4.2)
            begin = float(x) - dx, float(y) - dy
            end = begin[0] + 20 * (way == "h"), begin[1] + 20 * (way == "v")
            ends = [
                next(i for i, dot in enumerate(where) if max(abs(dot[0] - p[0]), abs(dot[1] - p[1])) < 0.02)
                for p in (begin, end)
            ]
            found.add(frozenset(divmod(i, env.cols + 1) for i in ends))
    return found


def segment(edge: str) -> Segment:
    kind, row, col = re.findall(r"[hv]|\d+", edge)
    r, c = int(row), int(col)
    return frozenset({(r, c), (r, c + 1) if kind == "h" else (r + 1, c)})


def texts(root: Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (16, 16)])
def test_drawn_edges_lie_between_their_dots(rows: int, cols: int, theme: str) -> None:
    """Every fourth edge is drawn; all others are faint."""
    env = DotsAndBoxes(rows, cols)
    drawn = range(0, env.num_edges, 4)
    bits = "".join("01"[edge in drawn] for edge in range(env.num_edges))
    root = board(env, f"{bits} {'.' * env.num_boxes} 0", theme=theme)
    assert len(dots(root)) == (rows + 1) * (cols + 1)
    expected = {segment(env.action_to_string(env.init(), edge)) for edge in drawn}
    assert lines(root, THEMES[theme].ink, env) == expected
    assert len(lines(root, THEMES[theme].line, env)) == env.num_edges
    numbers = [*map(str, range(rows + 1)), *map(str, range(cols + 1))]
    assert texts(root) == [*numbers, "Red to move · 0 : 0"]


def test_taken_boxes_lie_between_their_dots_in_the_colours_of_their_owners() -> None:
    env = DotsAndBoxes(2, 3)
    root = board(env, "1" * 17 + " 001101 0")
    tiles = {place: look[-1] for place, look in pieces(root).items()}
    assert Counter(tiles.values()) == {"0": 3, "1": 3}
    for number, owner in enumerate("001101"):
        x, y = dots(root)[number // 3 * 4 + number % 3]  # the dot above, to the left
        assert [o for (a, b), o in tiles.items() if abs(a - x - 10) < 0.02 and abs(b - y - 10) < 0.02] == [owner]


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("1010110 0. 0", "Red to move · 1 : 0"),
        ("1111111 11 0", "Blue wins: all edges drawn · 0 : 2"),
        ("1111111 01 1", "draw: all edges drawn · 1 : 1"),
    ],
)
def test_caption_names_the_mover_or_the_outcome(text: str, caption: str) -> None:
    assert texts(board(DotsAndBoxes(1, 2), text))[-1] == caption


@pytest.mark.parametrize(
    ("text", "last", "seat"),
    [
        ("1000000 .. 1", "h(0,0)", 0),  # took nothing: the seat that is not to move drew it
        ("1000000 .. 0", "h(0,0)", 1),
        ("1010110 0. 0", "v(0,1)", 0),  # took a box: its owner drew it
        ("1010110 1. 1", "v(0,1) v(0,0)", 1),
    ],
)
def test_last_turn_is_marked_in_the_colour_of_its_seat(text: str, last: str, seat: int) -> None:
    env, theme = DotsAndBoxes(1, 2), THEMES["light"]
    root = board(env, text, last)
    assert lines(root, theme.seats[seat], env) == set(map(segment, last.split()))
    assert lines(root, theme.seats[1 - seat], env) == set()
    assert texts(root)[-1] == last.split()[-1]


def test_wrong_last_move_is_explained() -> None:
    env = DotsAndBoxes(1, 2)
    with pytest.raises(ValueError, match="row from 0 to 1"):
        render.svg(env, env.init(), last="h(2,0)")


def test_frames_mark_the_edges_of_a_turn_so_far() -> None:
    """Seat 0 draws an edge, then seat 1 takes two boxes in one turn."""
    env, theme = DotsAndBoxes(1, 2), THEMES["light"]
    state = env.from_string("1111000 .. 0")
    actions = [env.action_from_string(state, edge) for edge in ("v(0,0)", "v(0,1)", "v(0,2)")]
    states, step = [state], jax.jit(env.step)
    for action in actions:
        states.append(step(states[-1], jnp.int32(action)))
    root = parse(render.animate(env, states, actions))
    assert {"Blue to move · 0 : 1", "2. v(0,1)", "Blue wins: all edges drawn · 0 : 2"} <= set(texts(root))
    for colour, expected in ((theme.ink, [4, 5, 6, 7]), (theme.seats[0], [0, 1, 0]), (theme.seats[1], [0, 1, 2])):
        (path,) = [e for e in root.iter(f"{SVG}path") if e.get("stroke") == colour]
        (moving,) = [e for e in path if e.get("attributeName") == "d"]
        counts = [values.count("h") + values.count("v") for values in moving.attrib["values"].split(";")]
        assert [count for count, _ in groupby(counts)] == expected
