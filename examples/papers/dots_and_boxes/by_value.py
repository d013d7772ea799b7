"""The agent `by_value(agent=OTHER)`: the move after which its seat is worth most by the values of another agent.

    python -m examples.papers.dots_and_boxes.agent --agent study --opponents \
        "examples.papers.dots_and_boxes.by_value:by_value(agent=baseline)"

It looks one ply ahead and does not ask for the other agent's policy, so its strength shows how good the values are.
With `safe_edges=True` it has the rule of the study's agent beside them: it draws a safe edge where there is one.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

import train.agents
from jaxgames import agents
from jaxgames._checks import ParameterError, check_choice
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from train.models.box_chains import sum_of_edges
from train.strength import has_values


@agents.pytree
@dataclass(frozen=True)
class ValueAgent:
    """Of moves with equal values, it plays the one with the lowest number."""

    on_device: ClassVar[bool] = True
    env: DotsAndBoxes = field(metadata={"static": True})
    agent: Agent
    name: str = field(metadata={"static": True})
    """The text of `agent`."""
    safe_edges: bool = field(default=False, metadata={"static": True})

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        legal = jax.vmap(self.env.legal_action_mask)(states)  # [B, num_actions]
        of_actions = jax.vmap(self.env.step, in_axes=(None, 0))
        after = jax.vmap(of_actions, in_axes=(0, None))(states, jnp.arange(self.env.num_actions))
        analysis = agents.analyse(
            self.agent, jax.tree.map(lambda leaf: leaf.reshape(legal.size, *leaf.shape[2:]), after)
        )
        assert analysis is not None
        assert analysis.values is not None
        future = analysis.values.reshape(*legal.shape, -1)  # [B, num_actions, num_players]
        is_over = after.terminated | after.truncated
        worth = after.rewards + jnp.where(is_over[..., None], 0, future)
        of_mover = jnp.take_along_axis(worth, states.current_player[:, None, None], axis=-1)[..., 0]
        if self.safe_edges:
            edges = after.edges.reshape(legal.size, -1, 1).astype(jnp.int32)
            gives = (sum_of_edges(edges, self.env.rows, self.env.cols) == 3).any((1, 2)).reshape(legal.shape)
            safe = legal & ~gives  # edges after which no box can be taken
            legal = jnp.where(safe.any(-1, keepdims=True), safe, legal)
        return jnp.where(legal, of_mover, -jnp.inf).argmax(-1).astype(jnp.int32)

    def __str__(self) -> str:
        rule = ", safe_edges=True" if self.safe_edges else ""
        return f"{__name__}:by_value(agent={self.name!r}, reward={self.env.reward}{rule})"


def by_value(env: Env[Any], agent: str, reward: str = "boxes", safe_edges: bool = False) -> Agent:
    """Returns the agent `by_value(agent=AGENT)`. Its values are of the reward that AGENT has learned.

    With `safe_edges` it plays a move after which no box can be taken, where there is one.

    Raises ParameterError (a ValueError) for another game, for an agent without values, and for an agent on the host.
    """
    if not isinstance(env, DotsAndBoxes):
        raise ParameterError(f"by_value plays dots_and_boxes, not {env}")
    board = dataclasses.replace(env, reward=reward)
    of_values = train.agents.make(agent, board)
    if not of_values.on_device:
        raise ParameterError(f"{agent} plays on the host; by_value takes an agent on the device, such as baseline")
    if not has_values(of_values, board):
        raise ParameterError(f"{agent} has no values; by_value takes an agent with values, such as baseline")
    check_choice("safe_edges", safe_edges, (False, True))
    return ValueAgent(board, of_values, agent, safe_edges)


agents.register("by_value", by_value)
