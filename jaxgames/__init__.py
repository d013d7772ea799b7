"""Board games as vectorised JAX environments.

The public names are those below, and those without an underscore in the modules `agents`, `arena`, `baselines`,
`games`, `greedy`, `mcts`, `render`, `solvers`, `testing` and `wrappers`. Names that begin with an underscore are
internal, except the methods of `Env` that a game supplies.
"""

from jaxgames import agents, arena, baselines, greedy, mcts, render, solvers, testing
from jaxgames._checks import ParameterError, ParameterTypeError
from jaxgames.env import Env, Outcome, State
from jaxgames.registry import Game, list_games, make, register
from jaxgames.sampling import random_action, sample_action
from jaxgames.wrappers import auto_reset

__all__ = [
    "Env",
    "Game",
    "Outcome",
    "ParameterError",
    "ParameterTypeError",
    "State",
    "agents",
    "arena",
    "auto_reset",
    "baselines",
    "greedy",
    "list_games",
    "make",
    "mcts",
    "random_action",
    "register",
    "render",
    "sample_action",
    "solvers",
    "testing",
]

__version__ = "0.1.0"
