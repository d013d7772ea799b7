"""Tree search for every game; see `jaxgames.mcts.search`."""

from jaxgames.mcts.agents import MCTSAgent as MCTSAgent
from jaxgames.mcts.config import Evaluate as Evaluate
from jaxgames.mcts.config import Evaluation as Evaluation
from jaxgames.mcts.config import SearchConfig as SearchConfig
from jaxgames.mcts.search import SearchResult as SearchResult
from jaxgames.mcts.search import bytes_per_node as bytes_per_node
from jaxgames.mcts.search import search as search
