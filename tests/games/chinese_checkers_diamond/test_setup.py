"""The homes on boards of every size, and the limit of turns."""

import pytest

import jaxgames
from jaxgames import ParameterError
from tests.games.chinese_checkers_diamond.pictures import FITTING, game
from tests.helpers.positions import LIVE, TRUNCATED, is_over, start


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


@pytest.mark.parametrize("size", FITTING)
def test_pieces_are_allowed_if_both_homes_fit(size: int) -> None:
    for pieces in (1, 3, 6, 10):
        if pieces in FITTING[size]:
            env = game(size, pieces)
            content = env.to_string(start(env)).split()[0]
            assert content.count("0") == content.count("1") == pieces
        else:
            with pytest.raises(ParameterError, match=rf"pieces .* {', '.join(map(str, FITTING[size]))} .*not {pieces}"):
                game(size, pieces)


@pytest.mark.parametrize(("size", "pieces"), [(2, 1), (3, 3), (4, 6), (7, 6), (9, 6)])
def test_pieces_default_to_six_or_the_most_that_fit(size: int, pieces: int) -> None:
    assert jaxgames.make("chinese_checkers_diamond", size=size) == game(size, pieces)
    assert jaxgames.make("chinese_checkers_diamond", size=size, pieces=None) == game(size, pieces)


def test_default_limit_is_200_plies() -> None:
    env = game()
    assert env == game(max_plies=200)
    rows = env.to_string(start(env)).split()[0]
    assert is_over(env.from_string(f"{rows} 0 199")) == LIVE
    assert is_over(env.from_string(f"{rows} 0 200")) == TRUNCATED
