"""Agents whose play is known in advance, for tests of games between agents; and what any agent thinks of a board."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.agents import Agent, Analysis, analyse, pytree


@pytree
@dataclass(frozen=True)
class Taker:
    """Takes `sticks` of the game of sticks, or all that are left where these are fewer."""

    on_device: ClassVar[bool] = True
    sticks: Any  # int32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return jnp.minimum(self.sticks, jnp.maximum(states.left, 1)) - 1


@pytree
@dataclass(frozen=True)
class Preferring:
    """Plays the legal action that it prefers; of equal ones the first."""

    on_device: ClassVar[bool] = True
    env: Any = field(metadata={"static": True})
    preference: Any  # float32[num_actions]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        mask = jax.vmap(self.env.legal_action_mask)(states)
        return jnp.where(mask, self.preference, -jnp.inf).argmax(-1)


@dataclass(frozen=True)
class TakerOnHost:
    """Takes `sticks` of the game of sticks, or all that are left where these are fewer. It cannot be traced."""

    on_device: ClassVar[bool] = False
    sticks: float

    def act(self, key: jax.Array, states: Any) -> Any:
        return np.minimum(self.sticks, np.asarray(states.left)) - 1


@dataclass(frozen=True)
class OnHost:
    """Cannot be traced. It is only used where it must be refused."""

    on_device: ClassVar[bool] = False
    env: Any

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        raise AssertionError("this agent must be refused before it acts")


def _not_asked(key: jax.Array, states: Any) -> Any:
    raise AssertionError("this agent must not be asked for a move")


def _no_analysis(states: Any) -> None:
    return None


@dataclass(frozen=True)
class HostAgent:
    """An agent on the host, of two functions; without the second one it has no probabilities."""

    on_device: ClassVar[bool] = False
    act: Any = _not_asked  # (key, states) -> actions
    analyse: Any = _no_analysis  # (states) -> Analysis or None


def analysis_of(agent: Agent, states: Any) -> Analysis:
    """Returns `jaxgames.agents.analyse(agent, states)`, which must not be None."""
    analysis = analyse(agent, states)
    assert analysis is not None, f"{agent} has no probabilities"
    return analysis
