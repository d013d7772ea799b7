"""Cells and legal moves on the picture of a board, where people click. Their labels are among the stored pictures."""

import math
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from jaxgames import make, render
from tests.helpers.positions import compiled, start

SVG = "{http://www.w3.org/2000/svg}"
STAR, CHECKERS, MINICHESS = make("chinese_checkers(size=2, num_players=6)"), make("checkers"), make("minichess")
DIAMOND, BOXES = make("chinese_checkers_diamond(size=4, pieces=3)"), make("dots_and_boxes(rows=2, cols=2)")
GAMES = (STAR, CHECKERS, MINICHESS, DIAMOND, BOXES)
SIZES = (
    *(make(f"chinese_checkers(size={size}, num_players={seats})") for size, seats in ((1, 2), (3, 4), (8, 6))),
    make("chinese_checkers_diamond(size=9, pieces=10)"),
    *(make(f"dots_and_boxes(rows={rows}, cols={cols})") for rows, cols in ((1, 1), (16, 16))),
)


def on_picture(root: Any, place: str) -> tuple[float, float]:
    """Where a place of the only board, "x,y", is on its picture."""
    (board,) = [e.attrib["transform"] for e in root.iter(f"{SVG}g") if "scale" in e.get("transform", "")]
    x, y, scale, *angle = map(float, re.findall(r"-?[\d.]+", board))
    right, down = (scale * float(number) for number in place.split(","))
    turn = math.radians(angle[0]) if angle else 0
    return x + math.cos(turn) * right - math.sin(turn) * down, y + math.sin(turn) * right + math.cos(turn) * down


@pytest.mark.parametrize(
    "env", [DIAMOND, BOXES, *(pytest.param(env, marks=pytest.mark.slow) for env in (STAR, CHECKERS, MINICHESS))]
)
def test_each_legal_action_of_a_random_game_has_an_anchor_of_its_own(env: Any) -> None:
    rng, state = np.random.default_rng(0), start(env)
    for ply in range(40):
        mask = np.asarray(compiled(env).mask(state))
        if ply % 8 == 7 or not mask.any():
            found = render.anchors(env, state)
            assert [each.action for each in found.moves] == np.flatnonzero(mask).tolist()
            assert len({(each.source, each.target, each.kind) for each in found.moves}) == len(found.moves)
            assert all(each.text == env.action_to_string(state, each.action) for each in found.moves)
            ends = {cell for each in found.moves for cell in (each.source, each.target)}
            assert ends - {None} <= found.cells.keys()
        if mask.any():
            state = compiled(env).step(state, np.int32(rng.choice(np.flatnonzero(mask))))


@pytest.mark.parametrize("env", [*GAMES, *SIZES], ids=str)
def test_cells_are_apart_and_on_the_picture(env: Any) -> None:
    state = start(env)
    box = list(map(float, ElementTree.fromstring(render.svg(env, state).svg).attrib["viewBox"].split()))
    cells = np.array([[cell.x, cell.y, cell.radius] for cell in render.anchors(env, state).cells.values()])
    apart = np.hypot(*(cells[:, None, :2] - cells[None, :, :2]).T) + 1e9 * np.eye(len(cells))
    assert (apart >= cells[:, None, 2] + cells[None, :, 2]).all()
    assert (cells[:, :2] - cells[:, 2:] > 0).all()
    assert (cells[:, :2] + cells[:, 2:] < box[2:]).all()


@pytest.mark.parametrize("env", [env for env in (*GAMES, *SIZES) if env.id != BOXES.id], ids=str)
def test_each_piece_is_at_the_anchor_of_its_cell_from_every_side(env: Any) -> None:
    """The home of the seat whose side it is lies below the middle; pieces and numbers stay upright."""
    for seat in (None, *range(env.num_players)):
        state = start(env)
        picture, found = render.svg(env, state, seat=seat, caption=False), render.anchors(env, state, seat)
        root = ElementTree.fromstring(picture.svg)
        uses = [e.attrib["transform"] for e in root.iter(f"{SVG}use") if "transform" in e.attrib]
        drawn = np.array([on_picture(root, re.findall(r"translate\((.*?)\)", use)[0]) for use in uses])
        named = [cell for cell in found.cells.values() if not cell.label.endswith(", empty")]
        near = np.hypot(*(np.array([[cell.x, cell.y] for cell in named])[:, None] - drawn[None]).T) < 0.05
        assert near.sum(0).tolist() == near.sum(1).tolist() == [1] * len(named)
        angle = float((re.findall(r"scale\([\d.]+\) rotate\(([\d.]+)\)", picture.svg) or ["0"])[0])
        numbers = [e.get("transform", "rotate(0 ") for e in root.iter(f"{SVG}text")]
        assert all((f"rotate({-angle:g})" in use) == (angle != 0) for use in uses)
        assert all(text.startswith(f"rotate({-angle:g} " if angle else "rotate(0 ") for text in numbers)
        if seat is not None:
            heights = [cell.y for cell in found.cells.values()]
            own = [cell.y for cell in named if f", {render.seat_names(env)[seat]} " in cell.label]
            assert min(own) > (min(heights) + max(heights)) / 2
            assert list(found.cells.values()) == sorted(found.cells.values(), key=lambda cell: (round(cell.y), cell.x))


def test_edge_is_where_the_picture_draws_it() -> None:
    state = BOXES.from_string("000000000100 .... 0")
    root = ElementTree.fromstring(render.svg(BOXES, state).svg)
    (line,) = [e.attrib["d"] for e in root.iter(f"{SVG}path") if e.get("stroke-width") == "2.6"]
    (x, y, length), cell = re.findall(r"-?[\d.]+", line), render.anchors(BOXES, state).cells["v(1,0)"]
    assert cell.label == "v(1,0), drawn"
    assert math.dist((cell.x, cell.y), on_picture(root, f"{x},{float(y) + float(length) / 2}")) < 0.02
