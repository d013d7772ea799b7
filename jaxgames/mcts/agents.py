"""Agents that search."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames.agents import Analysis
from jaxgames.env import Env
from jaxgames.mcts.config import Evaluate, SearchConfig
from jaxgames.mcts.search import SearchResult, search


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MCTSAgent:
    """Plays the best action of a tree search with a function that gives logits and values."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})
    evaluate: Evaluate = field(metadata={"static": True})
    config: SearchConfig = field(metadata={"static": True})
    params: Any  # a pytree for `evaluate`

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return self._search(key, states).action

    def analyse(self, states: Any) -> Analysis:
        """Returns the improved policy of a search without noise, and its values."""
        result = self._search(jax.random.key(0), states)
        probabilities = jnp.zeros((result.action.shape[0], self.env.num_actions))
        boards = jnp.arange(result.action.shape[0])[:, None]
        return Analysis(probabilities.at[boards, result.slots].add(result.weights, mode="drop"), result.values)

    def _search(self, key: jax.Array, states: Any) -> SearchResult:
        return search(self.env, self.evaluate, self.config, key, self.params, states)
