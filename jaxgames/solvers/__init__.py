"""Exact solutions of games; see `jaxgames.solvers.exact.solution`."""

from jaxgames.solvers import strength
from jaxgames.solvers.exact.solution import Children, Solution, load, solve

__all__ = [
    "Children",
    "Solution",
    "load",
    "solve",
    "strength",
]
