"""Tree search on a batch of boards, with any function that gives logits and values.

    config = SearchConfig(simulations=64)
    result = search(env, evaluate, config, key, params, states)
    states = jax.vmap(env.step)(states, result.action)

The tree, the descent and the backup: `jaxgames/mcts/tree.py`. The rules of selection: `jaxgames/mcts/selection.py`.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames._checks import ParameterError, written_shape
from jaxgames.env import Env
from jaxgames.mcts import tree as trees
from jaxgames.mcts.config import Evaluate, Evaluation, SearchConfig
from jaxgames.mcts.selection import Rule, rule_of
from jaxgames.mcts.tree import NO_NODE, PADDING, Expansion, Path, Tree
from jaxgames.sampling import MASKED_LOGIT
from jaxgames.wrappers import live_boards

LOGIT_RANGE = 12.0  # a legal action counts as at most this much less likely than the best one
MAX_LOGIT = 1e6  # logits beyond it and its negative are clipped, so that those of legal actions are finite


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
        return summary(*search_tree(env, evaluate, config, key, params, states), config.simulations)


def search_tree(
    env: Env[Any], evaluate: Evaluate, config: SearchConfig, key: jax.Array, params: Any, states: Any
) -> tuple[Tree, Rule]:
    """Returns the whole trees of a search, and the rule that it selects by; the arguments are those of `search`.

    The boards are those of `playable`: they do not restart.
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
    tree = trees.init_tree(root, config.simulations + 1, env.num_actions)
    rule = rule_of(config, gumbel)
    return run_simulations(expand, rule, tree, config.simulations, config.gamma, key), rule


class Expand(NamedTuple):
    """Makes nodes of boards: `expand(states, key)`."""

    env: Env[Any]
    evaluate: Callable[[Any, jax.Array], Evaluation]  # of states and a key
    num_slots: int
    criterion: trees.Criterion

    def __call__(self, states: Any, key: jax.Array) -> Expansion:
        """Returns the boards with their values, and the legal actions of the highest logits as their slots.

        A logit that is not a number counts as the lowest one.
        """
        logits, values = self._checked(self.evaluate(states, key), states)
        mask = jax.vmap(self.env.legal_action_mask)(states)
        values = jnp.where(states.terminated[:, None], 0.0, values.astype(jnp.float32))
        logits = jnp.where(jnp.isnan(logits), -MAX_LOGIT, jnp.clip(logits.astype(jnp.float32), -MAX_LOGIT, MAX_LOGIT))
        logits = jnp.where(mask, logits, MASKED_LOGIT)
        logits = jnp.maximum(logits, logits.max(-1, keepdims=True) - LOGIT_RANGE)
        logits, actions = jax.lax.top_k(jnp.where(mask, logits, MASKED_LOGIT), self.num_slots)
        return Expansion(
            states=states,
            values=values,
            raw_value=self.criterion(values, states.current_player),
            actions=jnp.where(logits > MASKED_LOGIT, actions, PADDING),
            logits=logits,
        )

    def _checked(self, evaluation: Evaluation, states: Any) -> Evaluation:
        """Returns the evaluation; its shapes must fit the boards."""
        batch = states.terminated.shape[0]
        expected = ((batch, self.env.num_actions), (batch, self.env.num_players))
        shapes = tuple(jnp.shape(array) for array in evaluation)
        if shapes != expected:
            found = " and ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)
            raise ParameterError(
                f"evaluate must return logits [{batch}, num_actions = {self.env.num_actions}] and values "
                f"[{batch}, num_players = {self.env.num_players}] for {batch} boards, not {found}"
            )
        return evaluation


def criterion_of(seats: str, root: jax.Array) -> trees.Criterion:
    """Returns the criterion by which the seats choose; `root` is the seat to move at each root, int32[B]."""

    def max_n(returns: jax.Array, seat: jax.Array) -> jax.Array:
        return jnp.take_along_axis(returns, seat[:, None], 1)[:, 0]

    def paranoid(returns: jax.Array, seat: jax.Array) -> jax.Array:
        of_root = max_n(returns, root)
        return jnp.where(seat == root, of_root, -of_root)

    return max_n if seats == "max_n" else paranoid


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


def summary(tree: Tree, rule: Rule, simulations: int) -> SearchResult:
    """Returns the result of a search of `simulations` simulations, from its finished trees."""
    slots, values = trees.at(tree, 0), tree.root_returns / (simulations + 1)
    best, weights = rule.decide(slots)
    tried = jnp.where(slots.visits > 0, weights, 0.0)
    total = tried.sum(-1, keepdims=True)
    policy_values = (tried[..., None] * tree.slot_returns).sum(1) / jnp.where(total > 0, total, 1.0)
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


def playable(env: Env[Any], states: Any) -> tuple[Env[Any], Any]:
    """Returns the game and its boards for a tree: they do not restart, and their counters of length are set back."""
    if env.needs_key:
        raise ParameterError(f"a search needs a game without chance, and {env.id} has random events")
    env, states = env.unwrapped, live_boards(states)
    if jnp.ndim(states.terminated) != 1:
        found = written_shape(jnp.shape(states.terminated)) or "one board"
        raise ParameterError(
            f"expected boards with one leading axis, not {found}: jax.tree.map(lambda x: x[None], state)"
        )
    return env, jax.vmap(env._restart_clock)(states)  # pyright: ignore[reportPrivateUsage]  # of this library


def step_legally(env: Env[Any], states: Any, actions: jax.Array) -> Any:
    """Returns the boards after legal actions. The result for a finished board or an illegal action is not to be used.

    `env.step` would check the actions, which takes as long as the step itself.
    """
    return jax.vmap(lambda state, action: env._step(state, action, None))(states, actions)  # pyright: ignore[reportPrivateUsage]  # of this library


def choose_boards(choice: jax.Array, states: Any, others: Any) -> Any:
    """Returns the boards of `states` where `choice`, bool[B], is True, and those of `others` elsewhere."""

    def choose(leaf: jax.Array, other: jax.Array) -> jax.Array:
        return jnp.where(choice.reshape(-1, *[1] * (leaf.ndim - 1)), leaf, other)

    return jax.tree.map(choose, states, others)


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
