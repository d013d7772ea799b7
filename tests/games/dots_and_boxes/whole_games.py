"""Random games of Dots and Boxes, recorded on the host, for the tests that play them again on another board."""

import functools
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames import Env
from tests.helpers.positions import Look, batched, random_actions, repeated, start

GAMES = 16  # at once, everywhere: one shape to compile for


class Recorded(NamedTuple):
    """A batch of boards, what they show, and the action that is played on each."""

    states: Any
    look: Look
    actions: np.ndarray  # int32[games]


@functools.cache
def recorded(env: Env[Any], seed: int = 0, games: int = GAMES) -> list[Recorded]:
    """Games of random legal actions from the empty board to the full one, which is the last entry."""
    rng, states, found = np.random.default_rng(seed), repeated(start(env), games), list[Recorded]()
    for _ in range(env.num_actions + 1):
        look = jax.device_get(batched(env).look(states))
        found.append(Recorded(states, look, random_actions(rng, look.mask)))
        states = jax.device_get(batched(env).step(states, found[-1].actions))
    return found
