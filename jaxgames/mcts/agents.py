"""Agents that search: `SearchAgent` with a policy or any other function, `MCTSAgent` with rollouts.

A batch whose trees would take more than `MAX_TREE_BYTES` is searched in parts, one after the other.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, Analysis, pytree
from jaxgames.env import Env
from jaxgames.mcts.config import Evaluate, SearchConfig
from jaxgames.mcts.rollouts import UctConfig, uct_search
from jaxgames.mcts.search import SearchResult, bytes_per_node, search
from jaxgames.wrappers import live_boards

MAX_TREE_BYTES = 2**30  # of the trees of all boards that are searched at once


@pytree
@dataclass(frozen=True)
class SearchAgent:
    """Plays by a tree search with a function that gives logits and values, such as a policy.

    With a temperature it draws an action in proportion to w^(1 / temperature), where w is its improved probability in
    the search. Without one it plays the action that the search chooses.
    """

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})
    evaluate: Evaluate = field(metadata={"static": True})
    config: SearchConfig = field(metadata={"static": True})
    params: Any  # a pytree for `evaluate`
    temperature: Any = None  # float32[] above 0, or None
    top: int | None = field(default=None, metadata={"static": True})  # the most probable actions that it draws from
    has_values: bool = field(default=True, metadata={"static": True})  # whether `analyse` returns values
    text: str = field(default="search", metadata={"static": True})  # the agent's name, as in tables of results

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        search_key, draw_key = jax.random.split(key)
        result = self.search(search_key, states)
        if self.temperature is None:
            return result.action
        slot = jax.random.categorical(draw_key, self._logits(result))
        return jnp.take_along_axis(result.slots, slot[:, None], axis=1)[:, 0].astype(jnp.int32)

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the `policy_values` of a search with one fixed key."""
        result = self.search(jax.random.key(0), states)
        if self.temperature is None:
            of_slots = (result.slots == result.action[:, None]).astype(jnp.float32)
        else:
            of_slots = jax.nn.softmax(self._logits(result))
        probabilities = result.by_action(of_slots, self.env.num_actions)
        analysis = Analysis(probabilities, result.policy_values if self.has_values else None)
        return of_live_boards(states, analysis)

    def search(self, key: jax.Array, states: Any) -> SearchResult:
        """Returns the result of `jaxgames.mcts.search` on every board of a batch."""

        def search_part(key: jax.Array, states: Any) -> SearchResult:
            return search(self.env, self.evaluate, self.config, key, self.params, states)

        return _in_parts(search_part, self.config.simulations * bytes_per_node(self.env, self.config), key, states)

    def _logits(self, result: SearchResult) -> jax.Array:
        """Returns float32[B, K], of the distribution over the slots that it draws from."""
        weights = result.weights
        if self.top is not None and self.top < weights.shape[1]:
            _, best = jax.lax.top_k(weights, self.top)
            is_best = jnp.zeros(weights.shape, jnp.bool_).at[jnp.arange(weights.shape[0])[:, None], best].set(True)
            weights = jnp.where(is_best, weights, 0)
        return jnp.log(weights) / self.temperature

    def __str__(self) -> str:
        return self.text


@pytree
@dataclass(frozen=True)
class MCTSAgent:
    """Plays the most visited action of UCT, a tree search that values boards by rollouts: `mcts(simulations=1000)`."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})
    config: UctConfig = field(metadata={"static": True})
    playout: Agent  # plays all seats of the rollouts

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return self.search(key, states).action

    def analyse(self, states: Any) -> Analysis:
        """Returns the shares of the simulations as probabilities, and the mean returns. Its key is a fixed one."""
        result = self.search(jax.random.key(0), states)
        shares = result.visits / jnp.maximum(result.visits.sum(-1, keepdims=True), 1)
        probabilities = result.by_action(shares, self.env.num_actions)
        return of_live_boards(states, Analysis(probabilities, result.values))

    def search(self, key: jax.Array, states: Any) -> SearchResult:
        """Returns the result of `jaxgames.mcts.rollouts.uct_search` on every board of a batch."""

        def search_part(key: jax.Array, states: Any) -> SearchResult:
            return uct_search(self.env, self.playout, self.config, key, states)

        return _in_parts(search_part, self.config.simulations * bytes_per_node(self.env, self.config), key, states)

    def __str__(self) -> str:
        changed = [
            f"{name}={getattr(self.config, name)!r}"
            for name, default in vars(UctConfig()).items()
            if name == "simulations" or getattr(self.config, name) != default
        ]
        playout = [] if str(self.playout) == "random" else [f"playout={str(self.playout)!r}"]
        return f"mcts({', '.join(changed + playout)})"


def mcts(
    env: Env[Any],
    simulations: int = 1000,
    rollouts: int = 1,
    max_rollout_steps: int = 1000,
    playout: str = "random",
    uct_c: float = 2**0.5,
    slots: int | None = None,
    seats: str = "max_n",
) -> Agent:
    """Returns UCT as an agent; the arguments after `env` are those of `UctConfig`.

    Args:
      playout: the agent that plays all seats of the rollouts, for `jaxgames.agents.make`; it must be on the device.
    """
    config = UctConfig(simulations, rollouts, max_rollout_steps, uct_c, slots, seats)
    if env.needs_key:
        raise ParameterError(f"mcts needs a game without chance, and {env.id} has random events")
    refusal = f"playout must be an agent on the device, such as random or greedy, not {playout!r}"
    player = agents.make_on_device(playout, lambda: agents.make(playout, env.unwrapped), refusal)
    return MCTSAgent(env, config, player)


def of_live_boards(states: Any, analysis: Analysis) -> Analysis:
    """Returns the analysis of a batch of boards, with probabilities and values of 0 on finished ones."""
    boards = live_boards(states)
    over = (boards.terminated | boards.truncated)[:, None]
    return jax.tree.map(lambda leaf: jnp.where(over, 0, leaf), analysis)


def _in_parts(search_part: Callable[[jax.Array, Any], Any], bytes_per_board: int, key: jax.Array, states: Any) -> Any:
    """Returns `search_part(key, states)`, where a large batch is searched in equal parts, each with its own key.

    The last part is filled up with copies of the first board.
    """
    batch = jax.tree.leaves(states)[0].shape[0]
    num_parts = max(1, -(-batch * bytes_per_board // MAX_TREE_BYTES))
    if num_parts == 1:
        return search_part(key, states)
    size = -(-batch // num_parts)
    num_parts = -(-batch // size)

    def split(leaf: jax.Array) -> jax.Array:
        filled = jnp.concatenate([leaf, jnp.repeat(leaf[:1], num_parts * size - batch, 0)])
        return filled.reshape(num_parts, size, *leaf.shape[1:])

    keys = jax.random.split(key, num_parts)
    results = jax.lax.map(lambda part: search_part(*part), (keys, jax.tree.map(split, states)))
    return jax.tree.map(lambda leaf: leaf.reshape(num_parts * size, *leaf.shape[2:])[:batch], results)
