"""The solution and the agents that `jaxgames.solvers.strength.measure` takes, and the text of its numbers."""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames.agents import Agent, EpsilonAgent, GreedyAgent, RandomAgent, act_on_device, analyse
from jaxgames.solvers import Solution, load, solve
from jaxgames.solvers.strength.policy_table import BATCH, Act, Values

DIGITS = 7  # of the printed numbers


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


def format_measure(value: Any) -> str:
    """Returns a measure as the table shows it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5f}"
