"""The observations of both seats, each in its own frame."""

import numpy as np

from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.positions import compiled, play


def test_observation_has_own_pieces_and_the_opponents() -> None:
    """The board is upside down for seat 1."""
    env = game(3, 1)
    state = env.from_string("01./..1/... 0 0")
    own, other = np.zeros((3, 3), bool), np.zeros((3, 3), bool)
    own[0, 0] = other[0, 1] = other[1, 2] = True
    look = compiled(env).look(state)
    assert look.mover.shape == env.observation_shape == (3, 3, 2)
    assert look.mover.dtype == bool
    of_seat_0, of_seat_1 = np.stack([own, other], axis=-1), np.stack([other, own], axis=-1)[::-1, ::-1]
    np.testing.assert_array_equal(look.mover, of_seat_0)
    np.testing.assert_array_equal(look.seats, [of_seat_0, of_seat_1])

    after = compiled(env).look(play(env, state, "0>2"))
    np.testing.assert_array_equal(after.mover, after.seats[1])
    assert np.argwhere(after.seats[0][..., 0]).tolist() == [[0, 2]]
