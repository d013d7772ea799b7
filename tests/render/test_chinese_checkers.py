"""Pictures of the star board: the position at its true places in every size, the last turn, and the caption."""

import math
from collections import Counter
from xml.etree.ElementTree import Element

import pytest

from jaxgames import render
from jaxgames.games.chinese_checkers import ChineseCheckers
from tests.render.drawn import SVG, XY, close, pairs, parse, paths, pieces, texts

DUEL = ChineseCheckers(size=1, num_players=2)
SIX = ChineseCheckers(size=2, num_players=6)


def cells(env: ChineseCheckers) -> list[XY]:
    """The places of all cells, row by row from the top, from the definition of the star.

    Cells are 20 wide, rows sqrt(3)/2 of that apart, and each row is shifted by half a cell against the next.
    """
    n, span = env.size, range(-2 * env.size, 2 * env.size + 1)
    star = [(q, r) for r in span for q in span if max(q, r, -q - r) <= n or min(q, r, -q - r) >= -n]
    return [(20 * (q + r / 2), 20 * math.sqrt(3) / 2 * r) for q, r in star]


def draw(env: ChineseCheckers, text: str, last: str | None = None) -> Element:
    return parse(render.svg(env, env.from_string(text), last=last))


def pegs(root: Element) -> dict[XY, str]:
    """The seat of the peg at each place."""
    return {place: look[-1] for place, look in pieces(root).items() if look.startswith("seat")}


@pytest.mark.parametrize(("size", "num_players"), [(1, 2), (2, 3), (3, 4), (4, 6), (8, 6)])
def test_pegs_stand_where_the_text_says(size: int, num_players: int) -> None:
    env = ChineseCheckers(size=size, num_players=num_players)
    text = env.to_string(env.init())
    root = parse(render.svg(env, env.init(), theme="dark"))
    drawn = pegs(root)
    assert Counter(drawn.values()) == {str(seat): env.num_pegs for seat in range(num_players)}
    for where, letter in zip(cells(env), text.split()[0].replace("/", ""), strict=True):
        near = [seat for at, seat in drawn.items() if close(at, where)]
        assert near == ([] if letter == "." else [letter])
    holes = [e for e in root.iter(f"{SVG}circle") if "cx" in e.attrib]
    assert len(holes) == env.num_cells


def test_last_move_is_marked_from_cell_to_cell() -> None:
    where = cells(SIX)
    root = parse(render.svg(SIX, SIX.init(), last="3->10"))
    (mark,) = map(pairs, paths(root))
    assert close(mark[0], where[3])
    assert close(mark[1], where[10])
    assert "3->10" in texts(root)


def test_submoves_of_a_turn_are_one_trail_and_end_adds_nothing() -> None:
    where = cells(SIX)
    (mark,) = map(pairs, paths(parse(render.svg(SIX, SIX.init(), last="0=>5 5=>18 end"))))
    assert len(mark) == 3
    assert all(close(a, where[cell]) for a, cell in zip(mark, (0, 5, 18), strict=True))
    assert paths(parse(render.svg(SIX, SIX.init(), last="end"))) == []


def test_chain_is_an_arrow_from_its_origin_to_the_edge_of_its_peg() -> None:
    where = cells(DUEL)
    root = draw(DUEL, "./..01/.1./..../. 0 1,3 4", last="1=>3")
    last, casing, arrow, stops = map(pairs, paths(root))
    assert close(last[0], where[1])
    assert close(last[1], where[3])
    assert casing == arrow
    assert close(arrow[0], where[1])
    tip = arrow[1]
    assert math.isclose(tip[1], where[3][1], abs_tol=0.02)  # the hop is along a row
    assert 0 < where[3][0] - tip[0] < 10
    assert [close(stop, where[1]) for stop in stops] == [True]
    assert "Red may hop on · round 4" in texts(root)


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("0/..../.../..../1 1 - 3", "Blue to move · round 3"),
        ("./..../.1./..../0 1 - 3", "Red wins: goal filled · round 3"),
        ("0/..../.../..../1 0 - 9", "9 rounds without a winner"),
    ],
)
def test_caption_names_the_mover_or_the_outcome(text: str, caption: str) -> None:
    assert texts(draw(ChineseCheckers(size=1, num_players=2, max_rounds=9), text)) == [caption]


def test_wrong_last_move_is_explained() -> None:
    with pytest.raises(ValueError, match="cells below 13, not '1->13'"):
        render.svg(DUEL, DUEL.init(), last="1->13")
    with pytest.raises(ValueError, match="a hop '3=>16'"):
        render.svg(DUEL, DUEL.init(), last="a1b2")
