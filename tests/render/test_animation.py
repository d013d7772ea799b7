"""Games in motion: pieces and marks that move, and one loop for all. The board is the star of size 1."""

import functools
import re
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp

from jaxgames import render
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers.drawing import drawing
from jaxgames.render.animation import NOTHING, PAUSE, follow
from jaxgames.render.drawing import Caption, Scene
from jaxgames.render.theme import THEMES
from tests.render.drawn import SVG, is_background, parse, texts

ENV = ChineseCheckers(size=1, num_players=2)
STEP = jax.jit(ENV.step)
# Seat 0 steps, seat 1 steps, seat 0 steps, seat 1 hops over it and stops.
MOVES = ["0->3", "12->10", "3->6", "10=>2", "end", "6->9"]


@functools.cache
def game() -> tuple[list[ChineseCheckersState], list[int]]:
    """The states and the actions of MOVES."""
    return play(MOVES)


def play(moves: list[str]) -> tuple[list[ChineseCheckersState], list[int]]:
    states, actions = [ENV.init()], []
    for move in moves:
        actions.append(ENV.action_from_string(states[-1], move))
        states.append(STEP(states[-1], jnp.int32(actions[-1])))
    return states, actions


def animations(root: Element) -> list[Element]:
    return [e for e in root.iter() if e.tag in (f"{SVG}animate", f"{SVG}animateTransform")]


def test_all_animations_share_one_loop_of_the_whole_length() -> None:
    picture = render.animate(ENV, *game(), seconds_per_step=0.5)
    root = parse(picture)
    total = len(game()[0]) * 0.5 + PAUSE
    assert sum(picture.seconds) == total
    assert picture.num_frames == len(game()[0])
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


def test_board_and_pieces_are_drawn_once() -> None:
    root = parse(render.animate(ENV, *game()))
    assert sum(is_background(e) for e in root.iter()) == 1
    moving = [e for e in root.iter(f"{SVG}use") if e.find(f"{SVG}animateTransform") is not None]
    assert [e.attrib["href"][-5:] for e in moving] == ["seat0", "seat1"]


def test_pieces_stand_where_each_state_has_them() -> None:
    scenes = [drawing(ENV, THEMES["light"]).scene(jax.device_get(state), []) for state in game()[0]]
    tracks = follow(drawing(ENV, THEMES["light"]), scenes)
    for frame, scene in enumerate(scenes):
        assert {t.places[frame]: t.look for t in tracks if t.places[frame] is not None} == scene.pieces


def test_captured_piece_disappears_and_may_come_back() -> None:
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


def test_frame_marks_the_moves_of_the_turn_that_led_to_it() -> None:
    root = parse(render.animate(ENV, *game()))
    # two goals, the last move, the casing, the chain and its stops
    _, _, last, _, chain, _ = [e for e in root.iter(f"{SVG}animate") if e.attrib["attributeName"] == "d"]
    assert last.attrib["values"].split(";")[0] == NOTHING
    # The hop and the end of its turn have the same trail.
    assert len(last.attrib["values"].split(";")) == len(game()[0]) - 1
    assert [path == NOTHING for path in chain.attrib["values"].split(";")] == [True, False, True]
    assert [text for text in texts(root) if re.match(r"\d+\. ", text)] == [
        f"{step}. {move}" for step, move in enumerate(MOVES, start=1)
    ]
