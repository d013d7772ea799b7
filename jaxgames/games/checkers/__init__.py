"""American checkers, on the 32 dark squares of an 8 x 8 board."""

from jaxgames.games.checkers.rules import Checkers, CheckersState

__all__ = ["Checkers", "CheckersState"]
