"""Cells and legal moves on the picture of a board, where people click. Their labels are among the stored pictures."""

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from jaxgames import make, render
from tests.helpers.positions import compiled, start

STAR, CHECKERS, MINICHESS = make("chinese_checkers(size=2, num_players=6)"), make("checkers"), make("minichess")
DIAMOND, BOXES = make("chinese_checkers_diamond(size=4, pieces=3)"), make("dots_and_boxes(rows=2, cols=2)")
GAMES = (STAR, CHECKERS, MINICHESS, DIAMOND, BOXES)
SIZES = (
    *(make(f"chinese_checkers(size={size}, num_players={seats})") for size, seats in ((1, 2), (3, 4), (8, 6))),
    make("chinese_checkers_diamond(size=9, pieces=10)"),
    *(make(f"dots_and_boxes(rows={rows}, cols={cols})") for rows, cols in ((1, 1), (16, 16))),
)


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


@pytest.mark.parametrize(
    ("env", "text"),
    [
        (CHECKERS, "B:W5,K14,23:B9"),
        (MINICHESS, "5/1p3/k3K/1n3/5 w - - 2 9"),
        (STAR, "./5./3.40.11/500..1/.5.../.332../.4.2..2/../4 4 - 3"),
        (DIAMOND, ".1../0.../0.../...1 0 1"),
        (BOXES, "010000000100 .... 0"),
    ],
    ids=lambda value: getattr(value, "id", ""),
)
def test_two_pictures_differ_at_the_cells_whose_labels_differ_from_every_side(env: Any, text: str) -> None:
    """Beside them, the home of the seat whose side it is lies below the middle, and cells are in reading order."""
    names = render.seat_names(env)
    for seat in (None, *range(env.num_players)):
        boards = start(env), env.from_string(text)
        pixels = [render.svg(env, board, seat=seat, caption=False).pixels() for board in boards]
        (first, second) = (render.anchors(env, board, seat).cells for board in boards)
        for name, cell in first.items():
            x, y = round(cell.x), round(cell.y)
            differs = (pixels[0] != pixels[1])[y - 2 : y + 3, x - 2 : x + 3].any()
            assert differs == (cell.label != second[name].label), (seat, name, cell, second[name])
        assert [*first] == sorted(first, key=lambda name: (round(first[name].y), first[name].x))
        own = [cell.y for cell in first.values() if seat is not None and f", {names[seat]} " in cell.label]
        assert min(own, default=np.inf) > np.mean([cell.y for cell in first.values()])
