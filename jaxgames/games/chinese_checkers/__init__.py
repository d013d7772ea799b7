"""Chinese Checkers on the star board, for 2, 3, 4 or 6 seats."""

from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState
from jaxgames.registry import Game

__all__ = ["GAME", "ChineseCheckers", "ChineseCheckersState"]

GAME = Game(
    id=ChineseCheckers.id,
    env=ChineseCheckers,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    words=f"{__name__}.words",
    levels=(("greedy(epsilon=0.3)", "greedy", "baseline"),),
)
