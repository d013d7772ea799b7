"""What the tests of every game do with a position: ask for its legal moves, play some, see whether it is over."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env

LIVE, TERMINATED, TRUNCATED = (False, False), (True, False), (False, True)  # what `is_over` says


@functools.cache
def compiled(env: Env[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """`step` and `legal_action_mask` of one board."""
    return jax.jit(lambda state, action: env.step(state, action)), jax.jit(env.legal_action_mask)


def legal(env: Env[Any], state: Any) -> set[str]:
    """The legal actions in notation."""
    _, mask = compiled(env)
    return {env.action_to_string(state, int(action)) for action in np.flatnonzero(mask(state))}


def play(env: Env[Any], state: Any, *texts: str) -> Any:
    """The state after legal actions in notation."""
    step, _ = compiled(env)
    for text in texts:
        assert text in legal(env, state)
        state = step(state, jnp.int32(env.action_from_string(state, text)))
    return state


def is_over(state: Any) -> tuple[bool, bool]:
    """Whether the rules ended the game, and whether a limit did."""
    return bool(state.terminated), bool(state.truncated)
