"""The alpha-beta player of 5 x 5 chess, and the values of a position's moves."""

from jaxgames.solvers.minichess.player import Evaluation, evaluate, make_player, plies_to_end

__all__ = ["Evaluation", "evaluate", "make_player", "plies_to_end"]
