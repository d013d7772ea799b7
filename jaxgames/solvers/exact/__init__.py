"""Exact solutions: the table of values, how it is computed and verified, and the agent that plays it."""

from jaxgames.solvers.exact.solution import Children, Solution, load, solve
from jaxgames.solvers.exact.verify import count_errors

__all__ = ["Children", "Solution", "count_errors", "load", "solve"]
