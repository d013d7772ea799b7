"""The solution and the agents that `jaxgames.solvers.strength.measure` takes, and the text of its numbers.

`lookahead` searches in full width for all states at once. One Bellman backup per sweep: value iteration of depth d, in
d passes over the table of children, however large the tree would be. It takes the rules and the values of the leaves,
not the solver's values.
"""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from jaxgames import Env
from jaxgames._checks import ParameterError, check_int
from jaxgames.agents import Agent, EpsilonAgent, GreedyAgent, RandomAgent, act_on_device, analyse
from jaxgames.solvers import Solution, load, solve
from jaxgames.solvers.strength.graph import CHUNK, graph_of
from jaxgames.solvers.strength.policy_table import BATCH, Act, Values, call_in_batches

DIGITS = 7  # of the printed numbers
MAX_DEPTH = 1000


class Player(NamedTuple):
    """An agent as `measure` takes it."""

    act: Act
    values: Values | None


def solution_of(env: Env[Any], path: Path | None) -> Solution[Any]:
    """Returns the solution of a game from its file; without a file, the game is solved first."""
    return solve(env) if path is None else load(path, env)


def deterministic(text: str, agent: Agent, env: Env[Any]) -> Player:
    """Returns the agent as `measure` takes it: with one key for all boards. Of equal moves, greedy plays the first.

    Raises ValueError for an agent that plays at random: random, or one with an epsilon or a temperature above 0.
    """
    if isinstance(agent, RandomAgent | EpsilonAgent) or getattr(agent, "temperature", None) is not None:
        raise ValueError(
            f"{text} plays at random, and the measures need one move per board: expected an agent without epsilon, and "
            "for a run temperature=0 or no temperature"
        )
    key = jax.random.key(0)
    if isinstance(agent, GreedyAgent):
        return Player(lambda states: _first_of_best(agent, states), None)
    if not agent.on_device:
        return Player(functools.partial(agent.act, key), None)
    values = functools.partial(_values, agent) if has_values(agent, env) else None
    return Player(functools.partial(act_on_device, agent, key), values)


def has_values(agent: Agent, env: Env[Any]) -> bool:
    """Returns whether the agent, which can be traced, has values of the seats in the game's unit of reward."""
    if getattr(agent, "env", env) != env:  # it has learned another reward
        return False
    states = jax.eval_shape(jax.vmap(env.init), jax.eval_shape(lambda: jax.random.split(jax.random.key(0), BATCH)))
    return jax.eval_shape(_values_of_seats, agent, states) is not None


def _values_of_seats(agent: Agent, states: Any) -> jax.Array | None:
    analysis = analyse(agent, states)
    return None if analysis is None else analysis.values


@jax.jit
def _first_of_best(agent: GreedyAgent, states: Any) -> jax.Array:
    """Returns int32[B], the first of the moves between which the agent draws."""
    return agent.analyse(states).probabilities.argmax(-1).astype(jnp.int32)


@jax.jit
def _values(agent: Agent, states: Any) -> jax.Array:
    """Returns float32[B], the mover's value, by an agent for which `has_values` is True."""
    values = _values_of_seats(agent, states)
    assert values is not None
    return jnp.take_along_axis(values, states.current_player[:, None], axis=1)[:, 0]


def lookahead(
    solution: Solution[Any],
    values: Values,
    depth: int,
    *,
    discount: float = 0.99,
    seat: int = 0,
) -> Act:
    """Returns the agent that searches `depth` plies and judges the leaves with `values`; of equal moves the first.

    The result has the form that `measure` takes. It plays legal moves on live boards, and action 0 on all others.

    Args:
      solution: its states and moves are used, its values are not.
      values: a function from boards [512] to float32[512], the mover's expected return; clipped to -1 ... 1.
      depth: 1 compares the values behind each move.
      discount: per ply, so that of two wins the sooner one is better, and of two losses the later one.
      seat: to move on the boards for `values`.
    """
    check_int("depth", depth, 1, MAX_DEPTH)
    if not 0 < discount <= 1:
        raise ParameterError(f"discount must be a number above 0 and at most 1, such as 0.99, not {discount}")
    graph = graph_of(solution)
    leaves = np.full(graph.size, -1, np.float32)  # a finished game is lost for the seat to move
    leaves[graph.live] = np.clip(call_in_batches(solution, values, graph.live, seat), -1, 1)
    chunks = [graph.children[begin : begin + CHUNK] for begin in range(0, graph.size, CHUNK)]
    value = leaves
    for _ in range(depth - 1):
        value = np.concatenate([_backed_up(rows, value, discount).max(-1) for rows in chunks])
        value = np.where(graph.is_live, value, leaves)
    slots = np.concatenate([_backed_up(rows, value, discount).argmax(-1) for rows in chunks])
    actions = jnp.asarray(np.maximum(graph.actions[np.arange(graph.size), slots], 0))
    return lambda states: actions[jnp.asarray(solution.index(states))]


def _backed_up(children: NDArray[np.int32], value: NDArray[np.float32], discount: float) -> NDArray[np.float32]:
    """Returns float32[B, K], the value of each move for the mover; minus infinity behind the last legal move."""
    return -np.float32(discount) * np.append(value, np.float32(np.inf))[children]


def format_measure(value: Any) -> str:
    """Returns a measure as the table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5f}"
