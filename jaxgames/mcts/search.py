"""Tree search on a batch of boards, with any function that gives logits and values.

    config = SearchConfig(simulations=64)
    result = search(env, evaluate, config, key, params, states)
    states = jax.vmap(env.step)(states, result.action)

The tree, the descent and the backup: `jaxgames/mcts/tree.py`. The rules of selection: `jaxgames/mcts/selection.py`. The
boards and their evaluation: `jaxgames/mcts/expansion.py`. A search without a tree: `jaxgames/mcts/two_calls.py`.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames.env import Env
from jaxgames.mcts import tree as trees
from jaxgames.mcts.config import Evaluate, Evaluation, SearchConfig
from jaxgames.mcts.expansion import Expand, choose_boards, criterion_of, playable, step_legally
from jaxgames.mcts.selection import Gumbel, Rule, rule_of
from jaxgames.mcts.tree import NO_NODE, PADDING, Expansion, Path, Slots, Tree
from jaxgames.mcts.two_calls import search_in_two_calls
from jaxgames.sampling import MASKED_LOGIT


class SearchResult(NamedTuple):
    """The result of a search at the root of every board of a batch."""

    action: jax.Array  # int32[B], the best action; not used on a finished board
    slots: jax.Array  # int32[B, K], the actions that the root could try; -1 in padding
    weights: jax.Array  # float32[B, K], the improved probabilities of these actions; 0 in padding
    visits: jax.Array  # int32[B, K], simulations through each of them
    values: jax.Array  # float32[B, num_players], mean return of each seat over the simulations and the evaluation
    policy_values: jax.Array  # float32[B, num_players], mean returns after the actions tried, weighted by `weights`
    raw_values: jax.Array  # float32[B], the mover's value by the evaluation of the root

    def by_action(self, of_slots: jax.Array, num_actions: int) -> jax.Array:
        """Returns float32[B, num_actions], the number of each action's slot in `of_slots`, [B, K]; 0 without a slot."""
        rows = jnp.arange(self.slots.shape[0])[:, None]
        nothing = jnp.zeros((self.slots.shape[0], num_actions), jnp.float32)
        return nothing.at[rows, self.slots].add(jnp.where(self.slots == PADDING, 0, of_slots))


@functools.partial(jax.jit, static_argnames=("env", "evaluate", "config"))
def search(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, key: jax.Array, params: Any, states: Any
) -> SearchResult:
    """Returns the result of a tree search on every board. It is compiled, and can be part of a compiled program.

    Args:
      env: a game without chance, of any number of seats.
      evaluate: `evaluate(params, states)` returns an `Evaluation` of a batch of boards. It is static under `jax.jit`,
        so it must be hashable; what changes between calls belongs to `params`.
      config: the settings; static too.
      key: PRNG key of the noise at the root. Without noise the result does not depend on it.
      params: a pytree for `evaluate`, such as the parameters of a network.
      states: boards with a leading axis of B. Some can be finished; their results are not used.

    Raises:
      ImportError: mctx is missing (extra `search`).
    """
    env, states = playable(env, states)
    with jax.numpy_dtype_promotion("standard"):  # mctx needs it
        if config.search == "two_calls":
            expand, root, gumbel = rooted(env, evaluate, config, key, params, states)
            rule = Gumbel(config, gumbel)
            return summary(*search_in_two_calls(expand, rule, root, key), rule)
        tree, rule = search_tree(env, evaluate, config, key, params, states)
        return summary(*of_root(tree, config.simulations), rule)


def search_tree(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, key: jax.Array, params: Any, states: Any
) -> tuple[Tree, Rule]:
    """Returns the whole trees of a search, and the rule that it selects by; the arguments are those of `search`.

    The boards are those of `playable`: they do not restart.
    """
    expand, root, gumbel = rooted(env, evaluate, config, key, params, states)
    rule, tree = rule_of(config, gumbel), trees.init_tree(root, config.simulations + 1, env.num_actions)
    return run_simulations(expand, rule, tree, config.simulations, config.gamma, key), rule


def rooted(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, key: jax.Array, params: Any, states: Any
) -> tuple[Expand, Expansion, jax.Array]:
    """Returns the function that makes nodes, the roots with Dirichlet noise, and Gumbel noise float32[B, K] for them.

    The arguments are those of `search_tree`.
    """
    noise_key, gumbel_key = jax.random.split(key)

    def evaluate_states(states: Any, key: jax.Array) -> Evaluation:
        return evaluate(params, states)

    num_slots = config.num_slots(env.num_actions)
    criterion = criterion_of(config.seats, states.current_player)
    expand = Expand(env, evaluate_states, num_slots, criterion)
    root = expand(states, noise_key)
    root = root._replace(logits=_with_noise(noise_key, root, config))
    gumbel = jnp.zeros_like(root.logits)
    if config.gumbel_scale > 0:
        gumbel = config.gumbel_scale * jax.random.gumbel(gumbel_key, gumbel.shape)
    return expand, root, gumbel


def run_simulations(expand: Expand, rule: Rule, tree: Tree, simulations: int, gamma: float, key: jax.Array) -> Tree:
    """Returns the trees after the simulations, each of which adds a node to the tree of every board."""

    def simulate(simulation: jax.Array, carry: tuple[Tree, Path]) -> tuple[Tree, Path]:
        tree, path = carry
        path = trees.descend(tree, path, rule.at_root, rule.below)
        leaf = expand(_stepped(expand.env, tree, path), jax.random.fold_in(key, simulation))
        node = simulation + 1
        tree = trees.add(tree, path, leaf, node)
        end = jnp.where(path.child == NO_NODE, node, path.child)
        return trees.back_up(tree, path, end, leaf.values, gamma, expand.criterion), path

    tree, _ = jax.lax.fori_loop(0, simulations, simulate, (tree, trees.empty_path(tree)))
    return tree


def of_root(tree: Tree, simulations: int) -> tuple[Slots, jax.Array, jax.Array]:
    """Returns the slots of the roots, their mean returns, and the mean returns after their slots, for `summary`."""
    return trees.at(tree, 0), tree.root_returns / (simulations + 1), tree.slot_returns


def summary(slots: Slots, values: jax.Array, slot_returns: jax.Array, rule: Rule) -> SearchResult:
    """Returns the result of a search.

    Args:
      slots: of the roots, with all visits.
      values: float32[B, num_players], the mean returns of the roots.
      slot_returns: float32[B, K, num_players], the mean returns after the slots.
      rule: it decides.
    """
    best, weights = rule.decide(slots)
    tried = jnp.where(slots.visits > 0, weights, 0.0)
    total = tried.sum(-1, keepdims=True)
    policy_values = (tried[..., None] * slot_returns).sum(1) / jnp.where(total > 0, total, 1.0)
    return SearchResult(
        action=jnp.maximum(jnp.take_along_axis(slots.actions, best[:, None], 1)[:, 0], 0),
        slots=slots.actions,
        weights=jnp.where(slots.actions == PADDING, 0.0, weights),
        visits=slots.visits,
        values=values,
        policy_values=jnp.where(total > 0, policy_values, values),
        raw_values=slots.raw_value,
    )


def bytes_per_node(env: Env[Any], config: Any) -> int:
    """Returns the bytes of a node: its board, its value, and logit, visits, mean, action and child of each slot.

    `config` is a `SearchConfig`, or the `UctConfig` of `mcts(...)`.
    """
    indices = (trees.smallest_int(highest) for highest in (env.num_actions, config.simulations + 1))
    bytes_per_slot = 12 + sum(index.itemsize for index in indices)
    return env.unwrapped.state_bytes + 4 + config.num_slots(env.num_actions) * bytes_per_slot


def _stepped(env: Env[Any], tree: Tree, path: Path) -> Any:
    """Returns the boards at the ends of the paths: after the last action, or a board of the tree that is over."""
    parents = trees.boards_at(tree, path.parent)
    after = step_legally(env, parents, trees.actions_at(tree, path.parent, path.slot))
    return choose_boards(path.child == NO_NODE, after, trees.boards_at(tree, jnp.maximum(path.child, 0)))


def _with_noise(key: jax.Array, root: Expansion, config: SearchConfig) -> jax.Array:
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
