"""The rules by which a search selects a slot: Gumbel and PUCT, as mctx has them.

mctx's functions read a tree. Each of them sees a node of ours as a tree of one node, in which the value of a child is
already the return by the criterion of the seat that moves. So its rewards are 0 and its discounts 1.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from jaxgames.mcts.config import SearchConfig
from jaxgames.mcts.tree import PADDING, Slots

# chex's dataclasses and array types are not those of JAX to a type checker.
_Tree: Any = mctx.Tree
_GumbelData: Any = mctx.GumbelMuZeroExtraData
_select_gumbel_root: Any = mctx.gumbel_muzero_root_action_selection
_select_gumbel_below: Any = mctx.gumbel_muzero_interior_action_selection
_select_puct: Any = mctx.muzero_action_selection


@dataclass(frozen=True)
class Gumbel:
    """Sequential halving with Gumbel noise at the root, and the deterministic rule of the same paper below it.

    Source: Danihelka et al., Policy improvement by planning with Gumbel, ICLR 2022.
    """

    config: SearchConfig

    def at_root(self, slots: Slots, gumbel: jax.Array) -> jax.Array:
        """Returns int32[B], the slot to visit; `gumbel` is the noise, float32[B, K]."""
        rule = functools.partial(
            _select_gumbel_root,
            None,
            num_simulations=self.config.simulations,
            max_num_considered_actions=min(self.config.max_considered, slots.visits.shape[-1]),
            qtransform=self._transform,
        )
        return jax.vmap(lambda row, noise: rule(_as_tree(row, noise), 0))(slots, gumbel)

    def below(self, slots: Slots) -> jax.Array:
        """Returns int32[B], the slot to visit."""
        rule = functools.partial(_select_gumbel_below, None, qtransform=self._transform)
        return jax.vmap(lambda row: rule(_as_tree(row), 0, 0))(slots)

    def decide(self, slots: Slots, gumbel: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the root's best slot, int32[B], and its improved policy, float32[B, K]."""
        values = jax.vmap(lambda row: self._transform(_as_tree(row), 0))(slots)
        improved = slots.logits + values
        most_visited = slots.visits == slots.visits.max(-1, keepdims=True)
        best = jnp.where(most_visited & (slots.actions != PADDING), gumbel + improved, -jnp.inf).argmax(-1)
        return best.astype(jnp.int32), jax.nn.softmax(improved)

    @property
    def _transform(self) -> Any:
        return functools.partial(
            mctx.qtransform_completed_by_mix_value,
            value_scale=self.config.value_scale,
            maxvisit_init=self.config.maxvisit_init,
            epsilon=self.config.value_epsilon,
        )


@dataclass(frozen=True)
class Puct:
    """Visits in proportion to the prior probabilities, and to the values so far.

    Source: Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go, 2018.
    """

    config: SearchConfig

    def at_root(self, slots: Slots, gumbel: jax.Array) -> jax.Array:
        """Returns int32[B], the slot to visit."""
        return self.below(slots)

    def below(self, slots: Slots) -> jax.Array:
        """Returns int32[B], the slot to visit."""
        rule = functools.partial(
            _select_puct,
            jax.random.key(0),  # of noise that breaks ties: the same for equal boards
            pb_c_init=self.config.pb_c_init,
            pb_c_base=self.config.pb_c_base,
            qtransform=functools.partial(mctx.qtransform_by_parent_and_siblings, epsilon=self.config.value_epsilon),
        )
        # With the depth of a root, mctx masks padding.
        return jax.vmap(lambda row: rule(_as_tree(row), 0, 0))(slots)

    def decide(self, slots: Slots, gumbel: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Returns the most visited slot, int32[B], and the shares of the visits, float32[B, K].

        Of equally visited slots it is that with the lowest action.
        """
        most_visited = slots.visits == slots.visits.max(-1, keepdims=True)
        order = jnp.where(most_visited & (slots.actions != PADDING), slots.actions, jnp.iinfo(jnp.int32).max)
        shares = slots.visits / jnp.maximum(slots.visits.sum(-1, keepdims=True), 1)
        return order.argmin(-1).astype(jnp.int32), shares.astype(jnp.float32)


def _as_tree(row: Slots, gumbel: jax.Array | None = None) -> Any:
    """Returns a tree of mctx with one node: the slots of one board, arrays [K]."""
    visits = row.visits.sum()
    value = (row.raw_value + (row.visits * row.values).sum()) / (visits + 1)
    return _Tree(
        node_visits=(visits + 1)[None],
        raw_values=row.raw_value[None],
        node_values=value[None],
        parents=None,
        action_from_parent=None,
        children_index=row.visits[None],  # read for its shape only
        children_prior_logits=row.logits[None],
        children_visits=row.visits[None],
        children_rewards=jnp.zeros_like(row.values)[None],
        children_discounts=jnp.ones_like(row.values)[None],
        children_values=row.values[None],
        embeddings=None,
        root_invalid_actions=row.actions == PADDING,
        extra_data=None if gumbel is None else _GumbelData(root_gumbel=gumbel),
    )
