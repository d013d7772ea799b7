"""Tree search on a batch of boards, with any function that gives logits and values.

    config = SearchConfig(simulations=64)
    result = search(env, evaluate, config, key, params, states)
    states = jax.vmap(env.step)(states, result.action)

The tree, the descent and the backup: `jaxgames/mcts/tree.py`. The rules of selection: `jaxgames/mcts/selection.py`.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.mcts import tree as trees
from jaxgames.mcts.config import Evaluate, SearchConfig
from jaxgames.mcts.limits import without_length
from jaxgames.mcts.selection import Gumbel, Puct
from jaxgames.mcts.tree import MASKED_LOGIT, NO_NODE, PADDING, Leaf, Path, Tree
from jaxgames.wrappers import Wrapper, inside

LOGIT_RANGE = 12.0  # a legal action counts as at most this much less likely than the best one


class SearchResult(NamedTuple):
    """What a search finds at the root of every board of a batch."""

    action: jax.Array  # int32[B], the best action; not used on a finished board
    slots: jax.Array  # int32[B, K], the actions that the root could try; -1 in padding
    weights: jax.Array  # float32[B, K], the improved probabilities of these actions; 0 in padding
    visits: jax.Array  # int32[B, K], simulations through each of them
    values: jax.Array  # float32[B, num_players], mean return of each seat over the simulations


@functools.partial(jax.jit, static_argnames=("env", "evaluate", "config"))
def search(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, key: jax.Array, params: Any, states: Any
) -> SearchResult:
    """Returns what a tree search finds on every board.

    Args:
      env: a game without chance, of any number of seats.
      evaluate: gives logits and values for a batch of boards: `evaluate(params, states)`. It is a static argument, so
        it must be hashable.
      config: the settings; static too.
      key: PRNG key of the noise at the root. Without noise the result does not depend on it.
      params: a pytree for `evaluate`, such as the parameters of a network.
      states: boards with a leading axis of B. Some can be finished; their results are not used.
    """
    env, states = _playable(env, states)
    states = jax.vmap(functools.partial(without_length, env))(states)
    rule = (Gumbel if config.policy == "gumbel" else Puct)(config)
    noise_key, gumbel_key = jax.random.split(key)
    mover = states.current_player

    def criterion(returns: jax.Array, seat: jax.Array) -> jax.Array:
        if config.seats == "max_n":
            return jnp.take_along_axis(returns, seat[:, None], 1)[:, 0]
        of_root = jnp.take_along_axis(returns, mover[:, None], 1)[:, 0]
        return jnp.where(seat == mover, of_root, -of_root)

    def leaf(states: Any) -> Leaf:
        return _evaluated(env, evaluate, config, params, states, criterion)

    root = leaf(states)
    root = root._replace(logits=_with_noise(noise_key, root, config))
    gumbel = jnp.zeros_like(root.logits)
    if config.policy == "gumbel" and config.gumbel_scale > 0:
        gumbel = config.gumbel_scale * jax.random.gumbel(gumbel_key, root.logits.shape)

    def simulate(simulation: jax.Array, tree: Tree) -> Tree:
        path = trees.descend(tree, lambda slots: rule.at_root(slots, gumbel), rule.below)
        new = leaf(_stepped(env, tree, path))
        node = simulation + 1
        tree = trees.add(tree, path, new, node)
        end = jnp.where(path.child == NO_NODE, node, path.child)
        return trees.back_up(tree, path, end, new.values, config.gamma, criterion)

    tree = trees.plant(root, config.simulations + 1, env.num_actions)
    tree = jax.lax.fori_loop(0, config.simulations, simulate, tree)
    slots = trees.at(tree, 0)
    best, weights = rule.decide(slots, gumbel)
    return SearchResult(
        action=jnp.maximum(jnp.take_along_axis(slots.actions, best[:, None], 1)[:, 0], 0),
        slots=slots.actions,
        weights=jnp.where(slots.actions == PADDING, 0.0, weights),
        visits=slots.visits,
        values=tree.root_returns / (config.simulations + 1),
    )


def bytes_per_node(env: Env[Any], config: SearchConfig) -> int:
    """Returns the bytes that a node of the tree takes: its board, its value and its slots."""
    slots = config.num_slots(env.num_actions)
    per_slot = 12 + trees.smallest_int(env.num_actions)(0).itemsize
    per_slot += trees.smallest_int(config.simulations + 1)(0).itemsize
    return env.state_bytes + 4 + per_slot * slots


def _playable(env: Env[Any], states: Any) -> tuple[Env[Any], Any]:
    """Returns the game without its wrappers, and its boards: boards that restart have no place in a tree.

    Raises ValueError for a game of chance.
    """
    if env.needs_key:
        raise ValueError(f"{env.id} is a game of chance, and a search needs a game without")
    return inside(env, states) if isinstance(env, Wrapper) else (env, states)


def _stepped(env: Env[Any], tree: Tree, path: Path) -> Any:
    """Returns the boards after the last actions of the paths; a board that is over stays."""
    parents = trees.boards_at(tree, path.parent)
    actions = trees.actions_at(tree, path.parent, path.slot)
    # Slots have legal actions only, so the step needs no check of them.
    after = jax.vmap(lambda state, action: env._step(state, action, None))(parents, actions)  # pyright: ignore[reportPrivateUsage]  # supplied by a game for this package
    before = trees.boards_at(tree, jnp.maximum(path.child, 0))
    is_new = path.child == NO_NODE

    def choose(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(is_new.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, after, before)


def _evaluated(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, params: Any, states: Any, criterion: trees.Criterion
) -> Leaf:
    """Returns the boards with their slots and values."""
    logits, values = evaluate(params, states)
    mask = jax.vmap(env.legal_action_mask)(states)
    values = jnp.where(states.terminated[:, None], 0.0, values.astype(jnp.float32))
    best = jnp.where(mask, logits, -jnp.inf).max(-1, keepdims=True, initial=MASKED_LOGIT)
    clipped = jnp.maximum(logits.astype(jnp.float32), best - LOGIT_RANGE)
    logits, actions = jax.lax.top_k(jnp.where(mask, clipped, MASKED_LOGIT), config.num_slots(env.num_actions))
    return Leaf(
        states=states,
        values=values,
        raw_value=criterion(values, states.current_player),
        actions=jnp.where(logits > MASKED_LOGIT, actions, PADDING),
        logits=logits,
    )


def _with_noise(key: jax.Array, root: Leaf, config: SearchConfig) -> jax.Array:
    """Returns float32[B, K], the root's logits after a mixture with Dirichlet noise over its actions."""
    if config.dirichlet_fraction == 0:
        return root.logits
    is_action = root.actions != PADDING
    alpha = config.dirichlet_alpha / jnp.maximum(is_action.sum(-1, keepdims=True), 1)
    drawn = jax.random.loggamma(key, jnp.broadcast_to(alpha, is_action.shape))
    noise = jax.nn.softmax(jnp.where(is_action, drawn, MASKED_LOGIT))
    mixed = (1 - config.dirichlet_fraction) * jax.nn.softmax(root.logits) + config.dirichlet_fraction * noise
    tiny = jnp.finfo(jnp.float32).tiny
    return jnp.where(is_action, jnp.log(jnp.maximum(mixed, tiny)), MASKED_LOGIT)
