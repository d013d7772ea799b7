"""Moves that are forbidden though the way is free: filling the own home around an opponent, and `tip_lock`."""

import pytest

from tests.games.chinese_checkers_diamond.pictures import game, legal_from, moves, read
from tests.helpers.positions import legal

HOLE = """
    1 0 . . .
    . . . . .
    0 . . . .
    . . . . .
    . . . . .
"""


def test_filling_the_own_home_is_illegal_while_an_opponent_is_in_it() -> None:
    """10>5 would make seat 1 win. From within the home the hole only moves, and two holes are not yet filled."""
    env = game()
    assert legal_from(env, read(env, HOLE), 10) == moves(10, 11, 15, 6)
    assert "1>5" in legal(env, read(env, HOLE))
    assert "10>5" in legal(env, read(env, HOLE.replace("1 0", "0 0")))
    assert "10>5" in legal(env, read(env, HOLE.replace("1 0", "1 .")))


def test_filling_the_own_home_by_a_hop_is_illegal_but_the_chain_may_go_on() -> None:
    """10 hops over 5 into the hole 0, where it must not stay, and on over 1 to 2."""
    env = game()
    picture = """
        . 0 . . .
        1 . . . .
        0 . . . .
        . . . . .
        . . . . .
    """
    assert legal_from(env, read(env, picture), 10) == moves(10, 11, 15, 6, 2)
    assert moves(10, 0, 2) < legal_from(env, read(env, picture.replace("1 .", "0 .", 1)), 10)


def test_mover_passes_if_its_only_move_would_fill_its_home() -> None:
    env = game(3, 3)
    picture = """
        1 1 1
        . 1 .
        0 1 1
    """
    assert legal(env, read(env, picture)) == {"0>0"}
    assert legal(env, read(env, picture.replace("1 1 1", ". 1 1", 1))) == {"6>3"}


@pytest.mark.parametrize(
    ("rows", "move", "locks"),
    [
        (".00../0..../.0.../...../.....", "11>10", True),  # the last of the four closes
        (".00../00.../...../0..../.....", "15>10", True),
        ("100../0..../.0.../...../.....", "11>10", False),  # the tip is not empty
        (".01../0..../.0.../...../.....", "11>10", False),  # the four are not all the owner's
        (".0.../0..../.0.../...../.....", "11>10", False),  # only three of the four
        (".00../0..../...../...../.....", "5>10", False),  # from one of the four to another
        ("000../0..../...../...../.....", "0>10", True),  # from the tip to the last of the four
        ("0.0../0..../0..../...../.....", "0>1", True),
        (".0.../.0.../...../...../.....", "1>2", False),
        (".00../0..../0..../...../.....", "1>0", False),  # a lock may be opened
        (".00../0..../0..../...../.....", "2>3", False),
        (".00../0..../0..../..0../.....", "17>18", True),  # but does not stay
        ("0..../.0.../..... /...../....0".replace(" ", ""), "6>1", False),
    ],
)
def test_tip_lock_forbids_moves_that_lock_the_own_tip(rows: str, move: str, locks: bool) -> None:
    for tip_lock in (False, True):
        env = game(5, 6, tip_lock=tip_lock)
        assert (move in legal(env, env.from_string(f"{rows} 0 0"))) == (not (locks and tip_lock))


def test_tip_lock_holds_for_seat_1_in_its_own_frame() -> None:
    env = game(5, 6, tip_lock=True)
    state = env.from_string("...../...../...1./....1/..11. 1 0")
    assert "13>14" not in legal(env, state)
    assert "13>8" in legal(env, state)


def test_chain_may_pass_through_the_cell_that_would_lock_the_tip() -> None:
    """20 hops over 15 to 10, where it would lock the tip, and on over 11 to 12 or over 5 into the tip itself."""
    text = ".00../0..../.1.../1..../0.... 0 0"
    env = game(5, 6, tip_lock=True)
    assert legal_from(env, env.from_string(text), 20) == moves(20, 16, 21, 12, 0)
    assert legal_from(game(5, 6), env.from_string(text), 20) == moves(20, 16, 21, 12, 0, 10)


def test_mover_passes_if_the_opponents_tip_is_locked() -> None:
    """No game leads there: every move would leave the tip locked."""
    picture = "0..../...../....1/....1/..11. 0 0"
    assert legal(game(5, 6, tip_lock=True), game(5, 6).from_string(picture)) == {"0>0"}
    assert legal(game(5, 6), game(5, 6).from_string(picture)) == moves(0, 1, 5)
