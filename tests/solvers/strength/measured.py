"""Solved diamonds, and agents whose moves are known, for the tests of the measures."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames import solvers
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.solvers.strength.policy_table import BATCH
from tests.helpers.hash_agent import hash_agent
from tests.helpers.solved import solved_diamond
from train.strength import lookahead

Act = Callable[[Any], Any]


def solution(size: int) -> solvers.Solution[Any]:
    """The solution of the game with three pieces."""
    return solved_diamond(size, 3)


def zeros(states: Any) -> jax.Array:
    """The value 0 for every board."""
    return jnp.zeros(BATCH)


@functools.cache
def agent(name: str, size: int) -> Act:
    """An agent of the game with three pieces.

    hash0, hash7 and so on play by a hash of the board. fastest wins soonest and loses latest: its search is as deep as
    the longest game.
    """
    if name == "fastest":
        return lookahead(solution(size), zeros, 22)
    return hash_agent(ChineseCheckersDiamond(size, 3), int(name.removeprefix("hash")))
