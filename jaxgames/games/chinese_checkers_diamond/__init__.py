"""Chinese Checkers for two seats on the diamond."""

from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState
from jaxgames.registry import Game

__all__ = ["GAME", "ChineseCheckersDiamond", "ChineseCheckersDiamondState"]

GAME = Game(
    id=ChineseCheckersDiamond.id,
    env=ChineseCheckersDiamond,
    drawing=f"{__name__}.drawing",
    scores=f"{__name__}.scores",
    solution=f"{__name__}.solution:DiamondSolution",
    words=f"{__name__}.words",
    levels=(("greedy(epsilon=0.3)", "greedy", "baseline"),),
)
