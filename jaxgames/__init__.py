"""Board games as vectorised JAX environments.

The public names are those of `__all__`, here and in the modules and packages that it lists, which load when they are
used. Names that begin with an underscore are internal, except the methods of `Env` that a game supplies.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jaxgames._checks import ParameterError, ParameterTypeError
from jaxgames.env import Env, Outcome, State
from jaxgames.registry import Game, list_games, make, register
from jaxgames.sampling import random_action, sample_action
from jaxgames.wrappers import auto_reset

if TYPE_CHECKING:
    from jaxgames import (
        agents,
        arena,
        baselines,
        games,
        greedy,
        host,
        interop,
        mcts,
        play,
        policies,
        render,
        solvers,
        testing,
        wrappers,
    )

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
    "games",
    "greedy",
    "host",
    "interop",
    "list_games",
    "make",
    "mcts",
    "play",
    "policies",
    "random_action",
    "register",
    "render",
    "sample_action",
    "solvers",
    "testing",
    "wrappers",
]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Returns a module or package of `__all__` when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return __all__
