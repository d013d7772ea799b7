"""The trees of a batch of boards, and one simulation: descend, expand, back up.

A tree of N nodes has a board in each of them, and K slots for actions:

    node 0 is the root; simulation i adds node i + 1
    slot k of a node holds an action, its logit, its visits, the mean return after it, and the node that it leads to

The path of a simulation is recorded on the way down. On the way up, the return is a vector over the seats:

    returns = rewards + discount * returns of the child

The discount is 0 if the child is over by the rules, 1 if the same seat moves again, otherwise gamma. So no sign exists
here. Only the mean of a slot is a single number: the return by the criterion of the seat that moves at the node.

Every board descends and backs up in the same loop, which carries indices. A simulation costs the same however many
nodes the tree has.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.wrappers import discount_of

NO_NODE = -1  # in `Tree.children`, of a slot without visits
PADDING = -1  # in `Tree.actions`, of a slot without an action


class Slots(NamedTuple):
    """The slots of one node of every board."""

    actions: jax.Array  # int32[B, K], PADDING where the slot has no action
    logits: jax.Array  # float32[B, K], MASKED_LOGIT in padding
    visits: jax.Array  # int32[B, K]
    values: jax.Array  # float32[B, K], mean return after the action, by the criterion of the node; 0 without visits
    raw_value: jax.Array  # float32[B], the evaluation of the node by the same criterion


class Tree(NamedTuple):
    """The trees of B boards, with N nodes of K slots each."""

    states: Any  # [B, N, ...], the boards
    raw_values: jax.Array  # float32[B, N]
    actions: jax.Array  # int16 or int32[B, N, K]
    logits: jax.Array  # float32[B, N, K]
    visits: jax.Array  # int32[B, N, K]
    values: jax.Array  # float32[B, N, K]
    children: jax.Array  # int16 or int32[B, N, K]
    root_returns: jax.Array  # float32[B, num_players], the sum over the simulations and the evaluation of the root
    slot_returns: jax.Array  # float32[B, K, num_players], means after the slots of the root


class Expansion(NamedTuple):
    """The nodes that a simulation ends with: new ones, the evaluation of which is backed up."""

    states: Any  # [B, ...]
    values: jax.Array  # float32[B, num_players], 0 where the game is over by the rules
    raw_value: jax.Array  # float32[B]
    actions: jax.Array  # int32[B, K]
    logits: jax.Array  # float32[B, K]


class Path(NamedTuple):
    """The nodes and slots that a simulation goes through, by depth.

    Node N stands where a board has ended before. Beyond `depth` the arrays are not used.
    """

    depth: jax.Array  # int32[], of the deepest board
    nodes: jax.Array  # int32[N, B]
    slots: jax.Array  # int32[N, B]
    parent: jax.Array  # int32[B], the last node before the end; the root if the root is over
    slot: jax.Array  # int32[B], the slot taken there
    child: jax.Array  # int32[B], the node at the end; NO_NODE if it is to be added


Select = Callable[[Slots], jax.Array]  # to int32[B], a slot
Criterion = Callable[[jax.Array, jax.Array], jax.Array]  # of returns and the seat that chooses, to float32[B]


def smallest_int(highest: int) -> np.dtype[np.signedinteger]:
    """Returns the type of integers for indices up to `highest`: int16 if they fit, or int32."""
    return np.dtype(np.int16 if highest <= np.iinfo(np.int16).max else np.int32)


def init_tree(root: Expansion, num_nodes: int, num_actions: int) -> Tree:
    """Returns the trees with a root only, and with room for N = `num_nodes`."""
    batch, slots = root.actions.shape

    def empty(leaf: jax.Array) -> jax.Array:
        return jnp.zeros((batch, num_nodes, *leaf.shape[1:]), leaf.dtype)

    per_slot = (batch, num_nodes, slots)
    tree = Tree(
        states=jax.tree.map(empty, root.states),
        raw_values=jnp.zeros((batch, num_nodes), jnp.float32),
        actions=jnp.zeros(per_slot, smallest_int(num_actions)),
        logits=jnp.zeros(per_slot, jnp.float32),
        visits=jnp.zeros(per_slot, jnp.int32),
        values=jnp.zeros(per_slot, jnp.float32),
        children=jnp.full(per_slot, NO_NODE, smallest_int(num_nodes)),
        root_returns=root.values,
        slot_returns=jnp.zeros((batch, slots, root.values.shape[1]), jnp.float32),
    )
    return _write(tree, root, 0)


def at(tree: Tree, node: jax.Array | int) -> Slots:
    """Returns the slots of the node int32[B] of each board."""
    actions, logits, visits, values, raw_value = (
        _rows(leaf, node) for leaf in (tree.actions, tree.logits, tree.visits, tree.values, tree.raw_values)
    )
    return Slots(actions.astype(jnp.int32), logits, visits, values, raw_value)


def empty_path(tree: Tree) -> Path:
    """Returns a path without nodes, which the first descent writes to."""
    batch, num_nodes, _ = tree.visits.shape
    record, root = jnp.zeros((num_nodes, batch), jnp.int32), jnp.zeros(batch, jnp.int32)
    return Path(jnp.int32(0), nodes=record, slots=record, parent=root, slot=root, child=root)


def descend(tree: Tree, room: Path, select_at_root: Select, select: Select) -> Path:
    """Returns the path of every board from its root to a slot without visits, or to a node where the game is over.

    It is written to the arrays of `room`, an earlier path: new ones in each simulation would take longer, the more
    nodes there are.
    """
    batch, num_nodes, _ = tree.visits.shape
    terminated, truncated = tree.states.terminated, tree.states.truncated

    def go(select: Select, carry: tuple[Path, jax.Array, jax.Array]) -> tuple[Path, jax.Array, jax.Array]:
        path, node, active = carry
        slot = select(at(tree, node))
        child = _entries(tree.children, node, slot).astype(jnp.int32)
        path = Path(
            depth=path.depth + 1,
            nodes=path.nodes.at[path.depth].set(jnp.where(active, node, num_nodes)),
            slots=path.slots.at[path.depth].set(slot),
            parent=jnp.where(active, node, path.parent),
            slot=jnp.where(active, slot, path.slot),
            child=jnp.where(active, child, path.child),
        )
        node = jnp.maximum(child, 0)
        over = _rows(terminated, node) | _rows(truncated, node)
        return path, node, active & (child != NO_NODE) & ~over

    root = jnp.zeros(batch, jnp.int32)
    begin = Path(jnp.int32(0), nodes=room.nodes, slots=room.slots, parent=root, slot=root, child=root)
    carry = go(select_at_root, (begin, root, ~(terminated[:, 0] | truncated[:, 0])))
    with jax.named_scope("descend"):
        path, _, _ = jax.lax.while_loop(lambda carry: carry[2].any(), lambda carry: go(select, carry), carry)
    return path


def add(tree: Tree, path: Path, leaf: Expansion, node: jax.Array) -> Tree:
    """Returns the trees with the leaf at `node`, int32[], as the child of the path's last slot.

    A board whose path ends at a node that it has already keeps that one. Its `node` is not used.
    """
    batch, num_nodes, _ = tree.visits.shape
    parent = jnp.where(path.child == NO_NODE, path.parent, num_nodes)
    new = jnp.full(batch, node, tree.children.dtype)
    children = _with_entries(tree.children, parent, path.slot, new)
    return _write(tree._replace(children=children), leaf, node)


def back_up(tree: Tree, path: Path, leaf: jax.Array, returns: jax.Array, gamma: float, criterion: Criterion) -> Tree:
    """Returns the trees with the returns counted in every slot of the path, from its end to the root.

    Each path ends at the node `leaf`, int32[B]; from there on the returns are float32[B, num_players].
    """
    num_nodes = tree.visits.shape[1]
    terminated, players, rewards = tree.states.terminated, tree.states.current_player, tree.states.rewards

    def go(carry: _BackUp) -> _BackUp:
        depth, child, returns, visits, values = carry
        node, slot = path.nodes[depth - 1], path.slots[depth - 1]
        inside = jnp.minimum(node, num_nodes - 1)
        mover = _rows(players, inside)
        discount = discount_of(mover, _rows(players, child), _rows(terminated, child), gamma)
        from_step = _rows(rewards, child) + discount[:, None] * returns
        count = _entries(visits, inside, slot) + 1
        mean = _running_mean(_entries(values, inside, slot), criterion(from_step, mover), count)
        active = node < num_nodes
        return _BackUp(
            depth=depth - 1,
            child=jnp.where(active, node, child),
            returns=jnp.where(active[:, None], from_step, returns),
            visits=_with_entries(visits, node, slot, count),
            values=_with_entries(values, node, slot, mean),
        )

    with jax.named_scope("back_up"):
        start = _BackUp(path.depth, leaf, returns, tree.visits, tree.values)
        _, _, returns, visits, values = jax.lax.while_loop(lambda carry: carry.depth > 0, go, start)
    slot = path.slots[0]
    count = jnp.maximum(_entries(visits, jnp.zeros_like(leaf), slot), 1)  # without visits at a root that is over
    mean = _running_mean(_rows(tree.slot_returns, slot), returns, count[:, None])
    return tree._replace(
        visits=visits,
        values=values,
        root_returns=tree.root_returns + returns,
        slot_returns=_with_rows(tree.slot_returns, slot, mean),
    )


class _BackUp(NamedTuple):
    """Where a backup stands: at the nodes `child`, of which the parents are next."""

    depth: jax.Array  # int32[]
    child: jax.Array  # int32[B]
    returns: jax.Array  # float32[B, num_players], from the children on
    visits: jax.Array  # as in `Tree`
    values: jax.Array


def _running_mean(mean: jax.Array, new: jax.Array, count: jax.Array) -> jax.Array:
    """Returns the mean of `count` numbers, from that of all but the last one and the last one, `new`."""
    return mean + (new - mean) / count


def boards_at(tree: Tree, node: jax.Array) -> Any:
    """Returns the board at the node int32[B] of each tree, as a batch of states."""
    return jax.tree.map(lambda leaf: _rows(leaf, node), tree.states)


def actions_at(tree: Tree, node: jax.Array, slot: jax.Array) -> jax.Array:
    """Returns int32[B], the action in a slot of a node of each tree."""
    return _entries(tree.actions, node, slot).astype(jnp.int32)


def _write(tree: Tree, leaf: Expansion, node: jax.Array | int) -> Tree:
    """Returns the trees with the leaf at `node`, the same for all boards."""

    def put(array: jax.Array, rows: jax.Array) -> jax.Array:
        return jax.lax.dynamic_update_slice_in_dim(array, rows[:, None].astype(array.dtype), node, 1)

    return tree._replace(
        states=jax.tree.map(put, tree.states, leaf.states),
        raw_values=put(tree.raw_values, leaf.raw_value),
        actions=put(tree.actions, leaf.actions),
        logits=put(tree.logits, leaf.logits),
    )


def _rows(array: jax.Array, node: jax.Array | int) -> jax.Array:
    """Returns `array[b, node[b]]` for each board b."""
    if isinstance(node, int):
        return array[:, node]
    return jax.vmap(lambda of_board, node: of_board.at[node].get(mode="promise_in_bounds"))(array, node)


def _entries(array: jax.Array, node: jax.Array, slot: jax.Array) -> jax.Array:
    """Returns `array[b, node[b], slot[b]]` for each board b."""
    return jax.vmap(lambda of_board, *place: of_board.at[place].get(mode="promise_in_bounds"))(array, node, slot)


def _with_entries(array: jax.Array, node: jax.Array, slot: jax.Array, new: jax.Array) -> jax.Array:
    """Returns the array with `new[b]` at `[b, node[b], slot[b]]` for each board b that has such a node."""

    def put(of_board: jax.Array, node: jax.Array, slot: jax.Array, new: jax.Array) -> jax.Array:
        return of_board.at[node, slot].set(new, mode="drop", unique_indices=True)

    return jax.vmap(put)(array, node, slot, new)


def _with_rows(array: jax.Array, node: jax.Array, new: jax.Array) -> jax.Array:
    """Returns the array with `new[b]` at `[b, node[b]]` for each board b that has such a node."""
    return jax.vmap(lambda of_board, node, new: of_board.at[node].set(new, mode="drop"))(array, node, new)
