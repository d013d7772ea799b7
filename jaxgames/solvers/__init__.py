"""Exact solutions of games; see `jaxgames.solvers.exact.solution`."""

from jaxgames.solvers import strength as strength
from jaxgames.solvers.exact.solution import Children as Children
from jaxgames.solvers.exact.solution import Solution as Solution
from jaxgames.solvers.exact.solution import load as load
from jaxgames.solvers.exact.solution import solve as solve
