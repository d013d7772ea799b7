"""Pictures of the moves of one piece: the piece, the cells that it can reach, and the arrows that lead there."""

import math
import re
from typing import Any
from xml.etree.ElementTree import Element

import jax
import pytest

from jaxgames import make, render
from jaxgames.render.moves import FROM_PIECE, FROM_STOP, TARGET_RADIUS, TO_CELL, over, under
from jaxgames.render.theme import THEMES
from tests.render.drawn import SVG, XY, on_board, pairs, parse

FOUR, FIVE = (make(f"chinese_checkers_diamond(size={size}, pieces=3)") for size in (4, 5))
STAR, CHECKERS, MINICHESS = make("chinese_checkers(size=2, num_players=6)"), make("checkers"), make("minichess")


def draw(env: Any, text: str, piece: int | str, **options: Any) -> Element:
    return parse(render.svg(env, env.from_string(text), moves_of=piece, **options))


def diamond_cell(size: int, at: XY) -> int:
    """The cell at a place: x and y grow with col - row and with row + col."""
    difference, total = at[0] / 10, at[1] / math.sqrt(300) + size - 1
    return round((total - difference) / 2) * size + round((total + difference) / 2)


def square(at: XY) -> int:
    """The PDN number of the square at a place."""
    col, row = round(at[0] / 20 + 3.5), round(at[1] / 20 + 3.5)
    return 4 * row + col // 2 + 1


def square_name(at: XY) -> str:
    return f"{'abcde'[round(at[0] / 20 + 2)]}{round(3 - at[1] / 20)}"


def marked(root: Element, theme: str = "light") -> tuple[XY, list[XY], list[tuple[XY, XY]]]:
    """The middles of the marked piece, of the shaded cells, and of both ends of each arrow."""
    attributes = under(THEMES[theme]) | over(THEMES[theme])
    found = [e.attrib for e in on_board(root) if e.tag == f"{SVG}path"]
    data = {name: at["d"] for name, each in attributes.items() for at in found if each.items() <= at.items()}
    if "ring" in data:
        (x, y), radius = pairs(data["ring"])[0], float(re.findall(r"a([\d.]+)", data["ring"])[0])
        origin = x + radius, y  # the path begins at the left end
    else:
        corners = pairs(data["star"])
        origin = sum(x for x, _ in corners) / 10, sum(y for _, y in corners) / 10
    if data.keys() <= {"ring", "star"}:
        return origin, [], []
    targets, casings, arrows = data["targets"], data["arrow-casings"], data["arrows"]
    assert casings == arrows
    middles = [(x + TARGET_RADIUS, y) for x, y in pairs(re.sub("a[^M]*", "", targets))]
    lines = [pairs(line) for line in re.findall(r"M[^M]*L[^M]*(?=M)", arrows)][::2]
    return origin, middles, [ends_of_arrow(origin, *line) for line in lines]


def ends_of_arrow(origin: XY, tail: XY, tip: XY) -> tuple[XY, XY]:
    """The middles of the cells of an arrow: it begins at the edge of the piece or of a stop, and ends before a cell."""
    angle = math.atan2(tip[1] - tail[1], tip[0] - tail[0])

    def ahead(at: XY, distance: float) -> XY:
        return at[0] + distance * math.cos(angle), at[1] + distance * math.sin(angle)

    start = ahead(tail, -FROM_PIECE)
    return start if math.dist(start, origin) < 0.1 else ahead(tail, -FROM_STOP), ahead(tip, TO_CELL)


def diamond_moves(root: Element, size: int, theme: str = "light") -> tuple[int, set[int], set[tuple[int, int]]]:
    origin, targets, arrows = marked(root, theme)
    cells = {diamond_cell(size, at) for at in targets}
    return (
        diamond_cell(size, origin),
        cells,
        {(diamond_cell(size, start), diamond_cell(size, end)) for start, end in arrows},
    )


# -- the diamond -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_chain_is_shown_hop_by_hop(theme: str) -> None:
    """20 hops over 21, 17 and 7, or turns off at 12 over 11; its steps go to 15 and 16."""
    root = draw(FIVE, "...../..1../.1.../..0../01... 0 1", 20, theme=theme)
    arrows = {(20, 15), (20, 16), (20, 22), (22, 12), (12, 2), (12, 10)}
    assert diamond_moves(root, 5, theme) == (20, {end for _, end in arrows}, arrows)


def test_all_shortest_chains_to_a_cell_are_shown() -> None:
    """From 6 to 18 there is a chain through 8 and another through 16."""
    _, targets, arrows = diamond_moves(draw(FIVE, "...../.01../.1.1./..1../..... 0 1", 6), 5)
    steps = {1, 2, 5, 10}
    assert targets == steps | {8, 16, 18}
    assert arrows == {(6, to) for to in steps} | {(6, 8), (6, 16), (8, 18), (16, 18)}


def test_cell_where_the_piece_may_not_stop_is_crossed_but_not_shaded() -> None:
    """A piece of seat 0 that stops on 0 would fill its own home, in which there is a piece of seat 1."""
    root = draw(FOUR, ".1../0.../0.../...1 0 1", 8)
    arrows = {(8, 9), (8, 5), (8, 12), (8, 0), (0, 2)}
    assert diamond_moves(root, 4) == (8, {9, 5, 12, 2}, arrows)


# -- other games -----------------------------------------------------------------------------------------


def test_peg_in_a_chain_of_the_star_shows_its_next_hops() -> None:
    """The peg on 5 of row 3 has hopped from 29 over 23 to 16, and over 10."""
    text = "./5./3.40.11/500..1/.5.../.332../.4.2..2/../4 4 29,16,5 3"
    origin, targets, arrows = marked(draw(STAR, text, 5))
    assert math.isclose(origin[1], -2 * math.sqrt(300), abs_tol=0.02)
    assert sorted(round(math.dist(origin, at)) for at in targets) == [40, 40, 40]
    assert all(math.dist(start, origin) < 0.1 for start, _ in arrows)
    assert all(math.dist(end, at) < 0.1 for (_, end), at in zip(arrows, targets, strict=True))


def test_jump_of_checkers_is_forced_for_every_piece() -> None:
    text = "B:W9,18,32:B6,3"
    origin, targets, arrows = marked(draw(CHECKERS, text, 6))
    assert (square(origin), [*map(square, targets)], len(arrows)) == (6, [13], 1)
    origin, targets, _ = marked(draw(CHECKERS, text, 3))
    assert (square(origin), targets) == (3, [])


def test_each_target_of_minichess_is_shown_once() -> None:
    """The pawn on b4 promotes on b5 or, with a capture, on a5, to four kinds of piece each."""
    text = "r3k/1P3/5/5/4K w - - 0 1"
    origin, targets, arrows = marked(draw(MINICHESS, text, "b4"))
    assert square_name(origin) == "b4"
    assert sorted(map(square_name, targets)) == ["a5", "b5"]
    assert sorted(square_name(end) for _, end in arrows) == ["a5", "b5"]


# -- arguments -------------------------------------------------------------------------------------------


def test_moves_of_a_piece_are_shown_on_a_single_board() -> None:
    state = FOUR.init()
    one, none = (render.svg(FOUR, state, moves_of=piece).svg.count("<path") for piece in (0, None))
    assert one == none + 4  # shades, casings, arrows and the star
    with pytest.raises(ValueError, match="moves_of is for a single board"):
        render.svg(FOUR, [state, state], moves_of=0)


@pytest.mark.parametrize(
    ("env", "piece", "message"),
    [
        (FOUR, 5, "a piece of Red, the player to move: 0, 1, 4; not 5"),
        (FOUR, 16, "not 16"),
        (FOUR, "0", "0, 1, 4; not '0'"),
        (FOUR, True, "not True"),
        (STAR, 36, "a piece of Red, .*; not 36"),
        (CHECKERS, 32, "a piece of Black, .*; not 32"),
        (MINICHESS, "a5", "a piece of White, .*'a1'.*; not 'a5'"),
        (make("dots_and_boxes"), 0, "games whose pieces move, and those of 'dots_and_boxes' do not"),
    ],
)
def test_cell_without_a_piece_of_the_mover_is_refused_with_the_allowed_ones(env: Any, piece: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        render.svg(env, env.init(jax.random.key(0)), moves_of=piece)
