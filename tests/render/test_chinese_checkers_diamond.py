"""Pictures of the diamond: the position at its true places, the last move, and the caption."""

import math
from xml.etree.ElementTree import Element

import pytest

from jaxgames import render
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.render.theme import THEMES
from tests.render.drawn import SVG, XY, close, goals, pairs, parse, paths, pieces, texts

FOUR = ChineseCheckersDiamond(size=4, pieces=3)


def place(size: int, cell: int) -> XY:
    """The place of a cell: its neighbours (0, +1) and (+1, 0) are below it to the right and left, 20 away."""
    row, col = divmod(cell, size)
    return 10 * (col - row), math.sqrt(300) * (row + col + 1 - size)


def draw(env: ChineseCheckersDiamond, text: str, last: str | None = None) -> Element:
    return parse(render.svg(env, env.from_string(text), last=last))


def last_move(root: Element) -> list[XY]:
    (mark,) = paths(root)
    return pairs(mark)


@pytest.mark.parametrize(("size", "count"), [(2, 1), (4, 6), (9, 10)])
def test_pegs_stand_where_the_text_says_and_cells_are_numbered(size: int, count: int) -> None:
    env = ChineseCheckersDiamond(size=size, pieces=count)
    text = env.to_string(env.init())
    root = parse(render.svg(env, env.init(), theme="dark"))
    standing = {at: look[-1] for at, look in pieces(root).items() if look.startswith("seat")}
    assert len(standing) == 2 * count
    numbers = {e.text: e for e in root.iter(f"{SVG}text")}
    for cell, letter in enumerate(text.split()[0].replace("/", "")):
        x, y = place(size, cell)
        assert [seat for at, seat in standing.items() if close(at, (x, y))] == ([] if letter == "." else [letter])
        number = numbers[str(cell)]
        assert abs(float(number.attrib["x"]) - x) < 0.02
        assert 0 < float(number.attrib["y"]) - y < math.sqrt(300)  # above the next row of cells
    assert len([e for e in root.iter(f"{SVG}circle") if "cx" in e.attrib]) == size * size


def test_chain_is_marked_along_its_hops() -> None:
    """After 20>2 through 22 and 12, over 21, 17 and 7."""
    env = ChineseCheckersDiamond(size=5, pieces=3)
    trail = last_move(draw(env, "..0../..1../.1.../..0../.1... 1 1", last="20>2"))
    assert all(close(at, place(5, cell)) for at, cell in zip(trail, [20, 22, 12, 2], strict=True))


def test_move_without_a_path_is_marked_straight() -> None:
    trail = last_move(parse(render.svg(FOUR, FOUR.init(), last="0>15")))
    assert all(close(at, place(4, cell)) for at, cell in zip(trail, [0, 15], strict=True))
    with pytest.raises(ValueError, match="cells below 16, not '0>16'"):
        render.svg(FOUR, FOUR.init(), last="0>16")


@pytest.mark.parametrize(
    ("text", "caption", "outlined"),
    [
        ("00../0.../...1/..11 1 3", "Blue to move · ply 3", (1, -1)),
        ("1.../..../...0/..10 1 3", "Red wins: goal filled · ply 3", (0, 1)),
        ("00../0.../...1/..11 0 9", "9 plies without a winner", None),
    ],
)
def test_caption_names_the_mover_or_the_outcome(text: str, caption: str, outlined: tuple[int, int] | None) -> None:
    """`outlined` is the seat whose goal is outlined, and 1 if that is the corner at the bottom, -1 on top."""
    root = draw(ChineseCheckersDiamond(size=4, pieces=3, max_plies=9), text)
    assert texts(root) == [caption]
    assert len(goals(root)) == (outlined is not None)
    if outlined is not None:
        (goal,) = goals(root)
        assert goal.attrib["stroke"] == THEMES["light"].seats[outlined[0]]
        assert all(outlined[1] * y > 0 for _, y in pairs(goal.attrib["d"]))
