"""Still pictures: what is drawn is the position, at the true places, in every size, seating and theme."""

import math
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import make, render
from jaxgames.games.chinese_checkers import TRIANGLES, ChineseCheckers
from jaxgames.render.theme import THEMES
from jaxgames.wrappers import auto_reset

SVG = "{http://www.w3.org/2000/svg}"
# Size 1: seat 0 has hopped from 1 over 2 to 3 and may end its turn or go on; seat 1 is on its home.
CHAIN = "./..01/.1./..../. 0 1,3 4"


def xy(text: str) -> list[tuple[float, float]]:
    """All pairs of numbers in a piece of path data or a transform."""
    return [(float(x), float(y)) for x, y in re.findall(r"(-?[\d.]+),(-?[\d.]+)", text)]


def place(size: int, q: int, r: int) -> tuple[float, float]:
    """Where (q, r) must stand: cells 20 wide, rows sqrt(3)/2 of that apart, half a cell of shift a row."""
    return 20 * (q + r / 2), 20 * math.sqrt(3) / 2 * r


def cells(env: ChineseCheckers) -> list[tuple[float, float]]:
    """The places of all cells, row by row from the top, straight from the definition of the star."""
    n, span = env.size, range(-2 * env.size, 2 * env.size + 1)
    star = [(q, r) for r in span for q in span if max(q, r, -q - r) <= n or min(q, r, -q - r) >= -n]
    return [place(n, q, r) for q, r in star]


def on_board(root: Element) -> list[Element]:
    """What lies on the background of the first board."""
    (board,) = [g for g in root.iter(f"{SVG}g") if "scale" in g.get("transform", "") and len(g) and is_background(g[0])]
    return list(board)[1:]


def is_background(element: Element) -> bool:
    return element.get("href", "").endswith("-background")


def pegs(root: Element) -> dict[tuple[float, float], str]:
    uses = [e for e in on_board(root) if re.search(r"-seat\d$", e.get("href", ""))]
    return {xy(e.attrib["transform"])[0]: e.attrib["href"][-1] for e in uses}


def paths(root: Element) -> list[list[tuple[float, float]]]:
    return [xy(e.attrib["d"]) for e in on_board(root) if e.tag == f"{SVG}path"]


def close(a: tuple[float, float], b: tuple[float, float]) -> bool:
    return math.dist(a, b) < 0.02


def texts(root: Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("num_players", TRIANGLES)
@pytest.mark.parametrize("size", range(1, 9))
def test_every_board_shows_the_pegs_of_its_text_at_their_places(size: int, num_players: int, theme: str) -> None:
    env = ChineseCheckers(size=size, num_players=num_players)
    text = env.to_string(env.init())
    root = ElementTree.fromstring(render.svg(env, env.from_string(text), theme=theme).svg)
    content = text.split()[0].replace("/", "")
    drawn = pegs(root)
    assert Counter(drawn.values()) == {str(seat): env.num_pegs for seat in range(num_players)}
    for where, letter in zip(cells(env), content, strict=True):
        near = [seat for at, seat in drawn.items() if close(at, where)]
        assert near == ([] if letter == "." else [letter])
    holes = [e for e in root.iter(f"{SVG}circle") if "cx" in e.attrib]
    assert len(holes) == env.num_cells


def test_ids_that_are_used_are_there_and_differ_between_themes() -> None:
    env = ChineseCheckers(size=2)
    ids = []
    for theme in THEMES:
        root = ElementTree.fromstring(render.svg(env, env.init(), theme=theme).svg)
        here = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
        assert {e.attrib["href"][1:] for e in root.iter() if "href" in e.attrib} <= set(here)
        ids += here
    assert len(ids) == len(set(ids))


def test_last_move_is_marked_from_cell_to_cell() -> None:
    env = ChineseCheckers(size=2, num_players=6)
    where = cells(env)
    root = ElementTree.fromstring(render.svg(env, env.init(), last="3->10").svg)
    (mark,) = paths(root)
    assert close(mark[0], where[3])
    assert close(mark[1], where[10])
    assert "3->10" in texts(root)


def test_the_submoves_of_a_turn_are_one_trail_and_end_adds_nothing() -> None:
    env = ChineseCheckers(size=2, num_players=6)
    where = cells(env)
    (mark,) = paths(ElementTree.fromstring(render.svg(env, env.init(), last="0=>5 5=>18 end").svg))
    assert len(mark) == 3
    assert all(close(a, where[cell]) for a, cell in zip(mark, (0, 5, 18), strict=True))
    assert paths(ElementTree.fromstring(render.svg(env, env.init(), last="end").svg)) == []


def test_a_chain_is_an_arrow_from_its_origin_to_the_edge_of_its_peg() -> None:
    env = ChineseCheckers(size=1, num_players=2)
    where = cells(env)
    root = ElementTree.fromstring(render.svg(env, env.from_string(CHAIN), last="1=>3").svg)
    last, casing, arrow, stops = paths(root)
    assert close(last[0], where[1])
    assert close(last[1], where[3])
    assert casing == arrow
    assert close(arrow[0], where[1])
    tip = arrow[1]
    assert math.isclose(tip[1], where[3][1], abs_tol=0.02)  # the hop runs along a row
    assert 0 < where[3][0] - tip[0] < 10
    assert [close(stop, where[1]) for stop in stops] == [True]
    assert "seat 0 may hop on · round 4" in texts(root)


def test_the_peg_in_the_middle_and_the_movers_home_are_both_drawn() -> None:
    env = ChineseCheckers(size=1, num_players=3)
    root = ElementTree.fromstring(render.svg(env, env.from_string("./..../.0./.21./. 1 - 1")).svg)
    assert sorted(pegs(root).values()) == ["0", "1", "2"]
    assert [e.get("href", "")[-5:] for e in on_board(root)].count("home1") == 1


@pytest.mark.parametrize(
    ("text", "caption"),
    [
        ("0/..../.../..../1 1 - 3", "seat 1 to move · round 3"),
        ("./..../.1./..../0 1 - 3", "seat 0 wins · round 3"),
        ("1/..../.0./..../. 0 - 3", "seat 1 wins · round 3"),
        ("0/..../.../..../1 0 - 9", "no winner after 9 rounds"),
    ],
)
def test_caption_says_who_moves_or_how_it_ended(text: str, caption: str) -> None:
    env = ChineseCheckers(size=1, num_players=2, max_rounds=9)
    root = ElementTree.fromstring(render.svg(env, env.from_string(text)).svg)
    assert texts(root) == [caption]


def test_caption_names_who_made_an_illegal_move() -> None:
    env = ChineseCheckers(size=1, num_players=2)
    state = env.step(env.init(), jnp.int32(env.end_turn))
    assert texts(ElementTree.fromstring(render.svg(env, state).svg)) == ["illegal move by seat 0"]


def test_a_batch_is_a_numbered_grid_and_the_board_is_drawn_once() -> None:
    env = ChineseCheckers(size=1, num_players=2)
    lines = ["0/..../.../..../1 0 - 0", "./.0../.../..../1 1 - 0", "./.0../.../.1../. 0 - 1", CHAIN, CHAIN]
    states = [env.from_string(line) for line in lines]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    picture = render.svg(env, batch, columns=2, width=100, last=[None, "0->2", "12->9", "1=>3", None])
    root = ElementTree.fromstring(picture.svg)
    one = ElementTree.fromstring(render.svg(env, states[0], width=100).svg)
    assert 200 < int(root.attrib["width"]) < 210
    assert 3 * int(one.attrib["height"]) < int(root.attrib["height"]) < 3 * int(one.attrib["height"]) + 10
    assert sum(is_background(e) for e in root.iter()) == 5
    assert sum(e.get("id", "").endswith("-background") for e in root.iter()) == 1
    assert [text.split(":")[0] for text in texts(root) if ":" in text] == list("01234")
    assert render.svg(env, states, columns=2, width=100, last=[None, "0->2", "12->9", "1=>3", None]).svg == picture.svg


def test_auto_reset_shows_the_live_board() -> None:
    env = auto_reset(ChineseCheckers(size=1, num_players=2))
    state = env.init(jax.random.key(0))
    assert render.svg(env, state).svg == render.svg(env.unwrapped, state.board).svg


def test_errors_name_what_is_allowed() -> None:
    env = ChineseCheckers(size=1, num_players=2)
    state = env.init()
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), state)
    with pytest.raises(ValueError, match="theme must be one of 'light', 'dark', not 'blue'"):
        render.svg(env, state, theme="blue")
    with pytest.raises(ValueError, match="at least one"):
        render.svg(env, jax.tree.map(lambda leaf: leaf[:0], batch))
    with pytest.raises(ValueError, match="one axis"):
        render.svg(env, jax.tree.map(lambda leaf: leaf[None], batch))
    with pytest.raises(ValueError, match="one text"):
        render.svg(env, state, last=["1->2"])
    with pytest.raises(ValueError, match="2 texts"):
        render.svg(env, batch, last="1->2")
    with pytest.raises(ValueError, match="2 texts"):
        render.svg(env, batch, last=["1->2"])
    with pytest.raises(ValueError, match="cells below 13, not '1->13'"):
        render.svg(env, state, last="1->13")
    with pytest.raises(ValueError, match="a hop '3=>16'"):
        render.svg(env, state, last="a1b2")
    with pytest.raises(ValueError, match="columns"):
        render.svg(env, batch, columns=0)
    with pytest.raises(ValueError, match="width"):
        render.svg(env, state, width=0)


def test_a_game_without_pictures_is_refused() -> None:
    class Other(ChineseCheckers):
        id = "other"

    with pytest.raises(ValueError, match=r"pictures of .*chinese_checkers.*, not of 'other'"):
        render.svg(Other(), Other().init())


def test_importing_the_library_loads_neither_pillow_nor_resvg() -> None:
    code = "import sys, jaxgames, jaxgames.render; assert not {'PIL', 'resvg_py'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)


# Machado, Oliveira & Fernandes 2009, severity 1: how linear RGB looks to dichromats.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """CIELAB of an sRGB colour as seen with that sight."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("name", THEMES)
def test_seats_and_empty_holes_can_be_told_apart(name: str, sight: str) -> None:
    """20 in CIELAB is about ten times a just noticeable difference."""
    theme = THEMES[name]
    for one, other in combinations([*theme.seats, theme.hole, theme.board], 2):
        if {one, other} != {theme.hole, theme.board}:
            assert np.linalg.norm(lab(one, SIGHT[sight]) - lab(other, SIGHT[sight])) > 20, (one, other)


def test_make_gives_an_env_that_can_be_drawn() -> None:
    env = make("chinese_checkers(size=2, num_players=3)")
    assert "chinese_checkers(size=2, num_players=3" in render.svg(env, env.init(jax.random.key(0))).svg
