"""The agent of a policy that plays by tree search, such as `RUN(simulations=64)`.

The policy gives the search its logits and values. The search needs the extra `search`.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames.agents import Analysis, pytree
from jaxgames.env import Env
from jaxgames.mcts import MCTSAgent, SearchConfig, SearchResult
from jaxgames.mcts.agents import of_live_boards
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.evaluate import Policy, PolicyEvaluate
from jaxgames.wrappers import without_auto_reset


@pytree
@dataclass(frozen=True)
class SearchAgent:
    """Plays every seat by tree search; see `jaxgames.agents.Agent`.

    Without a temperature it plays the action that the search chooses. Otherwise it samples from the search's policy,
    in which the weight w of an action becomes w^(1 / temperature). The parameters and a temperature above 0 are leaves,
    as in `PolicyAgent`.
    """

    on_device: ClassVar[bool] = True
    params: Any
    env: Env[Any] = field(metadata={"static": True})
    policy: Policy = field(metadata={"static": True})
    config: SearchConfig = field(metadata={"static": True})
    temperature: Any = None
    """float32[]. A number is converted; 0 becomes None, which plays the action that the search chooses."""
    top: int | None = field(default=None, metadata={"static": True})
    """With a temperature: the number of actions of the largest weights that are sampled from; None for all."""

    def __post_init__(self) -> None:
        temperature = 0.0 if self.temperature is None else self.temperature
        of_network = PolicyAgent(self.params, self.env, self.policy, temperature, self.top)  # checks and converts
        object.__setattr__(self, "temperature", of_network.temperature)

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        """Returns actions int32[B]."""
        search_key, sample_key = jax.random.split(key)
        result = self._searching.search(search_key, states)
        if self.temperature is None:
            return result.action
        slot = jax.random.categorical(sample_key, self._logits(result))
        return jnp.take_along_axis(result.slots, slot[:, None], axis=1)[:, 0].astype(jnp.int32)

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the `policy_values` of the search.

        The search that it makes has a fixed key. The values are 0 on a finished board.
        """
        result = self._searching.search(jax.random.key(0), states)
        if self.temperature is None:
            of_slots = (result.slots == result.action[:, None]).astype(jnp.float32)
        else:
            of_slots = jax.nn.softmax(self._logits(result))
        probabilities = result.by_action(of_slots, self.env.num_actions)
        return of_live_boards(self.env, states, Analysis(probabilities, result.policy_values))

    @property
    def _searching(self) -> MCTSAgent:
        """The agent that searches, in parts where all trees at once would be too large."""
        evaluate = PolicyEvaluate(without_auto_reset(self.env)[0], self.policy)  # of boards that do not restart
        return MCTSAgent(self.env, evaluate, self.config, self.params)

    def _logits(self, result: SearchResult) -> jax.Array:
        """Returns float32[B, K], of the distribution over the slots that is sampled from."""
        weights = result.weights
        if self.top is not None and self.top < weights.shape[1]:
            _, best = jax.lax.top_k(weights, self.top)
            is_best = jnp.zeros(weights.shape, jnp.bool_).at[jnp.arange(weights.shape[0])[:, None], best].set(True)
            weights = jnp.where(is_best, weights, 0)
        return jnp.log(weights) / self.temperature
