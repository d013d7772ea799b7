"""Exact solutions of games, searches, and the strength of agents.

    solve, load, Solution       exact solutions; see `jaxgames.solvers.exact.solution`
    strength.measure            how near an agent comes to solving a game

The solution and the search of a game lie in its folder, jaxgames/games/<id>/.
"""

from jaxgames.solvers import strength
from jaxgames.solvers.exact.solution import Children, Solution, load, solve

__all__ = [
    "Children",
    "Solution",
    "load",
    "solve",
    "strength",
]
