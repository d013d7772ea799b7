"""Chess on 5 x 5 cells, for two seats."""

from jaxgames.games.minichess.rules import Minichess, MinichessState

__all__ = ["Minichess", "MinichessState"]
