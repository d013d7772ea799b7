"""The CPU time of an agent's move, on positions of greedy games with random moves in between."""

import statistics
import time
from typing import Any

import jax
import numpy as np
import psutil

from jaxgames import Env, ParameterError, agents
from jaxgames.agents import Agent, act_compiled
from train.data.labels import BOARDS, steps

PLAYER = "greedy(epsilon=0.3)"  # of the games that the boards are from; random in games without greedy scores
CALLS = 3  # whose median counts


def cpu_milliseconds(env: Env[Any], agent: Agent) -> float:
    """Returns the CPU time of a move in milliseconds, of all cores and of programs that this process has started.

    It is the mean over BOARDS boards, which the agent gets at once. Board i is at ply i of its game. Compilation does
    not count.
    """
    try:
        player = agents.make(PLAYER, env)
    except ParameterError:
        player = agents.make("random", env)
    games = zip(range(BOARDS), steps(env, player, seed=0), strict=False)
    live = [jax.tree.map(lambda leaf, number=number: leaf[number], boards) for number, (boards, _) in games]
    boards = jax.tree.map(lambda *leaves: np.stack(leaves), *live)
    jax.block_until_ready(act_compiled(agent, jax.random.key(0), boards))
    seconds: list[float] = []
    for call in range(CALLS):
        start = cpu_seconds()
        jax.block_until_ready(act_compiled(agent, jax.random.key(call), boards))
        seconds.append(cpu_seconds() - start)
    return 1000 * statistics.median(seconds) / BOARDS


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of those that it has started and that still run."""
    total = time.process_time()
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:  # it has just ended
            continue
        total += times.user + times.system
    return total
