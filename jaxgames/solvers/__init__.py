"""Exact solutions of games; see `jaxgames.solvers.solution`."""

from jaxgames.solvers import strength as strength
from jaxgames.solvers.solution import Children as Children
from jaxgames.solvers.solution import Solution as Solution
from jaxgames.solvers.solution import load as load
from jaxgames.solvers.solution import solve as solve
