"""Chess on 5 x 5 cells, for two seats."""

from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.registry import Game

__all__ = ["GAME", "Minichess", "MinichessState"]

GAME = Game(
    id=Minichess.id,
    env=Minichess,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    words=f"{__name__}.words",
)
