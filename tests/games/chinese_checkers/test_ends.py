"""Wins, and the limit of rounds."""

import jax
import numpy as np
import pytest

from tests.games.chinese_checkers.pictures import PLAYERS, START, WIN_BY_HOP, WIN_BY_STEP, game, read, upside_down
from tests.games.chinese_checkers.reference import Cell, Position, Reference
from tests.helpers.positions import LIVE, TERMINATED, TRUNCATED, is_over, legal, play, start


def test_step_wins_when_it_fills_the_goal() -> None:
    env = game()
    state = play(env, read(env, WIN_BY_STEP), "29->34")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()


def test_hop_wins_when_it_fills_the_goal_before_the_turn_is_ended() -> None:
    """34=>22 over 29 could go on, and would leave the goal, but the game is over."""
    env = game()
    state = play(env, read(env, WIN_BY_HOP), "24=>34")
    assert is_over(state) == TERMINATED
    assert legal(env, state) == set()


def test_goal_with_a_foreign_peg_in_it_is_not_won() -> None:
    env = game()
    picture = WIN_BY_STEP.replace(". 0\n", "1 0\n")
    assert picture.count("1 0") == 1
    assert is_over(play(env, read(env, picture), "29->28")) == LIVE


def test_full_goal_wins_only_for_the_mover() -> None:
    """Seat 0's goal is full, but the turn before was seat 1's: seat 0 wins with its next submove, whichever it is."""
    env = game()
    picture = """
                 .
                . .
          . . . . . . .
           . . . . . .
            . . 0 . .
           . . . . . .
          1 . . . . . .
                0 0
                 0
    """
    state = read(env, picture, seat=0)
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "18->12")) == TERMINATED


def test_game_is_truncated_at_the_end_of_the_last_round() -> None:
    env = game(num_players=3, max_rounds=2)
    state = start(env)
    for turn in range(6):
        assert is_over(state) == LIVE, turn
        state = play(env, state, min(move for move in legal(env, state) if "->" in move))
    assert is_over(state) == TRUNCATED
    assert legal(env, state) == set()
    assert state.rewards.tolist() == [0, 0, 0]


def test_chain_in_the_last_round_is_played_to_its_end() -> None:
    """The last seat hops in the last round: the game goes on until the turn is ended."""
    env = game()
    picture = START[2].replace("0 0", "0 .")
    state = play(env, read(env, picture, seat=1, rounds=199), "36=>29")
    assert is_over(state) == LIVE
    assert is_over(play(env, state, "end")) == TRUNCATED


def test_win_in_the_last_round_is_a_win() -> None:
    env = game()
    state = play(env, read(env, upside_down(WIN_BY_STEP), seat=1, rounds=199), "7->2")
    assert is_over(state) == TERMINATED


@pytest.mark.parametrize("num_players", PLAYERS)
def test_winner_is_the_last_mover_if_its_goal_is_full(num_players: int) -> None:
    """Each seat's goal holds its pegs, alone on the board: only the seat before the one to move has won."""
    env, reference = game(num_players=num_players), Reference(2, num_players)
    winners = jax.jit(env.winners)
    for owner in range(num_players):
        pegs: dict[Cell, int | None] = dict.fromkeys(reference.cells) | dict.fromkeys(reference.goal[owner], owner)
        for seat in range(num_players):
            state = jax.device_get(env.from_string(reference.to_string(Position(pegs=pegs, seat=seat))))
            expected = [winner == owner == (seat - 1) % num_players for winner in range(num_players)]
            assert winners(state).tolist() == expected
            assert env.outcome(state).winners == tuple(np.flatnonzero(expected))
