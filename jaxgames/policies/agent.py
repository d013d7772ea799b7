"""The agent of a policy with its parameters, such as the network of a training run or of a file (`exported`).

For the logits l of a position's legal actions, it plays an action a of the `top` most probable ones with probability

    exp(l(a) / temperature) / sum of exp(l(b) / temperature) over these actions b

With temperature 0 it is the most probable action; of equally probable actions, the first one. `with_search` returns the
agent that plays by a tree search, in which the policy gives logits and values. It needs the extra `search`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgames._checks import check_int, check_number
from jaxgames.agents import Analysis, pytree
from jaxgames.env import Env
from jaxgames.mcts import SearchAgent, SearchConfig
from jaxgames.mcts.agents import of_live_boards
from jaxgames.policies.policy import Policy, PolicyEvaluate, logits_and_values
from jaxgames.sampling import MASKED_LOGIT, sample_action, shifted_logits

MAX_TOP = 2**31 - 1


@pytree
@dataclass(frozen=True)
class PolicyAgent:
    """Plays every seat with one policy; see `jaxgames.agents.Agent`.

    The parameters and a temperature above 0 are leaves. So all runs of one network, at all temperatures above 0, share
    the compiled program of their games.
    """

    on_device: ClassVar[bool] = True
    params: Any
    env: Env[Any] = field(metadata={"static": True})
    policy: Policy = field(metadata={"static": True})
    temperature: Any = 1.0
    """float32[]: 1 samples from the policy, values between 0 and 1 make it more deterministic. A number that is not
    traced is converted; 0 becomes None, which plays the most probable action."""
    top: int | None = field(default=None, metadata={"static": True})
    """The number of most probable legal actions that are sampled from; None for all."""
    has_values: bool = field(default=True, metadata={"static": True})
    """Whether `analyse` returns the values of the policy, because it learned them in this game."""

    def __post_init__(self) -> None:
        temperature = self.temperature
        if temperature is not None and not isinstance(temperature, Tracer) and np.ndim(temperature) == 0:
            given = np.asarray(temperature).item()
            check_number("temperature", given, lowest=0)
            object.__setattr__(self, "temperature", np.float32(given) if np.float32(given) > 0 else None)
        if self.top is not None:
            check_int("top", self.top, 1, MAX_TOP, " or None")

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns actions int32[B]."""
        logits, mask, _ = self._choices(states)
        if self.temperature is None:
            return _best(logits, mask)
        weights = jnp.exp(shifted_logits(logits, mask))
        return jax.vmap(sample_action)(jax.random.split(key, weights.shape[0]), weights)

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the values that the policy gives to the seats, if any.

        They estimate the sum of a seat's rewards in the rest of the game, in the env's unit and discounted as in
        training. They are 0 on a finished board, and NaN where the policy does not know the value of a seat that is not
        to move; see `jaxgames.policies.policy`.
        """
        logits, mask, values = self._choices(states)
        if self.temperature is None:
            probabilities = mask & (np.arange(mask.shape[-1]) == _best(logits, mask)[:, None])
        else:
            probabilities = jnp.where(mask, jax.nn.softmax(jnp.where(mask, logits, MASKED_LOGIT)), 0)
        analysis = Analysis(probabilities.astype(jnp.float32), values if self.has_values else None)
        return of_live_boards(states, analysis)

    @property
    def evaluate(self) -> PolicyEvaluate:
        """The evaluation of boards that do not restart for `jaxgames.mcts`, with the parameters `params`."""
        return PolicyEvaluate(self.env.unwrapped, self.policy)

    def _choices(self, states: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Returns logits divided by the temperature and the actions to choose from, [B, num_actions]; and values."""
        logits, values = logits_and_values(self.env, self.policy, self.params, states)
        mask = jax.vmap(self.env.legal_action_mask)(states)
        logits = shifted_logits(logits, mask)
        if self.top is not None and self.top < mask.shape[-1]:
            mask = mask & _is_among_best(logits, mask, self.top)
        return (logits if self.temperature is None else logits / self.temperature), mask, values  # the best one stays 0

    def with_search(self, config: SearchConfig) -> SearchAgent:
        """Returns the agent that plays by a tree search on this policy, with the same temperature and `top`."""
        how = (self.temperature, self.top, self.has_values, str(self))
        return SearchAgent(self.env, self.evaluate, config, self.params, *how)

    def __str__(self) -> str:
        """Returns the text that `jaxgames.agents.make` takes, if the policy is of a file."""
        return str(self.policy)


def temperature_of(temperature: float | None, default: float, top: int | None) -> float:
    """Returns the temperature of an agent: the given one, else the default.

    With `top`, an agent draws among several actions. So 1 takes the place of a default of 0, which never draws.
    """
    if temperature is not None:
        return temperature
    return 1.0 if top is not None and default == 0 else default


def _best(logits: jax.Array, mask: jax.Array) -> jax.Array:
    """Returns int32[B], the most probable action; of equal ones the first."""
    return jnp.where(mask, logits, -jnp.inf).argmax(-1)


def _is_among_best(logits: jax.Array, mask: jax.Array, number: int) -> jax.Array:
    """Returns bool[B, num_actions]: the `number` most probable legal actions; of equal ones the first."""
    logits = jnp.where(mask, logits, -jnp.inf)
    best, actions = jax.lax.top_k(logits, number)  # of equal ones the first, in descending order
    last, last_action = best[:, -1:], actions[:, -1:]
    return (logits > last) | ((logits == last) & (np.arange(mask.shape[-1]) <= last_action))
