"""The CPU time of an agent's move, on positions of greedy games with random moves in between."""

import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp
import psutil

from jaxgames import Env, ParameterError, agents, auto_reset
from jaxgames.agents import Agent, act_compiled
from jaxgames.wrappers import live_boards

BOARDS = 64  # on which an agent moves at once
PLIES = 64  # of the games that the boards are from; board i is at ply i
PLAYER = "greedy(epsilon=0.3)"  # of these games; a random agent in games without greedy scores
CALLS = 3  # whose median counts


def cpu_milliseconds(env: Env[Any], agent: Agent) -> float:
    """Returns the CPU time of a move in milliseconds, of all cores and of programs that this process has started.

    It is the mean over BOARDS boards, which the agent gets at once. Compilation does not count.
    """
    boards = played_boards(env)
    jax.block_until_ready(act_compiled(agent, jax.random.key(0), boards))
    seconds: list[float] = []
    for call in range(CALLS):
        start = cpu_seconds()
        jax.block_until_ready(act_compiled(agent, jax.random.key(call), boards))
        seconds.append(cpu_seconds() - start)
    return 1000 * statistics.median(seconds) / BOARDS


def played_boards(env: Env[Any]) -> Any:
    """Returns the states of BOARDS live boards, one for each of the first plies of a game; ended games restart."""
    game = auto_reset(env)
    try:
        player = agents.make(PLAYER, game)
    except ParameterError:
        player = agents.make("random", game)

    def ply(states: Any, key: jax.Array) -> tuple[Any, Any]:
        act_key, step_key = jax.random.split(key)
        actions = player.act(act_key, states)
        return jax.vmap(game.step)(states, actions, jax.random.split(step_key, BOARDS)), states

    @jax.jit
    def play(key: jax.Array) -> Any:
        start_key, key = jax.random.split(key)
        states = jax.vmap(game.init)(jax.random.split(start_key, BOARDS))
        _, seen = jax.lax.scan(ply, states, jax.random.split(key, PLIES))
        number = jnp.arange(BOARDS)
        return live_boards(jax.tree.map(lambda leaf: leaf[number % PLIES, number], seen))

    return play(jax.random.key(0))


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
