"""The alpha-beta player of checkers, and the values of a position's moves in men.

player = make_player(env, depth=6)
action = player.choose(state, seed=0)

values = evaluate(env, state, depth=6)      # Evaluation(value, actions, values)
"""

from jaxgames.solvers.alphabeta.deepening import Evaluation, plies_to_end
from jaxgames.solvers.checkers.search import GAME

evaluate, make_player = GAME.evaluate, GAME.make_player

__all__ = ["Evaluation", "evaluate", "make_player", "plies_to_end"]
