"""Tree search for every game; see `jaxgames.mcts.search`."""

from jaxgames.mcts.agents import MCTSAgent, SearchAgent
from jaxgames.mcts.config import Evaluate, Evaluation, SearchConfig
from jaxgames.mcts.search import SearchResult, bytes_per_node, search

__all__ = [
    "Evaluate",
    "Evaluation",
    "MCTSAgent",
    "SearchAgent",
    "SearchConfig",
    "SearchResult",
    "bytes_per_node",
    "search",
]
