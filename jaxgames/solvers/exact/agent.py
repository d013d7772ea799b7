"""The agent that plays a solved game perfectly: `solver(FILE)`.

    python -m jaxgames.solvers "chinese_checkers_diamond(size=4, pieces=3)" --output 43.npz
    jaxgames.agents.make("solver(43.npz)", env)

It plays an action of the best value; where the solution has plies, the one that wins soonest or loses latest. Of equal
actions it plays the one with the lowest number, or with `ties=random` any. The table of the solution is a leaf of the
agent, so it can be traced.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import jax
import jax.numpy as jnp

from jaxgames._checks import check_choice
from jaxgames._files import named_by_parameter
from jaxgames._specs import written_file
from jaxgames.agents import Agent, Analysis, pytree
from jaxgames.env import Env
from jaxgames.solvers.exact.solution import Solution, load
from jaxgames.wrappers import live_boards

Ties = Literal["first", "random"]  # which of several equal actions is played


@pytree
@dataclass(frozen=True)
class SolverAgent:
    """Plays perfectly: of several equal actions the first, or a random one."""

    on_device: ClassVar[bool] = True
    env: Env[Any] = field(metadata={"static": True})
    solver: type[Solution[Any]] = field(metadata={"static": True})  # reads the table
    text: str = field(metadata={"static": True})  # the agent's name, as in tables of results
    ties: Ties = field(metadata={"static": True})
    table: jax.Array

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        logits = jnp.log(self._probabilities(live_boards(states)))
        return (logits.argmax(-1) if self.ties == "first" else jax.random.categorical(key, logits)).astype(jnp.int32)

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the values of perfect play."""
        boards = live_boards(states)
        over = (boards.terminated | boards.truncated)[:, None]
        value = self.solver.payoffs(self.env.unwrapped, self.table, boards)
        values = jnp.stack([value, -value], axis=-1)
        return Analysis(jnp.where(over, 0, self._probabilities(boards)), jnp.where(over, 0, values))

    def _probabilities(self, boards: Any) -> jax.Array:
        """Returns float32[B, num_actions], of the best actions."""
        scores = self.solver.scores(self.env.unwrapped, self.table, boards)
        best = scores == scores.max(-1, keepdims=True)
        if self.ties == "first":
            best &= best.cumsum(-1) == 1
        return best / best.sum(-1, keepdims=True)

    def __str__(self) -> str:
        return self.text


def make(env: Env[Any], file: str, ties: Ties = "first") -> Agent:
    """Returns the agent `solver(FILE)`.

    Args:
      env: the game of the solution, or `auto_reset` of it.
      file: the file, which `python -m jaxgames.solvers GAME --output FILE` wrote.
      ties: of several equal actions, the "first" is played, or a "random" one.
    """
    check_choice("ties", ties, get_args(Ties))
    game = env.unwrapped
    with named_by_parameter(
        file, f'the file of a solution, which python -m jaxgames.solvers "{game}" --output {file} writes'
    ):
        solution = load(file, game)
    text = f"solver({written_file(file)}{'' if ties == 'first' else ', ties=random'})"
    return SolverAgent(env, type(solution), text, ties, solution.device_table)
