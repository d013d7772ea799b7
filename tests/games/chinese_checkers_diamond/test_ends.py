"""Wins. The limit of turns and other ends are in the cases, for tests/contract."""

from tests.games.chinese_checkers_diamond.pictures import game, read
from tests.helpers.positions import LIVE, TERMINATED, is_over, play


def test_chain_through_the_goal_wins_only_if_it_ends_there() -> None:
    """13 hops over 14 into the last hole 15, and on over 11 to 7."""
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        . . . 0
        . 0 0 .
    """
    assert is_over(play(env, read(env, picture), "13>15")) == TERMINATED
    assert is_over(play(env, read(env, picture), "13>7")) == LIVE


def test_full_goal_wins_after_the_movers_own_move_if_it_stays_full() -> None:
    """No game leads there. The last mover was the other seat, so the game is not over yet."""
    env = game(4, 3)
    picture = """
        . . . .
        0 . . .
        . . . 0
        . . 0 1
    """
    state = read(env, picture)
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "4>5")) == TERMINATED
    assert is_over(play(env, state, "14>13")) == LIVE
