"""American checkers, on the 32 dark squares of an 8 x 8 board."""

from jaxgames.games.checkers.rules import Checkers, CheckersState
from jaxgames.registry import Game

__all__ = ["GAME", "Checkers", "CheckersState"]

GAME = Game(
    id=Checkers.id,
    env=Checkers,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    search=f"{__name__}.search",
    words=f"{__name__}.words",
    levels=(
        ("alphabeta(depth=1, epsilon=0.5)", "baseline", "alphabeta(depth=8, milliseconds=1000)"),
        ("alphabeta(depth=1, epsilon=0.5)", "alphabeta(depth=1)", "alphabeta(depth=8, milliseconds=1000)"),
    ),
)
