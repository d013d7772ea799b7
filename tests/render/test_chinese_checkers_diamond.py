"""Pictures of the diamond: what is drawn is the position, at the true places, with the last move and how it ended."""

import math
import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import pytest

from jaxgames import render
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.render.theme import THEMES

SVG = "{http://www.w3.org/2000/svg}"
ALL = [(2, 1), (3, 3), (4, 6), (5, 10), (7, 6), (9, 10)]


def xy(text: str) -> list[tuple[float, float]]:
    """All pairs of numbers in a piece of path data or a transform."""
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", text)]


def place(size: int, cell: int) -> tuple[float, float]:
    """Where a cell must stand: its neighbours (0, +1) and (+1, 0) below it to the right and left, 20 away."""
    row, col = divmod(cell, size)
    return 10 * (col - row), math.sqrt(300) * (row + col + 1 - size)


def close(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return math.dist(a, b) < 0.02


def drawn(picture: str) -> Element:
    return ElementTree.fromstring(picture)


def pegs(root: Element) -> list[tuple[tuple[float, float], str]]:
    """The place and the seat of every peg on the board; the caption's is scaled."""
    uses = [e for e in root.iter(f"{SVG}use") if re.search(r"-seat\d$", e.get("href", ""))]
    return [(xy(e.attrib["transform"])[0], e.attrib["href"][-1]) for e in uses if "scale" not in e.attrib["transform"]]


def last_moves(root: Element) -> list[list[tuple[float, float]]]:
    return [xy(e.attrib["d"]) for e in root.iter(f"{SVG}path") if e.get("stroke-opacity") == ".22"]


def texts(root: Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text") if not (e.text or "").isdigit()]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("size", "pieces"), ALL)
def test_every_board_shows_the_pegs_of_its_text_and_numbers_its_cells(size: int, pieces: int, theme: str) -> None:
    env = ChineseCheckersDiamond(size=size, pieces=pieces)
    text = env.to_string(env.init())
    root = drawn(render.svg(env, env.from_string(text), theme=theme).svg)
    standing = pegs(root)
    assert len(standing) == 2 * pieces
    numbers = {e.text: e for e in root.iter(f"{SVG}text")}
    for cell, letter in enumerate(text.split()[0].replace("/", "")):
        x, y = place(size, cell)
        assert [seat for at, seat in standing if close(at, (x, y))] == ([] if letter == "." else [letter])
        number = numbers[str(cell)]
        assert abs(float(number.attrib["x"]) - x) < 0.02
        assert 0 < float(number.attrib["y"]) - y < math.sqrt(300)  # above the next row of cells
    assert len([e for e in root.iter(f"{SVG}circle") if "cx" in e.attrib]) == size * size


def test_a_step_is_marked_from_cell_to_cell() -> None:
    env = ChineseCheckersDiamond(size=4, pieces=3)
    root = drawn(render.svg(env, env.from_string(".0../00../...1/..11 1 1"), last="0>5").svg)
    ((origin, target),) = last_moves(root)
    assert close(origin, place(4, 0))
    assert close(target, place(4, 5))
    assert "0>5" in texts(root)


def test_a_chain_is_marked_along_its_hops() -> None:
    """After 20>2 by way of 22 and 12, over 21, 17 and 7."""
    env = ChineseCheckersDiamond(size=5, pieces=3)
    root = drawn(render.svg(env, env.from_string("..0../..1../.1.../..0../.1... 1 1"), last="20>2").svg)
    (trail,) = last_moves(root)
    assert all(close(at, place(5, cell)) for at, cell in zip(trail, [20, 22, 12, 2], strict=True))


def test_a_move_that_no_way_leads_is_marked_straight() -> None:
    env = ChineseCheckersDiamond(size=4, pieces=3)
    (trail,) = last_moves(drawn(render.svg(env, env.init(), last="0>15").svg))
    assert all(close(at, place(4, cell)) for at, cell in zip(trail, [0, 15], strict=True))
    with pytest.raises(ValueError, match="cells below 16, not '0>16'"):
        render.svg(env, env.init(), last="0>16")


@pytest.mark.parametrize(
    ("text", "caption", "outlined"),
    [
        ("00../0.../...1/..11 0 3", "seat 0 to move · ply 3", "home0"),
        ("00../0.../...1/..11 1 3", "seat 1 to move · ply 3", "home1"),
        ("1.../..../...0/..10 1 3", "seat 0 wins · ply 3", "goal0"),
        ("10../0.../..../..00 0 3", "seat 1 wins · ply 3", "goal1"),
        ("00../0.../...1/..11 0 9", "no winner after 9 plies", None),
    ],
)
def test_caption_says_who_moves_or_how_it_ended(text: str, caption: str, outlined: str | None) -> None:
    env = ChineseCheckersDiamond(size=4, pieces=3, max_plies=9)
    root = drawn(render.svg(env, env.from_string(text)).svg)
    assert texts(root) == [caption]
    outlines = [e.get("href", "")[-5:] for e in root.iter(f"{SVG}use") if re.search("(home|goal).$", e.get("href", ""))]
    assert outlines == ([] if outlined is None else [outlined])


def test_caption_names_who_made_an_illegal_move() -> None:
    env = ChineseCheckersDiamond(size=4, pieces=3)
    state = env.step(env.init(), jnp.int32(0))
    assert texts(drawn(render.svg(env, state).svg)) == ["illegal move by seat 0"]


def test_a_game_is_animated() -> None:
    env = ChineseCheckersDiamond(size=4, pieces=3)
    states, actions = [env.init(jax.random.key(0))], []
    for text in ("0>8", "15>7", "8>9"):
        actions.append(env.action_from_string(states[-1], text))
        states.append(env.step(states[-1], jnp.int32(actions[-1])))
    root = drawn(render.animate(env, states, actions).svg)
    assert {"1. 0>8", "2. 15>7", "3. 8>9"} <= set(texts(root))
