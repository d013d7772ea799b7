"""Agents: players that choose an action for every board of a batch.

    agent = jaxgames.agents.make("random", env)
    actions = agent.act(key, states)                # int32[B], for states with a leading axis of B boards

An agent is a pytree: its arrays (for example, the parameters of a network) are leaves, and everything else is static.
So it can be an argument of a function under `jax.jit`. Two agents that differ only in their arrays share one compiled
program. With `jax.tree_util.register_dataclass`, mark each static field:

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class PreferringAgent:
        on_device: ClassVar[bool] = True
        env: Env[Any] = field(metadata={"static": True})
        preference: jax.Array  # float32[num_actions]

        def act(self, key: jax.Array, states: Any) -> jax.Array:
            mask = jax.vmap(self.env.legal_action_mask)(states)
            return jnp.where(mask, self.preference, -jnp.inf).argmax(-1)
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import jax

from jaxgames._names import Registry
from jaxgames.env import Env
from jaxgames.sampling import random_action


class Agent(Protocol):
    """A player that can play any seat of one game."""

    on_device: ClassVar[bool]  # whether `act` can be traced; if not, it is called outside of `jit`

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns the mover's action on every board.

        Args:
          key: PRNG key; a deterministic agent ignores it.
          states: boards with a leading axis of B. Some can be finished; their actions are not used.

        Returns:
          int32[B], legal on every live board.
        """
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RandomAgent:
    """Plays uniformly random legal actions."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        mask = jax.vmap(self.env.legal_action_mask)(states)
        return jax.vmap(random_action)(jax.random.split(key, mask.shape[0]), mask)


_agents: Registry[Agent] = Registry(
    "agent",
    {"random": RandomAgent},
    examples="'random' or 'mypackage.mymodule:myagent(depth=2)'",
    register="jaxgames.agents.register",
    num_arguments=1,
)


def list_agents() -> list[str]:
    """Returns the names that `make` takes, in alphabetical order."""
    return _agents.names()


def register(name: str, constructor: Callable[..., Agent]) -> None:
    """Adds an agent, so that `make("name(parameter=value)", env)` returns `constructor(env, parameter=value)`.

    Raises ValueError if the name is taken or is not a Python identifier, TypeError if the constructor cannot be called.
    """
    _agents.register(name, constructor)


def make(text: str, env: Env[Any]) -> Agent:
    """Returns the agent that `text` names, as a player of `env`.

    Args:
      text: a name from `list_agents()`, with or without parameters in brackets. With a module and a colon in front,
        `"mypackage.mymodule:myagent(depth=2)"`, the module is imported first, which must call
        `register("myagent", ...)`.

    Raises ParameterError (a ValueError) for any other text; the message lists what is allowed.
    """
    return _agents.make(text, env)
