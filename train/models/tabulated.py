"""The outputs of a policy in all positions of a small game, as a search needs them: computed once, and then looked up.

    table = tabulate(env, policy, params, slots)
    logits, values = TabulatedPolicy(env).apply(table, observation, seat)   # as policy.apply(params, observation, seat)

With 256 simulations per move, 800 games on the diamond of 4 x 4 cells and three pieces evaluate five million boards,
and there are 160,160 positions. A search tries no more actions of a position than its nodes have slots, the ones with
the highest logits, so the table has only these.
"""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames.agents import Agent
from jaxgames.games.chinese_checkers_diamond import ChineseCheckersDiamond
from jaxgames.games.chinese_checkers_diamond.positions import num_positions
from jaxgames.games.chinese_checkers_diamond.solution import index_of_observations, states_of_indices
from jaxgames.mcts import SearchAgent, SearchConfig
from jaxgames.policies import policy as policies
from jaxgames.sampling import MASKED_LOGIT
from train.models.policy import Policy

MAX_BYTES = 2**29  # of a table
CHUNK = 4096  # positions that are evaluated at once


class Table(NamedTuple):
    """The outputs of a policy in P or more positions."""

    actions: jax.Array  # int16[P, slots], the legal actions of the highest logits, then illegal ones
    logits: jax.Array  # float32[P, slots]; MASKED_LOGIT of illegal actions
    values: jax.Array  # float32[P]


@dataclass(frozen=True)
class TabulatedPolicy:
    """Looks up the outputs of a policy; see `jaxgames.policies.policy.Policy`. Its parameters are a `Table`.

    The observations are bool[B, size, size, 2]. Actions that are not in the table have `MASKED_LOGIT`.
    """

    env: ChineseCheckersDiamond

    def apply(self, params: Table, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        index = index_of_observations(self.env, observation)
        of_boards = Table(*(leaf[index] for leaf in params))
        masked = jnp.full((len(index), self.env.num_actions), MASKED_LOGIT, jnp.float32)
        rows = jnp.arange(len(index))[:, None]
        return masked.at[rows, of_boards.actions].set(of_boards.logits), of_boards.values


def table_pays(env: Env[Any], policy: Any, evaluations: int, slots: int) -> TypeGuard[ChineseCheckersDiamond]:
    """Returns whether a table is possible, not too large, and has fewer positions than there are `evaluations`."""
    if not isinstance(env, ChineseCheckersDiamond) or not isinstance(policy, Policy) or policy.sharing != "shared":
        return False
    positions = num_positions(env)
    of_position = slots * (2 + 4) + 4  # bytes: an int16 and a float32 per slot, and the value
    return positions < evaluations and positions * of_position <= MAX_BYTES


@functools.partial(jax.jit, static_argnums=(0, 1, 3))
def tabulate(env: ChineseCheckersDiamond, policy: policies.Policy, params: Any, slots: int) -> Table:
    """Returns the outputs of a policy with shared parameters in all positions, those that no game reaches too.

    Behind them the last position is repeated, up to whole chunks. `slots` is the number of actions of a position.
    """
    positions = num_positions(env)
    chunk = min(CHUNK, positions)
    chunks = -(-positions // chunk)
    indices = jnp.minimum(jnp.arange(chunks * chunk, dtype=jnp.uint32), positions - 1)

    def outputs(indices: jax.Array) -> Table:
        states = states_of_indices(env, indices)
        logits, values = policy.apply(params, jax.vmap(env.observe)(states), states.current_player)
        mask = jax.vmap(env.legal_action_mask)(states)
        logits, actions = jax.lax.top_k(jnp.where(mask, logits, MASKED_LOGIT), slots)
        return Table(actions.astype(jnp.int16), logits, values)

    of_chunks = jax.lax.map(outputs, indices.reshape(chunks, chunk))
    return Table(*(leaf.reshape(chunks * chunk, *leaf.shape[2:]) for leaf in of_chunks))


def table_or_network(
    env: Env[Any], policy: policies.Policy, params: Any, evaluations: int, config: SearchConfig
) -> tuple[policies.Policy, Any]:
    """Returns the policy and its parameters, or a table for a search where that takes fewer than `evaluations`."""
    slots = config.num_slots(env.num_actions)
    if table_pays(env, policy, evaluations, slots):
        return TabulatedPolicy(env), tabulate(env, policy, params, slots)
    return policy, params


def with_table(agent: Agent, boards: int) -> Agent:
    """Returns an agent that searches on `boards` boards, with a table in place of its network.

    It returns the agent itself where a table does not pay, and where the agent does not search.
    """
    if not isinstance(agent, SearchAgent) or not isinstance(agent.evaluate, policies.PolicyEvaluate):
        return agent
    of_network, evaluations = agent.evaluate, boards * agent.config.simulations
    policy, params = table_or_network(agent.env, of_network.policy, agent.params, evaluations, agent.config)
    if policy is of_network.policy:
        return agent
    return dataclasses.replace(agent, evaluate=dataclasses.replace(of_network, policy=policy), params=params)
