"""Counters of length, which a search sets back before it begins.

A limit on plies or rounds is no rule of the game. A search with this counter would give the same position another
action later in the game. So a search begins with the counters at their start.

Counters that are rules stay: plies without a capture, and how often a position occurred.

A user's own game sets its counters back by

    @jaxgames.mcts.without_length.register
    def _(env: MyGame, state: MyState) -> MyState: ...
"""

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.games.checkers import Checkers, CheckersState
from jaxgames.games.chinese_checkers import ChineseCheckers, ChineseCheckersState
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.games.minichess import Minichess, MinichessState
from jaxgames.wrappers import Wrapper


@functools.singledispatch
def without_length(env: Env[Any], state: Any) -> Any:
    """Returns the board with the counters of its limits of length at their start; `state` itself for other games.

    It is a `functools.singledispatch` on the class of the env. `without_length.register` adds a game.
    """
    return state


@without_length.register
def _(env: ChineseCheckersDiamond, state: ChineseCheckersDiamondState) -> ChineseCheckersDiamondState:
    return dataclasses.replace(state, ply=jnp.zeros_like(state.ply))


@without_length.register
def _(env: ChineseCheckers, state: ChineseCheckersState) -> ChineseCheckersState:
    return dataclasses.replace(state, round=jnp.zeros_like(state.round))


@without_length.register
def _(env: Checkers, state: CheckersState) -> CheckersState:
    return dataclasses.replace(state, ply=jnp.zeros_like(state.ply))


@without_length.register
def _(env: Minichess, state: MinichessState) -> MinichessState:
    return dataclasses.replace(state, ply=state.ply % 2)  # its parity is the seat to move


@without_length.register(Wrapper)
def _(env: Wrapper[Any, Any], state: Any) -> Any:
    return without_length(env.unwrapped, state) if isinstance(state, env.unwrapped.state_type) else state
