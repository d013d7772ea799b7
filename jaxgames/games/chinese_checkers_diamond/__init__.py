"""Chinese Checkers for two seats on the diamond."""

from jaxgames.games.chinese_checkers_diamond.rules import ChineseCheckersDiamond, ChineseCheckersDiamondState

__all__ = ["ChineseCheckersDiamond", "ChineseCheckersDiamondState"]
