"""UCT: tree search without a network. A new board is valued by games that an agent plays from it to the end.

The search has the tree and the backup of `jaxgames/mcts/search.py`, and the rule `Uct` of selection.
"""

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from jaxgames._checks import check_choice, check_int, check_number
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.mcts.config import MAX_SIMULATIONS, SEATS, Evaluation
from jaxgames.mcts.expansion import Expand, choose_boards, criterion_of, playable, step_legally
from jaxgames.mcts.search import SearchResult, of_root, run_simulations, summary
from jaxgames.mcts.selection import Uct
from jaxgames.mcts.tree import init_tree

DEFAULT_SLOTS = 128


@dataclass(frozen=True)
class UctConfig:
    """The settings of UCT.

    Args:
      simulations: boards that the search adds to the tree of each root.
      rollouts: games that value a new board; their mean counts.
      max_rollout_steps: steps after which a rollout is cut off; what it has paid until then counts.
      uct_c: the constant of exploration, for returns from -1 to 1. For other games it is multiplied by half the range
        of a reward.
      slots: K, the actions that a node can try, drawn at random from the legal ones. None: 128. A game with fewer
        actions has a slot for each.
      seats: how seats choose in the tree, as in `SearchConfig`.
    """

    simulations: int = 1000
    rollouts: int = 1
    max_rollout_steps: int = 1000
    uct_c: float = 2**0.5
    slots: int | None = None
    seats: str = "max_n"

    def __post_init__(self) -> None:
        check_int("simulations", self.simulations, 1, MAX_SIMULATIONS)
        check_int("rollouts", self.rollouts, 1, MAX_SIMULATIONS)
        check_int("max_rollout_steps", self.max_rollout_steps, 0, 2**31 - 1)
        check_number("uct_c", self.uct_c, lowest=0)
        if self.slots is not None:
            check_int("slots", self.slots, 1, 2**31 - 1, " or None")
        check_choice("seats", self.seats, SEATS)

    def num_slots(self, num_actions: int) -> int:
        """Returns K for a game with `num_actions` actions."""
        return min(num_actions, DEFAULT_SLOTS if self.slots is None else self.slots)


@functools.partial(jax.jit, static_argnames=("env", "config"))
def uct_search(env: Env[Any], playout: Agent, config: UctConfig, key: jax.Array, states: Any) -> SearchResult:
    """Returns the result of UCT on every board. It is compiled, and can be part of a compiled program.

    `env` and `states` are as in `jaxgames.mcts.search`, and `config` is static, too. `playout` is the agent on the
    device that plays all seats of the rollouts, and `key` the PRNG key of the rollouts.
    """
    env, states = playable(env, states)

    def evaluate_states(states: Any, key: jax.Array) -> Evaluation:
        order_key, key = jax.random.split(key)
        # Random logits: the slots are random legal actions, tried in a random order.
        logits = jax.random.uniform(order_key, (states.terminated.shape[0], env.num_actions))
        return Evaluation(logits, rollout_returns(env, playout, config, key, states))

    low, high = env.reward_range
    expand = Expand(
        env, evaluate_states, config.num_slots(env.num_actions), criterion_of(config.seats, states.current_player)
    )
    root_key, key = jax.random.split(key)
    root = expand(states, root_key)
    rule = Uct(config.uct_c * (high - low) / 2)
    tree = init_tree(root, config.simulations + 1, env.num_actions)
    tree = run_simulations(expand, rule, tree, config.simulations, 1.0, key)
    return summary(*of_root(tree, config.simulations), rule)


def rollout_returns(env: Env[Any], playout: Agent, config: UctConfig, key: jax.Array, states: Any) -> jax.Array:
    """Returns float32[B, num_players], the mean return of each seat over the rollouts from every board.

    A rollout ends with its game, or after `config.max_rollout_steps` steps.
    """
    batch = states.terminated.shape[0]
    boards = jax.tree.map(lambda leaf: jnp.repeat(leaf, config.rollouts, 0), states)

    def go(carry: tuple[jax.Array, Any, jax.Array]) -> tuple[jax.Array, Any, jax.Array]:
        step, boards, returns = carry
        actions = playout.act(jax.random.fold_in(key, step), boards)
        live = ~(boards.terminated | boards.truncated)
        boards = choose_boards(live, step_legally(env, boards, actions), boards)
        return step + 1, boards, returns + jnp.where(live[:, None], boards.rewards, 0.0)

    def any_live(carry: tuple[jax.Array, Any, jax.Array]) -> jax.Array:
        step, boards, _ = carry
        return (step < config.max_rollout_steps) & ~(boards.terminated | boards.truncated).all()

    returns = jnp.zeros((batch * config.rollouts, env.num_players))
    _, _, returns = jax.lax.while_loop(any_live, go, (jnp.int32(0), boards, returns))
    return returns.reshape(batch, config.rollouts, env.num_players).mean(1)
