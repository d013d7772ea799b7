"""What the tests of the measures share: solved diamonds, and agents whose moves are known."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames import solvers
from jaxgames.solvers.lookahead import lookahead
from jaxgames.solvers.policy_table import BATCH
from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.hash_agent import hash_agent

Act = Callable[[Any], Any]


@functools.cache
def solution(size: int) -> solvers.Solution[Any]:
    """The solution of the game with three pieces."""
    return solvers.solve(game(size, 3), progress=False)


def zeros(states: Any) -> jax.Array:
    """Values that say nothing."""
    return jnp.zeros(BATCH)


@functools.cache
def agent(name: str, size: int) -> Act:
    """An agent of the game with three pieces.

    hash0, hash7 and so on play by a hash of the board. fastest wins soonest and loses latest: its search is as deep as
    the longest game.
    """
    if name == "fastest":
        return lookahead(solution(size), zeros, 22)
    return hash_agent(game(size, 3), int(name.removeprefix("hash")))
