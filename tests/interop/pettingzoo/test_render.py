"""Render modes of the environments for PettingZoo: texts, printed texts and images."""

import importlib.util

import numpy as np
import pytest
from pettingzoo.test import render_test

import jaxgames
from jaxgames.interop.pettingzoo import aec_env, raw_env
from tests.helpers.sticks import Sticks

BOXES = "dots_and_boxes(rows=1, cols=2)"
OTHERS = [pytest.param(game, marks=pytest.mark.slow) for game in jaxgames.list_games()]


@pytest.mark.parametrize("game", [BOXES, *OTHERS])
def test_every_render_mode_passes_the_test_of_pettingzoo(game: str) -> None:
    pytest.importorskip("resvg_py")
    assert aec_env(game).metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    render_test(lambda render_mode: aec_env(game, render_mode=render_mode))  # pyright: ignore[reportArgumentType]  # it asks for an Env of Gymnasium


def test_text_has_the_position_and_what_comes_next(capsys: pytest.CaptureFixture[str]) -> None:
    ansi, human = raw_env(Sticks(), render_mode="ansi"), raw_env(Sticks(), render_mode="human")
    texts: list[str] = []
    for zoo in (ansi, human):
        zoo.reset()
        texts.append(zoo.render())
        for action in (2, 2, 0):
            zoo.step(action)
            texts.append(zoo.render())
    assert texts[0] == "7 0\nplayer_0 to move"
    assert texts[3] == "0 0\nplayer_2 won: no sticks left"
    assert texts[4:] == [None] * 4
    assert capsys.readouterr().out == "\n".join(texts[:4]) + "\n"
    ansi.reset()
    ansi.step(-1)
    assert ansi.render() == "7 0\nforfeit: illegal action by seat 0"
    ansi.close()


def test_image_is_the_picture_of_the_board() -> None:
    pytest.importorskip("resvg_py")
    zoo = raw_env(BOXES, render_mode="rgb_array")
    zoo.reset()
    empty = zoo.render()
    assert (empty.dtype, empty.ndim, empty.shape[-1]) == (np.uint8, 3, 3)
    zoo.step(0)
    assert (zoo.render() != empty).any()


def test_images_need_packages_and_a_game_with_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="one of 'ansi', 'human', not 'rgb_array'"):
        raw_env(Sticks(), render_mode="rgb_array")
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    with pytest.raises(ValueError, match="one of 'ansi', 'human', not 'rgb_array'"):
        raw_env(BOXES, render_mode="rgb_array")
    assert raw_env(BOXES).metadata["render_modes"] == ["ansi", "human"]


def test_render_without_a_mode_warns_and_names_the_modes() -> None:
    zoo = raw_env(Sticks())
    zoo.reset()
    with pytest.warns(UserWarning, match="one of ansi, human"):
        assert zoo.render() is None
