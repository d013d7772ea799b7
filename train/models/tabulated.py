"""The outputs of a policy in all positions of a small game: computed once, and then looked up.

    table = tabulate(env, policy, params)
    logits, values = TabulatedPolicy(env).apply(table, observation, seat)   # as policy.apply(params, observation, seat)

Searches come to the same positions again and again: with 256 simulations per move, 800 games on the diamond of 4 x 4
cells and three pieces evaluate five million boards, and there are 160,160 positions.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames.agents import Agent
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.policies import agent as policies
from jaxgames.policies.search_agent import SearchAgent
from jaxgames.solvers.chinese_checkers_diamond.moves import num_positions
from jaxgames.solvers.chinese_checkers_diamond.solution import index_of_observations, states_of_indices
from train.models.policy import Policy

MAX_LOGITS = 2**26  # of all positions, 256 MiB
CHUNK = 4096  # positions that are evaluated at once

Table = tuple[jax.Array, jax.Array]  # float32[P, num_actions] logits and float32[P] values of P or more positions


@dataclass(frozen=True)
class TabulatedPolicy:
    """Looks up the outputs of a policy; see `jaxgames.policies.agent.Policy`. Its parameters are a `Table`.

    The observations are bool[B, size, size, 2].
    """

    env: ChineseCheckersDiamond

    def apply(self, params: Table, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        index = index_of_observations(self.env, observation)
        logits, values = params
        return logits[index], values[index]


def table_pays(env: Env[Any], policy: Any, evaluations: int) -> TypeGuard[ChineseCheckersDiamond]:
    """Returns whether a table is possible, not too large, and has fewer positions than there are `evaluations`."""
    if not isinstance(env, ChineseCheckersDiamond) or not isinstance(policy, Policy) or policy.sharing != "shared":
        return False
    positions = num_positions(env)
    return positions < evaluations and positions * env.num_actions <= MAX_LOGITS


@functools.partial(jax.jit, static_argnums=(0, 1))
def tabulate(env: ChineseCheckersDiamond, policy: policies.Policy, params: Any) -> Table:
    """Returns the outputs of a policy with shared parameters in all positions, those that no game reaches too.

    Behind them the last position is repeated, up to whole chunks.
    """
    positions = num_positions(env)
    chunk = min(CHUNK, positions)
    chunks = -(-positions // chunk)
    indices = jnp.minimum(jnp.arange(chunks * chunk, dtype=jnp.uint32), positions - 1)

    def outputs(indices: jax.Array) -> Table:
        states = states_of_indices(env, indices)
        return policy.apply(params, jax.vmap(env.observe)(states), states.current_player)

    of_chunks = jax.lax.map(outputs, indices.reshape(chunks, chunk))
    logits, values = (outputs.reshape(chunks * chunk, *outputs.shape[2:]) for outputs in of_chunks)
    return logits, values


def table_or_network(
    env: Env[Any], policy: policies.Policy, params: Any, evaluations: int
) -> tuple[policies.Policy, Any]:
    """Returns the policy and its parameters, or a table of its outputs where that takes fewer than `evaluations`."""
    if table_pays(env, policy, evaluations):
        return TabulatedPolicy(env), tabulate(env, policy, params)
    return policy, params


def with_table(agent: Agent, boards: int) -> Agent:
    """Returns an agent that searches on `boards` boards, with a table in place of its network.

    It returns the agent itself where a table does not pay, and one that does not search.
    """
    if not isinstance(agent, SearchAgent):
        return agent
    policy, params = table_or_network(agent.env, agent.policy, agent.params, boards * agent.config.simulations)
    return agent if policy is agent.policy else dataclasses.replace(agent, policy=policy, params=params)
