"""Wins, and the limit of turns."""

from tests.games.chinese_checkers_diamond.pictures import game, read
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, is_over, legal, play, start


def test_full_goal_wins_if_one_piece_there_is_the_movers() -> None:
    """The opponent's pieces that never left fill the rest."""
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . 1
        . 0 . 1
    """
    state = play(env, read(env, picture), "13>14")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [1, -1]
    assert legal(env, state) == set()


def test_seat_1_wins_in_the_corner_of_seat_0() -> None:
    env = game(4, 3)
    picture = """
        1 1 . .
        . . . .
        1 . . .
        . 0 . .
    """
    state = play(env, read(env, picture, seat=1), "8>4")
    assert is_over(state) == TERMINATED
    assert state.rewards.tolist() == [-1, 1]


def test_goal_full_of_the_opponents_pieces_is_not_won() -> None:
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . 1
        . 0 1 1
    """
    assert is_over(play(env, read(env, picture), "13>9")) == LIVE


def test_goal_with_a_hole_is_not_won() -> None:
    env = game(4, 3)
    picture = """
        . . . .
        . . . .
        0 . . .
        . 0 . 0
    """
    assert is_over(play(env, read(env, picture), "13>14")) == LIVE


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


def test_game_is_truncated_after_the_last_ply() -> None:
    env = game(4, 3)
    rows, *_ = env.to_string(start(env)).split()
    state = env.from_string(f"{rows} 1 197")
    for ply in (197, 198, 199):
        assert is_over(state) == LIVE, ply
        assert int(state.current_player) == ply % 2
        state = play(env, state, min(legal(env, state)))
    assert is_over(state) == TRUNCATED
    assert state.rewards.tolist() == [0, 0]
    assert legal(env, state) == set()


def test_win_in_the_last_ply_is_a_win() -> None:
    env = game(4, 3)
    state = env.from_string("..../..../0..1/.0.1 0 199")
    assert is_over(play(env, state, "13>14")) == TERMINATED
    assert is_over(play(env, state, "13>9")) == TRUNCATED
