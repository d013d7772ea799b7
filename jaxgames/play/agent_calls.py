"""Agents at one board: the action that one chooses, and what one thinks of a position."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgames import agents
from jaxgames.agents import Agent
from jaxgames.arena.playing import act_on_one_board
from jaxgames.env import Env
from jaxgames.render import Move

Make = Callable[[str, Env[Any]], Agent]
OnCompile = Callable[[str], object] | None
_compiled: set[tuple[str, str, Env[Any]]] = set()  # methods of agents that have run in this process


class Thoughts(NamedTuple):
    """The probabilities and values of an agent in one position."""

    agent: str
    moves: tuple[tuple[Move, float], ...]  # all legal moves with the probability of each, the most probable first
    values: tuple[float, ...] | None  # the expected return of each seat; None: the agent has none


def choose(text: str, env: Env[Any], board: Any, key: jax.Array, make: Make, on_compile: OnCompile) -> int:
    """Returns the action that the agent of a text chooses on one board, whose arrays are numpy's.

    `on_compile` is called with the text before the agent's first move in this process, which is compiled.
    """
    agent = make(text, env)
    _announce("act", text, env, on_compile)
    (action,) = act_on_one_board(agent, key, _batch_of_one(board)).tolist()
    _compiled.add(("act", text, env))
    return action


def analyse(
    text: str, env: Env[Any], board: Any, make: Make, on_compile: OnCompile
) -> tuple[np.ndarray, tuple[float, ...] | None]:
    """Returns float32[num_actions], the probabilities of an agent on one board, and its value for each seat or None.

    Raises ValueError for an agent without probabilities.
    """
    agent, boards = make(text, env), _batch_of_one(board)
    _announce("analyse", text, env, on_compile)
    analysis = _analyse_on_device(agent, boards) if agent.on_device else agents.analyse(agent, boards)
    if analysis is None:
        raise ValueError(f"{text} has no probabilities: choose an agent that has them, such as random or greedy")
    probabilities = np.asarray(analysis.probabilities)[0]
    _compiled.add(("analyse", text, env))
    return probabilities, None if analysis.values is None else tuple(np.asarray(analysis.values)[0].tolist())


def _announce(method: str, text: str, env: Env[Any], on_compile: OnCompile) -> None:
    """Calls `on_compile` if this method of an agent has not run yet."""
    if on_compile is not None and (method, text, env) not in _compiled:
        on_compile(text)


@jax.jit
def _analyse_on_device(agent: Agent, boards: Any) -> agents.Analysis | None:
    return agents.analyse(agent, boards)


def _batch_of_one(board: Any) -> Any:
    """Returns one board with a leading axis of 1, on the host: agents may compute on another device than the rules."""
    return jax.tree.map(lambda leaf: leaf[None], board)
