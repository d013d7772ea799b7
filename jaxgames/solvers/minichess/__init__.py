"""The alpha-beta player of 5 x 5 chess, and the values of a position's moves in pawns.

player = make_player(env, depth=4)
action = player.choose(state, seed=0)

values = evaluate(env, state, depth=4)      # Evaluation(value, actions, values)
"""

from jaxgames.solvers.alphabeta.deepening import Evaluation, plies_to_end
from jaxgames.solvers.minichess.search import GAME

evaluate, make_player = GAME.evaluate, GAME.make_player

__all__ = ["Evaluation", "evaluate", "make_player", "plies_to_end"]
