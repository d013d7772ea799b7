"""Pictures of boards and games: stored ones of every game, captions, grids, files, and what is refused.

`python -m tests.data pictures` writes tests/data/pictures again.
"""

import sys
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image, ImageSequence

import jaxgames
from jaxgames import make, render
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.render.animation import PAUSE
from jaxgames.render.theme import THEMES
from jaxgames.wrappers import auto_reset
from tests.helpers.positions import compiled, play, repeated, stacked, start

FOLDER = Path(__file__).parents[1] / "data" / "pictures"
STAR = ChineseCheckers(size=1, num_players=2)
START = start(STAR)
LINES = ("0/..../.../..../1 0 - 0", "./.0../.../..../1 1 - 0", "./.0../.../.1../. 0 - 1")
STATES, LAST = [STAR.from_string(line) for line in LINES], [None, "0->2", "12->9"]

# (game, position or "" for the start, plies that are played and marked, options)
PICTURES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "checkers_light": ("checkers", "B:W9,10,17,18,32:BK6", "6x15", {}),  # and must jump again
    "checkers_dark": ("checkers", "B:W15,22,23,32:B2,K11", "", {"moves_of": 11, "seat": 0}),
    "star_light": ("chinese_checkers(size=1, num_players=2)", "./..01/.1./..../. 0 1,3 4", "", {"last": "1=>3"}),
    # the peg on 5 has hopped from 29 over 23 to 16, and over 10
    "star_dark": (
        *("chinese_checkers(size=2, num_players=6)", "./5./3.40.11/500..1/.5.../.332../.4.2..2/../4 4 29,16,5 3", ""),
        {"moves_of": 5, "seat": 2, "goal_of": 0},
    ),
    # over 21, 17 and 7, by the cells 22 and 12
    "diamond_light": ("chinese_checkers_diamond(size=5, pieces=3)", "...../..1../.1.../..0../01... 0 1", "20>2", {}),
    # 0 is crossed and not shaded: a piece of seat 0 that stops there would fill its own home
    "diamond_dark": (
        *("chinese_checkers_diamond(size=4, pieces=3)", ".1../0.../0.../...1 0 1", ""),
        {"moves_of": 8, "seat": 1},
    ),
    # two shortest chains from 6 to 18, through 8 and through 16
    "diamond_chains_light": (
        *("chinese_checkers_diamond(size=5, pieces=3)", "...../.01../.1.1./..1../..... 0 1", ""),
        {"moves_of": 6},
    ),
    "boxes_light": ("dots_and_boxes(rows=1, cols=2)", "1101000 .. 0", "h(1,0)", {}),  # of the seat not to move
    "boxes_dark": ("dots_and_boxes(rows=1, cols=2)", "1010100 .. 0", "v(0,1)", {}),  # of the owner of the box
    "minichess_light": ("minichess", "k4/1pR2/4K/1n3/2NPB w - - 2 9", "c4c5", {}),  # check
    "minichess_dark": ("minichess", "r3k/1P3/2nQ1/3p1/K1RbB w - - 3 7", "", {"moves_of": "b4", "seat": 1}),
}
# (game, position, plies) of captions: outcomes, and a king that may be captured, so no check is named
CAPTIONS = (
    ("checkers", "B:W18:B14", "14x23"),
    ("minichess", "k4/2Q2/1K3/5/5 b - - 5 9", ""),
    ("minichess", "k4/5/K4/5/4R w - - 5 129", ""),
    ("minichess(rules=king_capture)", "k4/5/5/5/4K b - - 5 9", ""),
    ("dots_and_boxes(rows=1, cols=2)", "1111111 01 1", ""),
    ("chinese_checkers(size=1, num_players=2)", "./..../.1./..../0 1 - 3", ""),
    ("chinese_checkers(size=1, num_players=2, max_rounds=9)", "0/..../.../..../1 0 - 9", ""),
    ("chinese_checkers_diamond(size=4, pieces=3)", "1.../..../...0/..10 1 3", ""),
)
# (game, position, plies). Of checkers: two men and a king are captured, and a man is crowned with that king's piece.
GAMES = {
    "checkers_game": ("checkers", "B:W5,K14,23:B9", "9x18 18x27 5-1 27-32"),
    "star_game": ("chinese_checkers(size=1, num_players=2)", "", "0->3 12->10 3->6 10=>2 end 6->9"),
}


def position(env: Any, text: str, plies: str = "") -> Any:
    return play(env, env.from_string(text) if text else start(env), *plies.split())


def animated(game: str, text: str, plies: str, **options: Any) -> render.Picture:
    env, states, actions = make(game), [position(make(game), text)], list[int]()
    for ply in plies.split():
        actions.append(env.action_from_string(states[-1], ply))
        states.append(play(env, states[-1], ply))
    return render.animate(env, states, actions, **options)


def elements(picture: render.Picture) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(picture.svg).iter())


def made_pictures() -> dict[str, str]:
    """Returns the SVG of every row, one element per line, captions, and the labels of all legal moves."""
    made, labels = dict[str, str](), list[str]()
    for name, (game, text, plies, options) in PICTURES.items():
        env, state = make(game), position(make(game), text, plies)
        look: dict[str, Any] = {"last": plies or None, "theme": name.rpartition("_")[2], **options}
        made[name] = render.svg(env, state, **look).svg
        boards = (start(env), position(env, text), state)
        labels += [f"{env.id}: {move[1:]}" for board in boards for move in render.anchors(env, board).moves]
    made |= {name: animated(*row, seconds_per_step=0.5).svg for name, row in GAMES.items()}
    made["star_grid"] = render.svg(STAR, stacked(STATES), columns=2, width=100, last=LAST).svg
    pictures = {f"{name}.svg": svg.replace("><", ">\n<") + "\n" for name, svg in made.items()}
    finished = (render.svg(make(game), position(make(game), text, plies)) for game, text, plies in CAPTIONS)
    captions = (elements(picture)[-1].text or "" for picture in finished)
    texts = {"captions.txt": captions, "labels.txt": dict.fromkeys(labels)}
    return pictures | {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def test_pictures_are_the_stored_ones() -> None:
    made = made_pictures()
    assert made.keys() == {file.name for file in FOLDER.iterdir()}
    for name, svg in made.items():
        assert svg.split("\n") == (FOLDER / name).read_text(encoding="utf-8").split("\n"), name


# -- batches, wrapped games, ends ------------------------------------------------------------------------------------


def test_list_of_boards_is_drawn_as_their_batch_with_one_drawing_of_the_board() -> None:
    options: dict[str, Any] = {"columns": 2, "width": 100, "last": LAST}
    picture = render.svg(STAR, STATES, **options)
    assert picture.svg == render.svg(STAR, stacked(STATES), **options).svg
    assert sum(e.get("id", "").endswith("-background") for e in elements(picture)) == 1


def test_boards_of_auto_reset_are_drawn_and_the_finished_one_ends_the_animation() -> None:
    env = auto_reset(STAR, keep_before_reset=True)
    fresh = env.init(jax.random.key(0))
    assert render.svg(env, fresh).svg == render.svg(STAR, fresh.board).svg
    before = env.from_string("./.1../.../.0../. 0 - 3")
    win = env.action_from_string(before, "9->12")
    after = jax.jit(env.step)(before, jnp.int32(win))
    picture = render.animate(env, [before, after, after], [win, win])
    assert picture.num_frames == 2
    assert "Red wins" in picture.svg


def test_game_ends_with_its_first_finished_board_or_an_illegal_action() -> None:
    won = STAR.from_string("./..../.1./..../0 1 - 3")
    assert render.animate(STAR, [START, won, won, won]).num_frames == 2
    end = compiled(STAR).step(START, np.int32(10_000))
    picture = render.animate(STAR, [START, end], [10_000])
    assert "illegal action by Red" in picture.svg
    assert "1. action 10000" in picture.svg


class StarOfAUser(ChineseCheckers):
    """A game that the library does not know."""

    id = "star_of_a_user"


def test_drawing_of_a_record_is_used_for_pictures_animations_and_anchors() -> None:
    env = StarOfAUser(size=1, num_players=2)
    assert not render.has_pictures(env)
    with pytest.raises(ValueError, match=r"'star_of_a_user' has no pictures: .*jaxgames\.register"):
        render.svg(env, START)
    jaxgames.register(jaxgames.Game(env.id, StarOfAUser, drawing="jaxgames.games.chinese_checkers.drawing"))
    assert render.svg(env, START).svg == render.svg(STAR, START).svg.replace(str(STAR), str(env))
    assert render.anchors(env, START) == render.anchors(STAR, START)


# -- colours -------------------------------------------------------------------------------------------------------

# Machado, Oliveira & Fernandes 2009, severity 1: linear RGB as dichromats see it.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "tritanopia": np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
}


def lab(colour: str, sight: np.ndarray) -> np.ndarray:
    """Returns the CIELAB coordinates of an sRGB colour as seen with that sight."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
def test_seats_and_empty_holes_differ_by_20_in_cielab(sight: str) -> None:
    """20 is about ten times a just noticeable difference."""
    for theme in THEMES.values():
        for one, other in combinations([*theme.seats, theme.hole, theme.board], 2):
            if {one, other} != {theme.hole, theme.board}:
                assert np.linalg.norm(lab(one, SIGHT[sight]) - lab(other, SIGHT[sight])) > 20, (one, other)


# -- files and notebooks ---------------------------------------------------------------------------------------------


def test_files_have_the_size_and_frames_of_the_picture(tmp_path: Path) -> None:
    picture = render.animate(STAR, STATES, seconds_per_step=0.5, width=120, theme="dark")
    for suffix in ("svg", "png", "GIF"):
        picture.save(tmp_path / f"game.{suffix}")
    assert (tmp_path / "game.svg").read_text(encoding="utf-8") == picture.svg
    root = ElementTree.fromstring(picture.svg)
    size = (int(root.attrib["width"]), int(root.attrib["height"]))
    assert size[0] == 120
    with Image.open(tmp_path / "game.png") as png:
        assert png.size == size
    with Image.open(tmp_path / "game.GIF") as gif:
        assert gif.size == size
        milliseconds = [frame.info["duration"] for frame in ImageSequence.Iterator(gif)]
        assert milliseconds == [500] * (len(STATES) - 1) + [500 + 1000 * PAUSE]
        assert gif.info["loop"] == 0


def test_other_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"board\.jpg' must be one of \.svg, \.png, \.gif"):
        render.svg(STAR, STATES[0]).save(tmp_path / "board.jpg")


@pytest.mark.parametrize(
    ("package", "file"), [("resvg_py", "board.png"), ("resvg_py", "board.gif"), ("PIL", "board.gif")]
)
def test_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, file: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "jaxgames\[render\]"'):
        render.svg(STAR, STATES[0]).save(tmp_path / file)


def test_notebook_displays_the_animated_picture() -> None:
    picture = render.animate(STAR, STATES)
    assert picture._repr_svg_() == picture.svg  # pyright: ignore[reportPrivateUsage]  # as a notebook calls it
    assert picture._repr_html_().startswith("<img")  # pyright: ignore[reportPrivateUsage]


# -- refusals --------------------------------------------------------------------------------------------------------

BATCH = repeated(START, 2)
BOXES, CHECKERS, MINICHESS = make("dots_and_boxes(rows=1, cols=2)"), make("checkers"), make("minichess")
DIAMOND = make("chinese_checkers_diamond(size=4, pieces=3)")
REFUSALS: list[tuple[Any, Any, Any, dict[str, Any], tuple[str, ...]]] = [
    (render.svg, STAR, START, {"theme": "blue"}, ("theme", "'light'", "'blue'")),
    (render.svg, STAR, jax.tree.map(lambda leaf: leaf[:0], BATCH), {}, ("at least one",)),
    (render.svg, STAR, jax.tree.map(lambda leaf: leaf[None], BATCH), {}, ("one axis",)),
    (render.svg, STAR, BATCH, {"last": "1->2"}, ("last", "2 texts", "'1->2'")),
    (render.svg, STAR, START, {"seat": 2}, ("seat", "0 to 1", "not 2")),
    (render.svg, STAR, BATCH, {"moves_of": 0}, ("moves_of", "single board")),
    (render.svg, STAR, START, {"last": "1->13"}, ("below 13", "'1->13'")),
    (render.svg, STAR, START, {"last": "a1b2"}, ("'3=>16'",)),
    (render.svg, CHECKERS, start(CHECKERS), {"last": "11-33"}, ("from 1 to 32", "'11-33'")),
    (render.svg, MINICHESS, start(MINICHESS), {"last": "a2x3"}, ("'a2a3'", "'a2x3'")),
    (render.svg, BOXES, start(BOXES), {"last": "h(2,0)"}, ("row", "0 to 1")),
    (render.svg, DIAMOND, start(DIAMOND), {"last": "0>16"}, ("below 16", "'0>16'")),
    *((render.svg, DIAMOND, start(DIAMOND), {"moves_of": cell}, ("0, 1, 4", f"not {cell!r}")) for cell in (5, 16)),
    (render.svg, MINICHESS, start(MINICHESS), {"moves_of": "a5"}, ("moves_of", "a1, ", "'a5'")),
    (render.svg, BOXES, start(BOXES), {"moves_of": 0}, ("moves_of", "dots_and_boxes")),
    (render.animate, STAR, [START] * 3, {"actions": [0]}, ("3 states", "2 or 3", "not 1")),
    (render.animate, STAR, [START], {"seconds_per_step": 0}, ("seconds_per_step", "positive", "not 0")),
    (render.anchors, STAR, BATCH, {}, ("one state", "2")),
]


@pytest.mark.parametrize(("draw", "env", "states", "options", "needles"), REFUSALS)
def test_wrong_argument_is_refused(draw: Any, env: Any, states: Any, options: Any, needles: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        draw(env, states, **options)
    assert all(needle in str(caught.value) for needle in needles), caught.value
