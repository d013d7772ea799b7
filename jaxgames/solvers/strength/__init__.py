"""How solved a game is by an agent: the strength of its play beside the exact solution.

    solution = jaxgames.solvers.solve(env)
    measure(env, act, solution)["weak_solved"]

`docs/strength.md` explains every measure and its limits.
"""

from typing import Any

from jaxgames._checks import ParameterError, check_choice, check_int
from jaxgames.env import Env
from jaxgames.registry import record_of
from jaxgames.solvers.exact.solution import Solution
from jaxgames.solvers.strength.measures import VALUE_THRESHOLD, measure_alternating, share_of
from jaxgames.solvers.strength.policy_table import Act, Measured, Values

__all__ = ["VALUE_THRESHOLD", "measure", "share_of"]

MAX_PLIES = 100_000


def measure(
    env: Env[Any],
    act: Act,
    solution: Solution[Any],
    plies: int = 50,
    *,
    seat: int = 0,
    values: Values | None = None,
    strong_states: int | None = None,
    weak: bool = True,
) -> dict[str, Any]:
    """Returns the measures of an agent's strength by name; `docs/strength.md` has a table of them.

    Args:
      env: the game of the solution. Its limit of plies may differ: all boards that the agent gets are at ply 0.
      act: a function from boards [512] to int32[512], a legal action for each. It is deterministic: it depends on the
        board alone. It is called once per state, and for the weak measures on up to 4,096 sample states twice more.
      solution: from `jaxgames.solvers.solve(env)` or `load`.
      plies: the length at which a game of `ultra_weak`, `weak_uniform` is cut off and drawn. With measures of
        the game's own it is at least the most moves of a position, so that it cuts nothing off.
      seat: of the agent in the weak measures, and the seat to move in the states of the strong ones.
      values: a function from boards [512] to float32[512], the mover's expected return, where the agent has values.
      strong_states: the number of random states for the strong measures; None for all, or as
        many as the measures of the game take.
      weak: whether to add the ultra-weak and weak measures. They ask for a move in all positions of games with every
        reply, and check that `act` is deterministic.
    """
    measure_own = record_of(env).part("strength")  # of a game whose mover does not alternate, for example
    if not solution.fits(env):
        raise ParameterError(f"the solution is of {solution.env}, not of {env}: solve this game with solvers.solve")
    check_int("plies", plies, solution.max_moves if measure_own else 1, MAX_PLIES)
    check_choice("seat", seat, (0, 1))
    if strong_states is not None:
        check_int("strong_states", strong_states, 1, solution.num_states, also=" or None for all states")
    measured = Measured(env, act, solution, plies, seat, values, strong_states, weak)
    return (measure_own or measure_alternating)(measured)
