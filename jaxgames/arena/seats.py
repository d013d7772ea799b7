"""The seats of the agents: int32[games, num_players], the index of the agent on every seat of every game."""

import functools
from collections.abc import Sequence
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._checks import ParameterError, check_choice

Seating = Literal["fixed", "alternating", "drawn"]


@functools.partial(jax.jit, static_argnames=("num_games", "num_players", "seat"))
def one_seat(key: jax.Array, num_games: int, num_players: int, seat: int | None = None) -> jax.Array:
    """Returns int32[games, num_players], the agents of the seats: 0 on `seat`, 1 on all others.

    With None, the seat of agent 0 is drawn for each game.
    """
    if seat is not None and not 0 <= seat < num_players:
        raise ParameterError(f"seat must be from 0 to {num_players - 1}, not {seat}")
    seat_of_0 = jax.random.randint(key, (num_games,), 0, num_players) if seat is None else jnp.full(num_games, seat)
    return jnp.where(jnp.arange(num_players) == seat_of_0[:, None], 0, 1)


def seating(seats: Sequence[int], how: Seating, num_games: int, key: jax.Array | None = None) -> jax.Array:
    """Returns int32[games, num_players], agent i on `seats[i]` of the seats of every game.

        fixed         agent 0 on the first seats, then agent 1, and so on, in every game
        alternating   the same order, moved on by one seat from game to game: over as many games as there are seats, or
                      a multiple, every agent has every seat equally often
        drawn         a random order for every game

    Args:
      seats: the number of seats of each agent; their sum is the number of players.
      key: a PRNG key, only for "drawn".
    """
    check_choice("how", how, get_args(Seating))
    if not seats or min(seats) < 1:
        raise ParameterError(f"every agent needs at least one seat, not {' '.join(map(str, seats)) or 'none'}")
    agents = np.repeat(np.arange(len(seats), dtype=np.int32), seats)
    if how == "fixed":
        return jnp.tile(agents, (num_games, 1))
    if how == "alternating":
        return jnp.asarray(agents[(np.arange(agents.size) - np.arange(num_games)[:, None]) % agents.size])
    if key is None:
        raise ParameterError("a drawn seating needs a key: seating(seats, 'drawn', num_games, key)")
    return jax.vmap(lambda key: jax.random.permutation(key, agents))(jax.random.split(key, num_games))
