"""The Gumbel search without a tree: two calls of the network for all roots.

    first call     the boards after R actions of the root, those that the Gumbel search would try
    second call    the boards after the better ones of them and the reply of the highest logit

The second call has a third of the simulations, and at most R; the first call has the others, and at most one per slot.
With R actions and 3R/2 simulations, sequential halving makes the same visits, and looks at the returns after each; here
it looks once.

Source of the rule: Danihelka et al., Policy improvement by planning with Gumbel, ICLR 2022.
"""

from typing import Any

import jax
import jax.numpy as jnp

from jaxgames.mcts.expansion import Expand, criterion_of, step_legally
from jaxgames.mcts.selection import Gumbel
from jaxgames.mcts.tree import PADDING, Expansion, Slots
from jaxgames.wrappers import discount_of


def search_in_two_calls(
    expand: Expand, rule: Gumbel, root: Expansion, key: jax.Array
) -> tuple[Slots, jax.Array, jax.Array]:
    """Returns the slots of the roots with their visits, and mean returns of every seat.

    They are float32[B, num_players] of the roots, and float32[B, K, num_players] after the slots.
    """
    config = rule.config
    (batch, num_slots), num_players = root.actions.shape, root.values.shape[1]
    num_again = config.simulations // 3
    num_tried = min(config.simulations - num_again, num_slots)
    num_again = min(num_again, num_tried)
    rows, mover = jnp.arange(batch)[:, None], root.states.current_player
    # For boards that are not the roots: nothing reads it here.
    expand = expand._replace(criterion=criterion_of("max_n", mover))
    can_visit = (root.actions != PADDING) & ~(root.states.terminated | root.states.truncated)[:, None]

    def expanded(states: Any, actions: jax.Array) -> Expansion:
        return expand(step_legally(expand.env, states, jnp.maximum(actions, 0)), key)

    def returns(mover: jax.Array, states: Any, values: jax.Array) -> jax.Array:
        """Returns float32[N, num_players], of the step of each mover to the boards `states`, which have the values."""
        discount = discount_of(mover, states.current_player, states.terminated, config.gamma)
        return states.rewards + discount[:, None] * values

    def visit(visits: jax.Array, total: jax.Array, chosen: jax.Array, new: jax.Array) -> tuple[Slots, jax.Array]:
        """Returns the slots after a visit of the chosen ones, int32[B, n], and the sums of their returns."""
        visits = jnp.where(can_visit, visits.at[rows, chosen].add(1), 0)
        total = total.at[rows, chosen].add(new.reshape(batch, -1, num_players))
        total = jnp.where(visits[..., None] > 0, total, 0.0)
        of_mover = jnp.take_along_axis(total, mover[:, None, None], 2)[..., 0]
        means = of_mover / jnp.maximum(visits, 1)
        return Slots(root.actions, root.logits, visits, means, root.raw_value), total

    scores = jnp.where(can_visit, rule.gumbel + root.logits, -jnp.inf)
    tried = jax.lax.top_k(scores, num_tried)[1]
    movers = jnp.repeat(mover, num_tried)
    boards = jax.tree.map(lambda leaf: jnp.repeat(leaf, num_tried, 0), root.states)
    children = expanded(boards, root.actions[rows, tried].reshape(-1))
    no_visits, no_returns = jnp.zeros((batch, num_slots), jnp.int32), jnp.zeros((batch, num_slots, num_players))
    slots, total = visit(no_visits, no_returns, tried, returns(movers, children.states, children.values))
    if num_again:
        scores = jnp.where(slots.visits > 0, rule.gumbel + rule.improved_logits(slots), -jnp.inf)
        better = jax.lax.top_k(scores[rows, tried], num_again)[1]
        place = (rows * num_tried + better).reshape(-1)
        child = jax.tree.map(lambda leaf: leaf[place], children)
        reply = expanded(child.states, child.actions[:, 0])
        below = returns(child.states.current_player, reply.states, reply.values)
        over = (child.states.terminated | child.states.truncated)[:, None]
        below = jnp.where(over, child.values, below)
        slots, total = visit(slots.visits, total, tried[rows, better], returns(movers[place], child.states, below))
    visits = slots.visits[..., None]
    return slots, (root.values + total.sum(1)) / (1 + visits.sum(1)), total / jnp.maximum(visits, 1)
