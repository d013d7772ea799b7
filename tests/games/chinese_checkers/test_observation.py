"""The observation of every seat, in its own frame."""

import numpy as np

from tests.games.chinese_checkers.pictures import CHAIN, game, read
from tests.helpers.positions import compiled, play

Places = set[tuple[int, int]]  # [q + 4, r + 4] on the board of size 2


def places(plane: np.ndarray) -> Places:
    return {(int(q), int(r)) for q, r in np.argwhere(plane)}


def from_the_other_side(cells: Places) -> Places:
    return {(8 - q, 8 - r) for q, r in cells}


def test_observation_has_own_pegs_the_others_the_cells_left_and_the_last_landing() -> None:
    """In mid-chain; the whole board is upside down for seat 1."""
    env = game()
    state = play(env, read(env, CHAIN), "18=>29")
    pegs_0: Places = {(6, 0), (5, 1), (2, 6)}  # cells 0, 1, 29
    pegs_1: Places = {(2, 4), (3, 5), (2, 7)}  # cells 16, 23, 34
    left, landed = {(4, 4)}, {(2, 6)}

    look = compiled(env).look(state)
    assert look.mover.shape == env.observation_shape == (9, 9, 4)
    assert look.mover.dtype == bool
    expected = [pegs_0, pegs_1, left, landed]
    for seen in (look.mover, look.seats[0]):
        assert [places(seen[:, :, plane]) for plane in range(4)] == expected
    expected = [from_the_other_side(cells) for cells in (pegs_1, pegs_0, left, landed)]
    assert [places(look.seats[1][:, :, plane]) for plane in range(4)] == expected
