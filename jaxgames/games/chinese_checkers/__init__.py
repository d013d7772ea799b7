"""Chinese Checkers on the star board, for 2, 3, 4 or 6 seats."""

from jaxgames.games.chinese_checkers.rules import ChineseCheckers, ChineseCheckersState

__all__ = ["ChineseCheckers", "ChineseCheckersState"]
