"""Chess on 5 x 5 cells, for two seats."""

from jaxgames.games.minichess.rules import Minichess, MinichessState
from jaxgames.registry import Game

__all__ = ["GAME", "Minichess", "MinichessState"]

GAME = Game(
    id=Minichess.id,
    env=Minichess,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    search=f"{__name__}.search",
    words=f"{__name__}.words",
    levels=(
        ("greedy", "baseline", "alphabeta(depth=6, milliseconds=1000)"),
        ("greedy", "alphabeta(depth=1, epsilon=0.3)", "alphabeta(depth=6, milliseconds=1000)"),
    ),
)
