"""Observations: `observe(state)` is the mover's observation, on the support, and equal starts look equal."""

import jax
import numpy as np

import jaxgames
from tests.contract.games import of_each_game
from tests.helpers.cases import Cases, Judged
from tests.helpers.positions import compiled, start


@of_each_game("judged", lambda cases: cases.judged)
def test_observation_defaults_to_the_movers_and_stays_on_the_support(cases: Cases, judged: Judged) -> None:
    env = jaxgames.make(judged.env)
    state = jax.device_get(env.from_string(judged.position))
    _, mover, seats = jax.device_get(compiled(env).look(state))
    assert mover.shape == env.observation_shape
    assert seats.shape == (env.num_players, *env.observation_shape)
    assert mover.dtype == seats.dtype == bool
    np.testing.assert_array_equal(mover, seats[state.current_player])
    assert not (seats & ~env.observation_support).any()


@of_each_game("env", lambda cases: cases.seats_see_the_same_start)
def test_every_seat_sees_the_same_start(cases: Cases, env: str) -> None:
    """One network can play all seats."""
    made = jaxgames.make(env)
    seats = np.asarray(compiled(made).look(start(made)).seats)
    for seen in seats:
        np.testing.assert_array_equal(seen, seats[0])
