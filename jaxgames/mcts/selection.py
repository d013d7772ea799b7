"""The rules by which a search selects a slot: Gumbel and PUCT, as mctx has them, and UCT.

mctx's functions read a tree. Each of them gets a node of ours as a tree of one node. The value of a child in it
is the return by the criterion of the seat that moves. So its rewards are 0 and its discounts 1.
"""

import abc
import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.mcts.config import SearchConfig
from jaxgames.mcts.tree import PADDING, Slots


class Rule(abc.ABC):
    """The rule by which a search selects slots: the same at the root and below it, unless a rule says otherwise."""

    def at_root(self, slots: Slots) -> jax.Array:
        """Returns int32[B], the slot of the root to visit."""
        return self.below(slots)

    @abc.abstractmethod
    def below(self, slots: Slots) -> jax.Array:
        """Returns int32[B], the slot of another node to visit."""

    def decide(self, slots: Slots) -> tuple[jax.Array, jax.Array]:
        """Returns the best slot of the root, int32[B], and the improved policy, float32[B, K]; padding is not used.

        They are the most visited slot, of equal ones that with the lowest action, and the shares of the visits.
        """
        actions = jnp.where(_most_visited(slots), slots.actions, np.iinfo(np.int32).max)
        shares = slots.visits / jnp.maximum(slots.visits.sum(-1, keepdims=True), 1)
        return actions.argmin(-1).astype(jnp.int32), shares.astype(jnp.float32)


def rule_of(config: SearchConfig, gumbel: jax.Array) -> Rule:
    """Returns the rule of a config; `gumbel` is noise at the root, float32[B, K]."""
    return Puct(config) if config.search == "puct" else Gumbel(config, gumbel)


@dataclass(frozen=True)
class Gumbel(Rule):
    """Sequential halving with Gumbel noise at the root, and the deterministic rule of the same paper below it.

    Source: Danihelka et al., Policy improvement by planning with Gumbel, ICLR 2022.
    """

    config: SearchConfig
    gumbel: jax.Array  # float32[B, K], noise at the root

    def at_root(self, slots: Slots) -> jax.Array:
        rule = functools.partial(
            _mctx().gumbel_muzero_root_action_selection,
            None,
            num_simulations=self.config.simulations,
            max_num_considered_actions=min(self.config.max_considered, slots.visits.shape[-1]),
            qtransform=self._transform,
        )
        return jax.vmap(lambda row, noise: rule(_as_tree(row, noise), 0))(slots, self.gumbel)

    def below(self, slots: Slots) -> jax.Array:
        rule = functools.partial(
            _mctx().gumbel_muzero_interior_action_selection, None, depth=None, qtransform=self._transform
        )
        return jax.vmap(lambda row: rule(_as_tree(row), 0))(slots)

    def decide(self, slots: Slots) -> tuple[jax.Array, jax.Array]:
        """Returns the best of the most visited slots, and the softmax of logits and completed values."""
        improved = self.improved_logits(slots)
        best = jnp.where(_most_visited(slots), self.gumbel + improved, -jnp.inf).argmax(-1)
        return best.astype(jnp.int32), jax.nn.softmax(improved)

    def improved_logits(self, slots: Slots) -> jax.Array:
        """Returns float32[B, K], the sums of logits and completed values."""
        return slots.logits + jax.vmap(lambda row: self._transform(_as_tree(row), 0))(slots)

    @property
    def _transform(self) -> Any:
        return functools.partial(
            _mctx().qtransform_completed_by_mix_value,
            value_scale=self.config.value_scale,
            maxvisit_init=self.config.maxvisit_init,
            epsilon=self.config.value_epsilon,
        )


@dataclass(frozen=True)
class Puct(Rule):
    """Selects slots with a high prior probability, a high mean return or few visits.

    Sources: Silver et al., A general reinforcement learning algorithm that masters chess, shogi and Go, 2018; of forced
    playouts and policy target pruning: Wu, Accelerating self-play learning in Go, 2019 (arXiv 1902.10565).
    """

    config: SearchConfig

    def at_root(self, slots: Slots) -> jax.Array:
        chosen = self.below(slots)
        if self.config.forced_playouts == 0:
            return chosen
        missing = jnp.where(slots.visits > 0, self._forced(slots) - slots.visits, 0.0)
        return jnp.where(missing.max(-1) > 0, missing.argmax(-1), chosen).astype(jnp.int32)

    def below(self, slots: Slots) -> jax.Array:
        rule = functools.partial(
            _mctx().muzero_action_selection,
            jax.random.key(0),  # of tiny noise that breaks ties: the same on equal boards
            depth=0,  # mctx masks the padding of roots only, so every node is one
            pb_c_init=self.config.pb_c_init,
            pb_c_base=self.config.pb_c_base,
            qtransform=self._transform,
        )
        return jax.vmap(lambda row: rule(_as_tree(row), 0))(slots)

    def decide(self, slots: Slots) -> tuple[jax.Array, jax.Array]:
        """Returns the most visited slot, and the shares of the visits that count; see `forced_playouts`."""
        best, shares = super().decide(slots)
        if self.config.forced_playouts == 0:
            return best, shares
        visits = self._without_forced(slots, best)
        return best, (visits / jnp.maximum(visits.sum(-1, keepdims=True), 1)).astype(jnp.float32)

    def _forced(self, slots: Slots) -> jax.Array:
        """Returns float32[B, K], the least visits of a slot that has one."""
        total = slots.visits.sum(-1, keepdims=True)
        return jnp.sqrt(self.config.forced_playouts * jax.nn.softmax(slots.logits) * total)

    def _without_forced(self, slots: Slots, best: jax.Array) -> jax.Array:
        """Returns float32[B, K], visits without forced ones.

        A slot loses up to `_forced` visits, while its PUCT score is at most that of the best slot. A slot that is left
        with one visit loses this one, too.
        """
        values = jax.vmap(lambda row: self._transform(_as_tree(row), 0))(slots)
        parent_visits = 1.0 + slots.visits.sum(-1, keepdims=True)
        growth = jnp.log((parent_visits + self.config.pb_c_base + 1) / self.config.pb_c_base)
        weights = jnp.sqrt(parent_visits) * (self.config.pb_c_init + growth) * jax.nn.softmax(slots.logits)
        scores = values + weights / (1 + slots.visits)
        score = jnp.take_along_axis(scores, best[:, None], 1)
        enough = jnp.where(score > values, weights / jnp.maximum(score - values, 1e-6) - 1, jnp.inf)
        kept = jnp.minimum(jnp.ceil(jnp.maximum(enough, slots.visits - self._forced(slots))), slots.visits)
        kept = jnp.where(kept <= 1, 0.0, kept)
        is_best = jnp.arange(slots.visits.shape[1]) == best[:, None]
        return jnp.where(is_best, slots.visits, kept)

    @property
    def _transform(self) -> Any:
        return functools.partial(_mctx().qtransform_by_parent_and_siblings, epsilon=self.config.value_epsilon)


@dataclass(frozen=True)
class Uct(Rule):
    """The slot of the highest upper confidence bound; first those without visits.

    With Q the mean return of a slot, n its visits and N those of all slots, it is

        argmax Q + c * sqrt(log N / n)

    Source: Kocsis and Szepesvári, Bandit based Monte-Carlo planning, 2006.
    """

    c: float  # in the unit of the returns

    def below(self, slots: Slots) -> jax.Array:
        visits = slots.visits.astype(jnp.float32)
        log_visits = jnp.log(jnp.maximum(visits.sum(-1, keepdims=True), 1.0))
        bound = slots.values + self.c * jnp.sqrt(log_visits / jnp.maximum(visits, 1.0))
        bound = jnp.where(slots.visits == 0, jnp.inf, bound)
        return jnp.where(slots.actions == PADDING, -jnp.inf, bound).argmax(-1).astype(jnp.int32)


def _most_visited(slots: Slots) -> jax.Array:
    """Returns bool[B, K], the slots with an action that have the most visits."""
    is_action = slots.actions != PADDING
    return is_action & (slots.visits == jnp.where(is_action, slots.visits, 0).max(-1, keepdims=True))


def _as_tree(row: Slots, gumbel: jax.Array | None = None) -> Any:
    """Returns a tree of mctx with one node: the slots of one board, arrays [K]."""
    mctx, visits = _mctx(), row.visits.sum()
    return mctx.Tree(
        node_visits=(visits + 1)[None],
        raw_values=row.raw_value[None],
        node_values=((row.raw_value + (row.visits * row.values).sum()) / (visits + 1))[None],
        parents=None,
        action_from_parent=None,
        children_index=row.actions[None],  # mctx reads the number of slots from its shape
        children_prior_logits=row.logits[None],
        children_visits=row.visits[None],
        children_rewards=jnp.zeros_like(row.values)[None],
        children_discounts=jnp.ones_like(row.values)[None],
        children_values=row.values[None],
        embeddings=None,
        root_invalid_actions=row.actions == PADDING,
        extra_data=None if gumbel is None else mctx.GumbelMuZeroExtraData(root_gumbel=gumbel),
    )


def _mctx() -> Any:
    try:
        import mctx
    except ImportError as error:
        raise ImportError('the search with a network needs mctx: pip install "jaxgames[search]"') from error
    return mctx
