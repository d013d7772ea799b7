"""American checkers, on the 32 dark squares of an 8 x 8 board."""

from jaxgames.games.checkers.rules import Checkers, CheckersState
from jaxgames.registry import Game

__all__ = ["GAME", "Checkers", "CheckersState"]

GAME = Game(
    id=Checkers.id,
    env=Checkers,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    words=f"{__name__}.words",
)
