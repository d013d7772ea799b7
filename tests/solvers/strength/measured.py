"""Solved diamonds, and agents whose moves are known, for the tests of the measures."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import solvers
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import BATCH
from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.hash_agent import hash_agent
from tests.helpers.solved import solved_diamond
from train.strength.players import lookahead

Act = Callable[[Any], Any]


def solution(size: int) -> solvers.Solution[Any]:
    """The solution of the game with three pieces."""
    return solved_diamond(size, 3)


def zeros(states: Any) -> jax.Array:
    """The value 0 for every board."""
    return jnp.zeros(BATCH)


class Asked(NamedTuple):
    """A call of an agent."""

    states: np.ndarray  # the states of the solution
    seats: np.ndarray  # to move
    actions: np.ndarray


@functools.cache
def measured(name: str) -> tuple[dict[str, Any], list[Asked]]:
    """The measures of an agent on the 4 x 4 diamond, and what it was asked for."""
    asked: list[Asked] = []

    def act(states: Any) -> Any:
        actions = agent(name, 4)(states)
        asked.append(Asked(solution(4).index(states), np.asarray(states.current_player), np.asarray(actions)))
        return actions

    return measure(game(4, 3), act, solution(4)), asked


@functools.cache
def agent(name: str, size: int) -> Act:
    """An agent of the game with three pieces.

    hash0, hash7 and so on play by a hash of the board. fastest wins soonest and loses latest: its search is as deep as
    the longest game.
    """
    if name == "fastest":
        return lookahead(solution(size), zeros, 22)
    return hash_agent(game(size, 3), int(name.removeprefix("hash")))
