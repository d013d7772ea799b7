"""`svg` and `animate`: batches, wrapped games, turns in motion, and errors. The board is the star of size 1."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import render
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.render.theme import THEMES
from jaxgames.wrappers import auto_reset
from tests.render.drawn import is_background, parse, texts

ENV = ChineseCheckers(size=1, num_players=2)
START = ENV.init()
CHAIN = "./..01/.1./..../. 0 1,3 4"  # seat 0 has hopped from 1 over 2 to 3 and may end its turn or hop on


def test_used_ids_are_defined_and_differ_between_themes() -> None:
    ids: list[str] = []
    for theme in THEMES:
        root = parse(render.svg(ENV, START, theme=theme))
        here = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
        assert {e.attrib["href"][1:] for e in root.iter() if "href" in e.attrib} <= set(here)
        ids += here
    assert len(ids) == len(set(ids))


def test_batch_is_a_numbered_grid_with_one_drawing_of_the_board() -> None:
    lines = ["0/..../.../..../1 0 - 0", "./.0../.../..../1 1 - 0", "./.0../.../.1../. 0 - 1", CHAIN, CHAIN]
    states = [ENV.from_string(line) for line in lines]
    batch = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    picture = render.svg(ENV, batch, columns=2, width=100, last=[None, "0->2", "12->9", "1=>3", None])
    root, one = parse(picture), parse(render.svg(ENV, states[0], width=100))
    assert 200 < int(root.attrib["width"]) < 210
    assert 3 * int(one.attrib["height"]) < int(root.attrib["height"]) < 3 * int(one.attrib["height"]) + 10
    assert sum(is_background(e) for e in root.iter()) == 5
    assert sum(e.get("id", "").endswith("-background") for e in root.iter()) == 1
    assert [text.split(":")[0] for text in texts(root) if ":" in text] == list("01234")
    assert render.svg(ENV, states, columns=2, width=100, last=[None, "0->2", "12->9", "1=>3", None]).svg == picture.svg


def test_live_board_of_auto_reset_is_drawn() -> None:
    env = auto_reset(ENV)
    state = env.init(jax.random.key(0))
    assert render.svg(env, state).svg == render.svg(ENV, state.board).svg


def test_finished_board_of_auto_reset_ends_the_animation() -> None:
    env = auto_reset(ENV, keep_before_reset=True)
    start = env.from_string("./.1../.../.0../. 0 - 3")
    win = env.action_from_string(start, "9->12")
    after = jax.jit(env.step)(start, jnp.int32(win))
    assert after.terminated
    picture = render.animate(env, [start, after, after], [win, win])
    assert picture.num_frames == 2
    assert "Red wins" in picture.svg


def test_states_after_the_end_of_the_game_are_left_out() -> None:
    won = ENV.from_string("./..../.1./..../0 1 - 3")
    assert won.terminated
    assert render.animate(ENV, [START, won, won, won]).num_frames == 2


def test_illegal_action_without_a_text_is_captioned_by_its_number() -> None:
    end = jax.jit(ENV.step)(START, jnp.int32(10_000))
    picture = render.animate(ENV, [START, end], [10_000])
    assert "illegal action by Red" in picture.svg
    assert "1. action 10000" in picture.svg


BATCH = jax.tree.map(lambda leaf: np.stack([leaf, leaf]), START)


@pytest.mark.parametrize(
    ("draw", "states", "options", "message"),
    [
        (render.svg, START, {"theme": "blue"}, "theme must be one of 'light', 'dark', not 'blue'"),
        (render.svg, jax.tree.map(lambda leaf: leaf[:0], BATCH), {}, "at least one"),
        (render.svg, jax.tree.map(lambda leaf: leaf[None], BATCH), {}, "one axis"),
        (render.svg, START, {"last": ["1->2"]}, "one text"),
        (render.svg, BATCH, {"last": "1->2"}, "2 texts"),
        (render.svg, BATCH, {"columns": 0}, "columns"),
        (render.svg, START, {"width": 0}, "width"),
        (render.animate, [START] * 3, {"actions": [0]}, "3 states need 2 or 3 actions, not 1"),
        (render.animate, [START], {"seconds_per_step": 0}, "positive"),
        (render.animate, [], {}, "at least one"),
    ],
)
def test_wrong_argument_is_refused(draw: Any, states: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(ENV, states, **options)


def test_game_without_pictures_is_refused() -> None:
    class Other(ChineseCheckers):
        id = "other"

    with pytest.raises(ValueError, match=r"'other' has no pictures: add them with jaxgames.register\(Game"):
        render.svg(Other(), Other().init())


class StarOfAUser(ChineseCheckers):
    """A game that the library does not know."""

    id = "star_of_a_user"


def test_drawing_of_a_record_is_used_for_pictures_animations_and_anchors() -> None:
    env = StarOfAUser(size=1, num_players=2)
    assert not render.has_pictures(env)
    jaxgames.register(jaxgames.Game(env.id, StarOfAUser, drawing="jaxgames.games.chinese_checkers.drawing"))
    assert render.has_pictures(env)
    assert render.svg(env, START).svg == render.svg(ENV, START).svg.replace(str(ENV), str(env))
    assert render.anchors(env, START) == render.anchors(ENV, START)
