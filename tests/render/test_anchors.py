"""Cells and legal moves on the picture of a board, where people click."""

import math
import re
from typing import Any

import numpy as np
import pytest

from jaxgames import make, render
from tests.helpers.positions import compiled, repeated, start
from tests.render.drawn import SVG, XY, close, pairs, parse, paths, pieces

STAR, CHECKERS, MINICHESS = make("chinese_checkers(size=2, num_players=6)"), make("checkers"), make("minichess")
DIAMOND, BOXES = make("chinese_checkers_diamond(size=4, pieces=3)"), make("dots_and_boxes(rows=2, cols=2)")
GAMES = (STAR, CHECKERS, MINICHESS, DIAMOND, BOXES)


def move(env: Any, text: str, played: str) -> render.Move:
    """The legal move with a text, in a position."""
    (found,) = [each for each in render.anchors(env, env.from_string(text)).moves if each.text == played]
    return found


def board_transform(picture: render.Picture) -> tuple[XY, float]:
    """The middle of the only board on its picture, and its scale."""
    (transform,) = {e.get("transform", "") for e in parse(picture).iter(f"{SVG}g") if "scale" in e.get("transform", "")}
    return pairs(transform)[0], float(re.findall(r"scale\(([\d.]+)\)", transform)[0])


def check_anchors(env: Any, state: Any, mask: np.ndarray) -> None:
    found = render.anchors(env, state)
    assert [each.action for each in found.moves] == np.flatnonzero(mask).tolist()
    assert len({(each.source, each.target, each.kind) for each in found.moves}) == len(found.moves)
    assert all(each.text == env.action_to_string(state, each.action) for each in found.moves)
    assert all(cell in found.cells for each in found.moves for cell in (each.source, each.target) if cell is not None)


def check_cells_are_apart_and_on_the_picture(env: Any, state: Any) -> None:
    box = list(map(float, parse(render.svg(env, state)).attrib["viewBox"].split()))
    cells = np.array([[cell.x, cell.y, cell.radius] for cell in render.anchors(env, state).cells.values()])
    apart = np.hypot(*(cells[:, None, :2] - cells[None, :, :2]).T) + 1e9 * np.eye(len(cells))
    assert (apart >= cells[:, None, 2] + cells[None, :, 2]).all()
    assert (cells[:, :2] - cells[:, 2:] > 0).all()
    assert (cells[:, :2] + cells[:, 2:] < box[2:]).all()


@pytest.mark.parametrize(
    "env", [DIAMOND, BOXES, *(pytest.param(env, marks=pytest.mark.slow) for env in (STAR, CHECKERS, MINICHESS))]
)
def test_each_legal_action_of_a_random_game_has_an_anchor_of_its_own(env: Any) -> None:
    rng, state = np.random.default_rng(0), start(env)
    for ply in range(40):
        mask = np.asarray(compiled(env).mask(state))
        if ply % 8 == 7 or not mask.any():
            check_anchors(env, state, mask)
        if mask.any():
            state = compiled(env).step(state, np.int32(rng.choice(np.flatnonzero(mask))))


@pytest.mark.parametrize("env", GAMES, ids=lambda env: env.id)
def test_cells_are_apart_and_on_the_picture(env: Any) -> None:
    check_cells_are_apart_and_on_the_picture(env, start(env))


@pytest.mark.parametrize("env", [env for env in GAMES if env is not BOXES], ids=lambda env: env.id)
def test_cells_with_a_piece_are_where_the_picture_has_one(env: Any) -> None:
    state = start(env)
    picture = render.svg(env, state, theme="dark", width=123)
    (x, y), scale = board_transform(picture)
    drawn = [(x + scale * at[0], y + scale * at[1]) for at in pieces(parse(picture))]
    named = [cell for cell in render.anchors(env, state).cells.values() if not cell.label.endswith(", empty")]
    assert len(named) == len(drawn)
    assert all(any(math.dist((cell.x, cell.y), at) < 0.05 for at in drawn) for cell in named)


@pytest.mark.parametrize("env", GAMES, ids=lambda env: env.id)
def test_home_of_a_seat_is_at_the_bottom_of_its_picture(env: Any) -> None:
    """The pieces of a seat are below the middle at the start; pieces and numbers stay upright."""
    state = start(env)
    for seat in range(env.num_players):
        picture, found = render.svg(env, state, seat=seat, caption=False), render.anchors(env, state, seat)
        heights = [cell.y for cell in found.cells.values()]
        assert list(found.cells.values()) == sorted(found.cells.values(), key=lambda cell: (round(cell.y), cell.x))
        if env is not BOXES:
            name = render.seat_names(env)[seat]
            own = [cell.y for cell in found.cells.values() if f", {name} " in cell.label]
            assert len(own) >= 3
            assert min(own) > (min(heights) + max(heights)) / 2
        angle = float((re.findall(r"scale\([\d.]+\) rotate\(([\d.]+)\)", picture.svg) or ["0"])[0])
        upright = {float(turn) for turn in re.findall(r"translate\([^)]*\) rotate\((-[\d.]+)\)", picture.svg)}
        assert upright == ({-angle} if angle else set())
        numbers = [e.get("transform", "rotate(0 ") for e in parse(picture).iter(f"{SVG}text")]
        assert all(text.startswith(f"rotate({-angle:g} " if angle else "rotate(0 ") for text in numbers)
    with pytest.raises(ValueError, match="seat must be from 0 to"):
        render.svg(env, state, seat=env.num_players)


def test_edge_is_where_the_picture_draws_it() -> None:
    state = BOXES.from_string("000000000100 .... 0")
    picture = render.svg(BOXES, state)
    (x, y), scale = board_transform(picture)
    (path,) = paths(parse(picture))  # M x,y v length
    left, top = pairs(path)[0]
    length = float(path.partition("v")[2])
    cell = render.anchors(BOXES, state).cells["v(1,0)"]
    assert cell.label == "v(1,0), drawn"
    assert close((cell.x, cell.y), (x + scale * left, y + scale * (top + length / 2)))


def test_labels_say_what_a_move_does() -> None:
    captured = move(CHECKERS, "B:W9,18,K32:B6,3", "6x13")
    assert captured[2:] == ("6", "13", "capture", "6 jumps to 13 and takes the White man on 9")
    assert move(CHECKERS, "W:WK18:B6", "18-14").label == "18 to 14"
    promoted = move(MINICHESS, "r3k/1P3/5/5/4K w - - 0 1", "b4a5n")
    assert promoted.kind == "promotion to knight"
    assert promoted.label == "pawn b4 takes the Black rook on a5 and becomes a knight"
    box = move(BOXES, "101000100000 .... 0", "v(0,1)")
    assert box[2:] == (None, "v(0,1)", "edge", "vertical edge, row 0, column 1, completes a box")


def test_peg_in_a_chain_hops_on_or_ends_the_turn() -> None:
    text = "./5./3.40.11/500..1/.5.../.332../.4.2..2/../4 4 29,16,5 3"
    moves = render.anchors(STAR, STAR.from_string(text)).moves
    assert {(each.source, each.target, each.kind) for each in moves} == {
        ("5", "18", "hop"), ("5", "7", "hop"), ("5", "0", "hop"), ("5", None, "end turn"),
    }  # fmt: skip


def test_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one state, got a batch of 2: pass one of them"):
        render.anchors(DIAMOND, repeated(start(DIAMOND), 2))
