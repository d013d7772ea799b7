"""Games in motion, and files."""

import dataclasses
import re
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import pytest

from jaxgames import render
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.render.animation import NOTHING, PAUSE, follow
from jaxgames.render.chinese_checkers import drawing
from jaxgames.render.drawing import Caption, Scene
from jaxgames.render.theme import THEMES
from jaxgames.wrappers import auto_reset

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("resvg_py")

SVG = "{http://www.w3.org/2000/svg}"
ENV = ChineseCheckers(size=1, num_players=2)
# Seat 0 steps, seat 1 steps, seat 0 steps, seat 1 hops over it and stops.
MOVES = ["0->3", "12->10", "3->6", "10=>2", "end", "6->9"]


def play(moves: list[str]) -> tuple[list[ChineseCheckersState], list[int]]:
    states, actions = [ENV.init()], []
    for move in moves:
        actions.append(ENV.action_from_string(states[-1], move))
        states.append(ENV.step(states[-1], jnp.int32(actions[-1])))
    return states, actions


STATES, ACTIONS = play(MOVES)


def animations(root: Element) -> list[Element]:
    return [e for e in root.iter() if e.tag in (f"{SVG}animate", f"{SVG}animateTransform")]


def test_every_animation_runs_in_one_loop_of_the_whole_length() -> None:
    picture = render.animate(ENV, STATES, ACTIONS, seconds_per_step=0.5)
    root = ElementTree.fromstring(picture.svg)
    total = len(STATES) * 0.5 + PAUSE
    assert sum(picture.seconds) == total
    assert picture.num_frames == len(STATES)
    for e in animations(root):
        times = [float(time) for time in e.attrib["keyTimes"].split(";")]
        assert float(e.attrib["dur"][:-1]) == total
        assert e.attrib["repeatCount"] == "indefinite"
        assert times[0] == 0
        assert times == sorted(times)
        assert times[-1] <= 1
        assert len(times) == len(e.attrib["values"].split(";"))
        if "keySplines" in e.attrib:
            assert times[-1] == 1
            assert len(e.attrib["keySplines"].split(";")) == len(times) - 1


def test_the_board_and_every_piece_are_there_once() -> None:
    root = ElementTree.fromstring(render.animate(ENV, STATES, ACTIONS).svg)
    assert sum(e.get("href", "").endswith("-background") for e in root.iter()) == 1
    moving = [e for e in root.iter(f"{SVG}use") if e.find(f"{SVG}animateTransform") is not None]
    assert [e.attrib["href"][-5:] for e in moving] == ["seat0", "seat1"]
    homes = [e.attrib["href"][-5:] for e in root.iter(f"{SVG}use") if "-home" in e.attrib["href"]]
    assert homes == ["home0", "home1"]


def test_pieces_stand_where_each_state_has_them() -> None:
    scenes = [drawing(ENV, THEMES["light"]).scene(jax.device_get(state), []) for state in STATES]
    tracks = follow(drawing(ENV, THEMES["light"]), scenes)
    for frame, scene in enumerate(scenes):
        assert {t.places[frame]: t.look for t in tracks if t.places[frame] is not None} == scene.pieces


def test_a_captured_piece_goes_and_may_come_back() -> None:
    caption = Caption(None, "")
    a, b, c = (0.0, 0.0), (20.0, 0.0), (40.0, 0.0)
    scenes = [
        Scene(caption, {a: "seat0", b: "seat1"}),
        Scene(caption, {b: "seat0"}),  # takes
        Scene(caption, {b: "seat0", c: "seat1"}),
    ]
    first, second = follow(drawing(ENV, THEMES["light"]), scenes)
    assert first.places == [a, b, b]
    assert second.places == [b, None, c]


def test_each_frame_marks_the_moves_of_the_turn_that_led_there() -> None:
    root = ElementTree.fromstring(render.animate(ENV, STATES, ACTIONS).svg)
    last, _, chain, _ = [e for e in root.iter(f"{SVG}animate") if e.attrib["attributeName"] == "d"]
    assert last.attrib["values"].split(";")[0] == NOTHING
    # The hop and the end of its turn show one and the same trail.
    assert len(last.attrib["values"].split(";")) == len(STATES) - 1
    assert [path == NOTHING for path in chain.attrib["values"].split(";")] == [True, False, True]
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert [text for text in texts if text and re.match(r"\d+\. ", text)] == [
        f"{step}. {move}" for step, move in enumerate(MOVES, start=1)
    ]


def test_a_stacked_game_and_one_action_more_are_the_same_picture() -> None:
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *STATES)
    actions = jnp.array([*ACTIONS, 0])
    assert render.animate(ENV, stacked, actions).svg == render.animate(ENV, STATES, ACTIONS).svg


def test_nothing_is_shown_after_the_end_of_the_game() -> None:
    won = ENV.from_string("./..../.1./..../0 1 - 3")
    assert won.terminated
    assert render.animate(ENV, [STATES[0], won, won, won]).num_frames == 2


def test_auto_reset_shows_the_finished_board_at_the_end() -> None:
    env = auto_reset(ENV)
    before = ENV.from_string("./.1../.../.0../. 0 - 3")
    start = env.init(jax.random.key(0))
    start = dataclasses.replace(start, board=before, final=before)
    win = ENV.action_from_string(before, "9->12")
    after = env.step(start, jnp.int32(win))
    assert after.terminated
    picture = render.animate(env, [start, after, after], [win, win])
    assert picture.num_frames == 2
    assert "seat 0 wins" in picture.svg


def test_an_illegal_action_that_names_no_move_ends_the_picture() -> None:
    end = ENV.step(STATES[0], jnp.int32(10_000))
    picture = render.animate(ENV, [STATES[0], end], [10_000])
    assert "illegal move by seat 0" in picture.svg
    assert "1. action 10000" in picture.svg


def test_errors_say_what_is_expected() -> None:
    with pytest.raises(ValueError, match="7 states need 6 or 7 actions, not 5"):
        render.animate(ENV, STATES, ACTIONS[:5])
    with pytest.raises(ValueError, match="positive"):
        render.animate(ENV, STATES, seconds_per_step=0)
    with pytest.raises(ValueError, match="at least one"):
        render.animate(ENV, [])
    with pytest.raises(ValueError, match="one axis"):
        render.animate(ENV, jax.tree.map(lambda leaf: jnp.stack([jnp.stack([leaf])]), STATES[0]))


def test_a_long_game_stays_small() -> None:
    there, back = play(["0->3", "12->10", "3->0", "10->12"])
    picture = render.animate(ENV, [*there[:-1] * 60], [*back * 60])
    assert picture.num_frames == 240
    assert len(picture.svg) < 120_000


def test_svg_png_and_gif_files(tmp_path: Path) -> None:
    picture = render.animate(ENV, STATES, ACTIONS, seconds_per_step=0.5, width=120, theme="dark")
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
        assert gif.n_frames == len(STATES)
        milliseconds = []
        for frame in range(gif.n_frames):
            gif.seek(frame)
            milliseconds.append(gif.info["duration"])
        assert milliseconds == [500] * (len(STATES) - 1) + [500 + 1000 * PAUSE]
        assert gif.info["loop"] == 0


def test_a_peg_of_a_png_has_its_seats_colour_where_it_stands(tmp_path: Path) -> None:
    render.svg(ENV, ENV.from_string("./..../.0./..../1 0 - 3"), width=400).save(str(tmp_path / "board.png"))
    with Image.open(tmp_path / "board.png") as png:
        red = tuple(int(THEMES["light"].seats[0][i : i + 2], 16) for i in (1, 3, 5))
        assert any(png.getpixel((200, y))[:3] == red for y in range(png.height // 3, png.height // 2 + 20))


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.gif, not '\.jpg'"):
        render.svg(ENV, STATES[0]).save(tmp_path / "board.jpg")


@pytest.mark.parametrize(
    ("package", "file"), [("resvg_py", "board.png"), ("resvg_py", "board.gif"), ("PIL", "board.gif")]
)
def test_a_missing_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str, file: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r'pip install "jaxgames\[render\]"'):
        render.svg(ENV, STATES[0]).save(tmp_path / file)


def test_a_notebook_shows_the_picture_that_moves() -> None:
    picture = render.animate(ENV, STATES)
    assert picture._repr_svg_() == picture.svg  # pyright: ignore[reportPrivateUsage]  # as a notebook does
    assert picture._repr_html_().startswith("<img")  # pyright: ignore[reportPrivateUsage]
