"""The board, where the seats start and in which order they move."""

import pytest

from tests.games.chinese_checkers.pictures import PLAYERS, START, game, written
from tests.helpers.positions import LIVE, TRUNCATED, is_over, legal, play, start


@pytest.mark.parametrize("num_players", PLAYERS)
def test_seats_start_on_their_triangles_and_seat_0_moves_first(num_players: int) -> None:
    env = game(num_players=num_players)
    assert env.to_string(start(env)) == written(START[num_players])


@pytest.mark.parametrize("num_players", PLAYERS)
def test_seats_move_in_turn_and_a_round_ends_with_the_last_seat(num_players: int) -> None:
    env = game(num_players=num_players)
    state = start(env)
    for turn in range(2 * num_players + 1):
        *_, seat, _, rounds = env.to_string(state).split()
        assert (int(seat), int(rounds)) == (turn % num_players, turn // num_players)
        assert int(state.current_player) == turn % num_players
        state = play(env, state, min(move for move in legal(env, state) if "->" in move))


@pytest.mark.parametrize(
    ("size", "cells"), [(1, 13), (2, 37), (3, 73), (4, 121), (5, 181), (6, 253), (7, 337), (8, 433)]
)
def test_board_has_the_known_number_of_cells(size: int, cells: int) -> None:
    """6N² + 6N + 1 cells: six actions for each, and one to end the turn; 727 actions on the traditional board."""
    env = game(size=size)
    assert env.num_actions == 6 * cells + 1
    rows = env.to_string(start(env)).split()[0]
    assert len(rows.replace("/", "")) == cells
    assert rows.count("0") == rows.count("1") == size * (size + 1) // 2


@pytest.mark.parametrize(("size", "rounds"), [(1, 200), (2, 200), (3, 500), (4, 1000), (5, 1000), (8, 1000)])
def test_default_limit_of_rounds_depends_on_the_size(size: int, rounds: int) -> None:
    env = game(size=size)
    rows = env.to_string(start(env)).split()[0]
    assert is_over(env.from_string(f"{rows} 0 - {rounds - 1}")) == LIVE
    assert is_over(env.from_string(f"{rows} 0 - {rounds}")) == TRUNCATED
    assert env == game(size=size, max_rounds=rounds)
