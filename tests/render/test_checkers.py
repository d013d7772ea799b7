"""Pictures of checkers: the position at its places, the last turn, and the caption."""

import dataclasses
import functools
import math
import re
from collections.abc import Callable
from xml.etree.ElementTree import Element

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import render
from jaxgames.games.checkers import Checkers, CheckersState
from jaxgames.render.theme import THEMES
from tests.render.drawn import pairs, parse, paths, pieces, texts

ENV = Checkers()


def place(square: int) -> tuple[float, float]:
    """The place of a PDN square: squares 20 wide, four dark ones per row, in the first row from the second column."""
    row, k = (square - 1) // 4, (square - 1) % 4
    return 20 * (2 * k + (1 if row % 2 == 0 else 0)) - 70, 20 * row - 70


def draw(state: CheckersState, last: str | None = None, env: Checkers = ENV, theme: str = "light") -> Element:
    return parse(render.svg(env, state, last=last, theme=theme))


@functools.cache
def step(env: Checkers) -> Callable[..., CheckersState]:
    return jax.jit(lambda state, action: env.step(state, action))


def played(env: Checkers, text: str, *plies: str, quiet: int = 0) -> CheckersState:
    state = dataclasses.replace(env.from_string(text), quiet=jnp.int16(quiet))
    for ply in plies:
        state = step(env)(state, jnp.int32(env.action_from_string(state, ply)))
    return state


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("seat", "BW")
def test_pieces_stand_where_the_text_says(seat: str, theme: str) -> None:
    """The picture is the printed board, whoever is to move."""
    state = ENV.from_string(f"{seat}:W18,K29,32:B1,K4,15")
    expected = {1: "man0", 4: "king0", 15: "man0", 18: "man1", 29: "king1", 32: "man1"}
    assert pieces(draw(state, theme=theme)) == {place(square): look for square, look in expected.items()}


def test_last_turn_is_marked_with_its_captures() -> None:
    state = played(ENV, "B:W9,10,17,18,32:BK6", "6x15", "15x22")
    squares, trail, captured, jumper = paths(draw(state, last="6x15 15x22"))
    assert len(re.findall("M", squares)) == 3
    assert pairs(trail) == [place(6), place(15), place(22)]
    corners = np.reshape(pairs(re.sub(r"l-?6,6", "", captured)), (2, 2, 2))  # of two crosses, both strokes
    np.testing.assert_allclose(corners.mean(1), [(x, y - 3) for x, y in (place(10), place(18))])
    assert math.isclose(pairs(jumper)[0][1], place(22)[1])


@pytest.mark.parametrize(
    ("env", "text", "plies", "quiet", "expected"),
    [
        (ENV, "W:W18:B9", [], 0, "White to move"),
        (ENV, "B:W9,10,17,18,32:BK6", ["6x15"], 0, "Black must jump again"),
        (ENV, "B:W18:B14", ["14x23"], 0, "Black wins: no legal move"),
        (ENV, "B:WK32:BK1", ["1-5"], 79, "draw: 80 plies without a capture or a man's move"),
        (ENV, "B:W18:B9", ["9-6"], 0, "illegal action by Black"),
    ],
)
def test_caption_names_the_mover_or_the_outcome(
    env: Checkers, text: str, plies: list[str], quiet: int, expected: str
) -> None:
    assert texts(draw(played(env, text, *plies, quiet=quiet), env=env)) == [expected]


@pytest.mark.parametrize("last", ["11-33", "a3-b4"])
def test_wrong_last_move_is_explained(last: str) -> None:
    with pytest.raises(ValueError, match=f"squares from 1 to 32, not '{last}'"):
        render.svg(ENV, ENV.init(), last=last)
