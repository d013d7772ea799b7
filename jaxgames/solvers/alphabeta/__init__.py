"""Alpha-beta search: the agent `alphabeta`, and the search that games complete by their moves and evaluations."""

from jaxgames.solvers.alphabeta.agent import AlphaBetaAgent, Player
from jaxgames.solvers.alphabeta.deepening import MoveValues, SearchedGame, plies_to_end

__all__ = ["AlphaBetaAgent", "MoveValues", "Player", "SearchedGame", "plies_to_end"]
