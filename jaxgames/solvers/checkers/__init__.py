"""The alpha-beta player of checkers, and the values of a position's moves."""

from jaxgames.solvers.checkers.player import Evaluation, evaluate, make_player, plies_to_end

__all__ = ["Evaluation", "evaluate", "make_player", "plies_to_end"]
