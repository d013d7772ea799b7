"""Wins. The limit of rounds and other ends are in the cases, for tests/contract."""

import jax
import numpy as np
import pytest

from tests.games.chinese_checkers.pictures import PLAYERS, WIN_BY_STEP, game, read
from tests.games.chinese_checkers.reference import Cell, Position, Reference
from tests.helpers.positions import LIVE, TERMINATED, is_over, play


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


def test_winner_in_a_chain_is_the_mover() -> None:
    assert game(size=1).outcome(game(size=1).from_string("./..../.1./..../0 0 5,12 3")).winners == (0,)


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
