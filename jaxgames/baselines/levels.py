"""The levels of a game: agents that stand ready as `easy`, `medium` and `hard`, and how strong they are.

    levels(env)["hard"]         the text of an agent, for `jaxgames.agents.make`
    ratings(env)["hard"]        its rating on the ladder of this board, if one was played

A level is an agent of the package: the greedy agent, with random moves in between for beginners, the baseline agent,
alpha-beta search, and tree search with greedy rollouts where a game has neither. `levels.json` has the ratings, which
`python -m train.baselines --levels` measures.
"""

import functools
import json
from pathlib import Path
from typing import Any

from jaxgames import agents
from jaxgames._checks import ParameterError
from jaxgames.baselines.cards import Rating, find
from jaxgames.env import Env
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.solvers.alphabeta.agent import PLAYERS
from jaxgames.solvers.dots_and_boxes.moves import MAX_SIZE
from jaxgames.solvers.exact.solution import check_keeps_rules
from jaxgames.wrappers import game_of

NAMES = ("easy", "medium", "hard")
FILE = Path(__file__).with_name("levels.json")
BEGINNER = "greedy(epsilon=0.3)"
TREE_SEARCH = "mcts(simulations=200, playout='greedy')"
ANY_GAME = {"easy": "mcts(simulations=10)", "medium": "mcts(simulations=100)", "hard": "mcts(simulations=1000)"}


def levels(env: Env[Any]) -> dict[str, str]:
    """Returns the texts of the agents `easy`, `medium` and `hard` of a game, the weakest first.

    `hard` moves within about two seconds, after its program is compiled. A game of your own has the tree search `mcts`;
    a game of chance without greedy scores has no levels.
    """
    game = game_of(env)
    baseline = find(env) is not None
    if game.id in ("checkers", "minichess"):
        medium = "baseline" if baseline else "alphabeta(depth=1, epsilon=0.2)"
        return _named("greedy", medium, f"alphabeta(depth={DEPTHS[game.id]}, milliseconds=1000)")
    if game.id == "dots_and_boxes":
        if not plays("alphabeta", env):
            return _named(BEGINNER, "greedy", TREE_SEARCH)
        return _named("greedy", "baseline" if baseline else "alphabeta(milliseconds=5, epsilon=0.2)", HARD_BOXES)
    if plays("greedy", env):
        return _named(BEGINNER, "greedy", "baseline" if baseline else TREE_SEARCH)
    return {} if env.needs_key else dict(ANY_GAME)


DEPTHS = {"checkers": 8, "minichess": 6}  # of `hard`; the limit of time counts where the search is not compiled
HARD_BOXES = "alphabeta(milliseconds=200)"


def ratings(env: Env[Any]) -> dict[str, Rating]:
    """Returns the ratings of the levels by their names; empty for a board without a ladder.

    They are on one scale per board, on which `random` has 0. The ladders of two boards do not compare.
    """
    texts = levels(env)
    board = str(game_of(env))
    return {name: Rating(**row) for name, row in _stored().get(board, {}).items() if row["agent"] == texts.get(name)}


def plays(text: str, env: Env[Any]) -> bool:
    """Returns whether an agent of the package plays a game.

    The agent is made to find out, but not `alphabeta`, whose program takes seconds to compile.
    """
    try:
        if text.startswith("alphabeta"):
            return _has_alphabeta(env)
        agents.make(text, env)
    except (ParameterError, ImportError):  # not this game, or a file of another platform
        return False
    return True


def _has_alphabeta(env: Env[Any]) -> bool:
    """Returns whether `alphabeta` plays a game. Raises ParameterError for a `Wrapper` that changes the rules."""
    check_keeps_rules(env)
    game = game_of(env)
    return game.id in PLAYERS and not (isinstance(game, DotsAndBoxes) and max(game.rows, game.cols) > MAX_SIZE)


def _named(*texts: str) -> dict[str, str]:
    return dict(zip(NAMES, texts, strict=True))


@functools.cache
def _stored() -> dict[str, dict[str, dict[str, Any]]]:
    """Returns the ratings of all boards: for each board and level, the fields of a `Rating`."""
    if not FILE.exists():
        return {}
    boards = json.loads(FILE.read_text(encoding="utf-8"))["boards"]
    return {each["env"]: each["levels"] for each in boards}
