"""Trees that a search continues: the part of the trees of the last search below the boards that are now to move.

A node is found by its board, so no moves are needed: it is right after one reply, after the moves of several seats, and
in a new game, which has no node. The kept nodes stay in their order, so parents come before children. Their visits
and mean returns stay, too.

A tree that continues has rows for `simulations` + 1 kept nodes, and behind them a row for each simulation. If more
nodes could be kept, the newest ones are left out. A slot that led to such a node has its visits and its mean return,
and the next visit adds the node again.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.mcts.config import SearchConfig
from jaxgames.mcts.proofs import Proofs
from jaxgames.mcts.tree import NO_NODE, Expansion, Tree, init_tree
from jaxgames.wrappers import without_auto_reset


def empty_trees(env: Env[Any], config: SearchConfig, num_boards: int) -> Tree:
    """Returns trees without visits, [num_boards], with the rows of trees that continue."""
    env = without_auto_reset(env)[0]
    num_slots = config.num_slots(env.num_actions)

    def zeros(*shape: int, dtype: Any = jnp.float32) -> jax.Array:
        return jnp.zeros((num_boards, *shape), dtype)

    root = Expansion(
        states=jax.tree.map(lambda leaf: zeros(*leaf.shape, dtype=leaf.dtype), jax.eval_shape(env.init)),
        values=zeros(env.num_players),
        raw_value=zeros(),
        actions=zeros(num_slots, dtype=jnp.int32),
        logits=zeros(num_slots),
        complete=zeros(dtype=jnp.bool_) if config.proofs else None,
    )
    return init_tree(root, 2 * config.simulations + 1, env.num_actions)


def subtrees(env: Env[Any], config: SearchConfig, trees: Tree, states: Any) -> Tree:
    """Returns the trees below the boards `states`, [B], of `jaxgames.mcts.search.playable`, with the same rows.

    The root is the node with the board, of several ones that with the most visits. A tree without a visited node with
    this board becomes empty. The rewards of the last step and the counters of limits of length do not count. A root is
    not proved; its slots are.
    """
    restart = jax.vmap(env._restart_clock)  # pyright: ignore[reportPrivateUsage]  # of this library
    trees = trees._replace(states=jax.vmap(restart)(trees.states))
    visits = trees.visits.sum(-1)
    is_root = _same(trees.states, states) & (visits > 0)
    if config.seats == "paranoid" and not (env.num_players == 2 and env.zero_sum):
        is_root &= (trees.states.current_player[:, 0] == states.current_player)[:, None]  # the criterion is the root's
    root = jnp.where(is_root, visits, 0).argmax(-1)
    in_subtree = _below(trees.children, root) & is_root.any(-1, keepdims=True)
    number = in_subtree.cumsum(-1) - 1  # of each node in its subtree
    kept = in_subtree & (number <= config.simulations)
    source = jnp.argsort(~kept, stable=True)  # the old row of each new one
    is_kept = jnp.take_along_axis(kept, source, 1)

    def rows(leaf: jax.Array) -> jax.Array:
        return jax.vmap(lambda of_board, source: of_board[source])(leaf, source)

    def rows_or_zeros(leaf: jax.Array) -> jax.Array:
        return jnp.where(is_kept.reshape(*is_kept.shape, *[1] * (leaf.ndim - 2)), rows(leaf), 0).astype(leaf.dtype)

    new_row = jnp.where(kept, number, NO_NODE)
    children = jax.vmap(lambda new_row, children: new_row[children])(new_row, jnp.maximum(trees.children, 0))
    children = jnp.where(trees.children == NO_NODE, NO_NODE, children).astype(trees.children.dtype)
    children = jnp.where(is_kept[:, :, None], rows(children), NO_NODE)
    proofs = trees.proofs
    if proofs is not None:
        # A root without the proof gets it from the next simulation, unless what proves it is not in the tree.
        proofs = Proofs(
            nodes=rows_or_zeros(proofs.nodes).at[:, 0].set(False),
            returns=rows(proofs.returns),
            slots=rows_or_zeros(proofs.slots) & (children != NO_NODE),
            complete=rows(proofs.complete),
        )
    return trees._replace(
        states=jax.tree.map(rows, trees.states),
        raw_values=rows(trees.raw_values),
        actions=rows(trees.actions),
        logits=rows(trees.logits),
        visits=rows_or_zeros(trees.visits),
        values=rows_or_zeros(trees.values),
        children=children,
        proofs=proofs,
    )


def with_kept_slots(root: Expansion, trees: Tree) -> Expansion:
    """Returns the roots with the slots and evaluations of the trees, where these have visits."""
    is_kept = trees.visits[:, 0].sum(-1) > 0
    return root._replace(
        raw_value=jnp.where(is_kept, trees.raw_values[:, 0], root.raw_value),
        actions=jnp.where(is_kept[:, None], trees.actions[:, 0], root.actions),
        logits=jnp.where(is_kept[:, None], trees.logits[:, 0], root.logits),
    )


def _same(nodes: Any, states: Any) -> jax.Array:
    """Returns bool[B, N], whether the boards [B, N, ...] are those of `states` [B, ...], apart from the rewards."""
    without_rewards = [dataclasses.replace(boards, rewards=boards.terminated) for boards in (nodes, states)]
    equal = jax.tree.map(
        lambda leaf, other: (leaf == other[:, None]).reshape(*leaf.shape[:2], -1).all(-1), *without_rewards
    )
    return jnp.stack(jax.tree.leaves(equal)).all(0)


def _below(children: jax.Array, root: jax.Array) -> jax.Array:
    """Returns bool[B, N], whether a node is the node `root`, int32[B], or below it.

    The ancestor of each node is doubled in distance until every node below `root` has reached it.
    """
    batch, num_nodes, _ = children.shape
    boards, nodes = jnp.arange(batch)[:, None, None], jnp.arange(num_nodes)
    places = jnp.where(children == NO_NODE, num_nodes, children)
    parent = jnp.broadcast_to(nodes, (batch, num_nodes))  # a row without a parent is its own
    parent = parent.at[boards, places].set(nodes[:, None], mode="drop")
    ancestor = jnp.where(nodes == root[:, None], root[:, None], parent)
    for _ in range(num_nodes.bit_length()):
        ancestor = jnp.take_along_axis(ancestor, ancestor, 1)
    return ancestor == root[:, None]
