"""The homes on boards of every size."""

import pytest

import jaxgames
from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.positions import start


@pytest.mark.parametrize(
    ("size", "pieces", "text"),
    [
        (2, 1, "0./.1 0 0"),
        (3, 1, "0../.../..1 0 0"),
        (3, 3, "00./0.1/.11 0 0"),
        (4, 3, "00../0.../...1/..11 0 0"),
        (4, 6, "000./00.1/0.11/.111 0 0"),
        (5, 6, "000../00.../0...1/...11/..111 0 0"),
        (5, 10, "0000./000.1/00.11/0.111/.1111 0 0"),
        (6, 10, "0000../000.../00...1/0...11/...111/..1111 0 0"),
    ],
)
def test_homes_are_two_opposite_corners(size: int, pieces: int, text: str) -> None:
    env = game(size, pieces)
    assert env.to_string(start(env)) == text


@pytest.mark.parametrize(("size", "pieces"), [(2, 1), (3, 3), (4, 6), (7, 6), (9, 6)])
def test_pieces_default_to_six_or_the_most_that_fit(size: int, pieces: int) -> None:
    assert jaxgames.make("chinese_checkers_diamond", size=size) == game(size, pieces)
    assert jaxgames.make("chinese_checkers_diamond", size=size, pieces=None) == game(size, pieces)
