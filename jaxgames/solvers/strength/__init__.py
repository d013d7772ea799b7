"""How solved a game is by an agent; see `jaxgames.solvers.strength.measures`."""

from jaxgames.solvers.strength.measures import VALUE_THRESHOLD, measure, share_of

__all__ = [
    "VALUE_THRESHOLD",
    "measure",
    "share_of",
]
