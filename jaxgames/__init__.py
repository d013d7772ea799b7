"""Board games as vectorised JAX environments.

The public names are those below, and those without an underscore in the modules `agents`, `arena`, `baselines`,
`games`, `greedy`, `matrix_games`, `mcts`, `render`, `solvers`, `testing` and `wrappers`. Names that begin with an
underscore are internal, except the methods of `Env` that a game supplies.
"""

from jaxgames import agents as agents
from jaxgames import arena as arena
from jaxgames import baselines as baselines
from jaxgames import greedy as greedy
from jaxgames import matrix_games as matrix_games
from jaxgames import mcts as mcts
from jaxgames import render as render
from jaxgames import solvers as solvers
from jaxgames import testing as testing
from jaxgames._checks import ParameterError as ParameterError
from jaxgames._checks import ParameterTypeError as ParameterTypeError
from jaxgames.env import Env as Env
from jaxgames.env import Outcome as Outcome
from jaxgames.env import State as State
from jaxgames.registry import list_games as list_games
from jaxgames.registry import make as make
from jaxgames.registry import register as register
from jaxgames.sampling import random_action as random_action
from jaxgames.sampling import sample_action as sample_action
from jaxgames.wrappers import auto_reset as auto_reset

__version__ = "0.1.0"
