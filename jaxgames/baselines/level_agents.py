"""The levels of a game: agents that stand ready as `easy`, `medium` and `hard`, and how strong they are.

A level is an agent of the package: the greedy agent, with random moves in between for beginners, the baseline agent,
alpha-beta search, as the game's record has them, and tree search with greedy rollouts elsewhere. `levels.json` has the
ratings, which `python -m train.baselines levels` measures.
"""

import functools
import itertools
import json
from pathlib import Path
from typing import Any

from jaxgames import agents, registry
from jaxgames._checks import ParameterError
from jaxgames.baselines import cards
from jaxgames.baselines.cards import Rating, find
from jaxgames.env import Env
from jaxgames.registry import record_of

NAMES = ("easy", "medium", "hard")
FILE = Path(__file__).with_name("levels.json")
# The levels of a game whose record has none for a board. Where only the end of a game pays, a tree search with greedy
# rollouts sees no difference between quick and slow wins, and does not end games against weak opponents.
WITH_GREEDY = ("greedy(epsilon=0.4)", "greedy(epsilon=0.15)", "greedy")
WITH_GREEDY_AND_BONUSES = ("greedy(epsilon=0.3)", "greedy", "mcts(simulations=400, playout='greedy')")
MAX_ACTIONS = 800  # of a board on which this tree search takes at most about a second
ANY_GAME = ("mcts(simulations=10)", "mcts(simulations=100)", "mcts(simulations=1000)")


def levels(env: Env[Any]) -> dict[str, str]:
    """Returns the texts of the agents `easy`, `medium` and `hard` of a game, the weakest first.

    In the games of this package `hard` plays a ply within about two seconds, after its program is compiled. A game of
    your own has the greedy agent, if it has greedy scores, and tree searches. A game of chance without such scores has
    no levels.
    """
    found = find(env) is not None  # whether `baseline` plays, without loading its file
    own = [texts for texts in record_of(env).levels if all(found if t == "baseline" else plays(t, env) for t in texts)]
    if own:
        texts = own[0]
    elif plays("greedy", env):
        searches = not (env.terminal_rewards or env.needs_key) and env.num_actions <= MAX_ACTIONS
        texts = WITH_GREEDY_AND_BONUSES if searches else WITH_GREEDY
    else:
        texts = () if env.needs_key else ANY_GAME
    return dict(zip(NAMES, texts, strict=False))  # none, or three


def ratings(env: Env[Any]) -> dict[str, Rating]:
    """Returns the ratings of the levels by their names; empty for a board without a ladder.

    They are on one scale per board, on which `random` has 0; those of two boards do not compare. As with the baseline
    agent, boards that differ only in `reward`, `draw_rule` or a limit have the same.
    """
    texts, game = levels(env), env.unwrapped
    boards = [board for board in _stored() if board["env"].partition("(")[0] == game.id]
    rated = next((board["levels"] for board in boards if cards.plays(_game(board["env"]), game)), {})
    return {
        name: Rating(row["agent"], row["elo"], tuple(row["interval"]))
        for name, row in rated.items()
        if row["agent"] == texts.get(name)
    }


def shares_won(env: Env[Any]) -> dict[str, float]:
    """Returns the share of games that each level wins against the level below, by their names; a draw is half a win.

    It is the share that their `ratings` expect; below `easy` is `random`. A level is left out if it or the level below
    has no rating.
    """
    elo = {"random": 0.0, **{name: rating.elo for name, rating in ratings(env).items()}}
    pairs = itertools.pairwise(("random", *NAMES))
    return {name: 1 / (1 + 10 ** ((elo[below] - elo[name]) / 400)) for below, name in pairs if {below, name} <= {*elo}}


def plays(text: str, env: Env[Any]) -> bool:
    """Returns whether an agent of the package plays a game.

    The agent is made to find out, but not `alphabeta`, whose program takes seconds to compile.
    """
    record = record_of(env)
    try:
        if text.startswith("alphabeta"):
            return record.search is not None and record.is_searched(env.unwrapped)
        agents.make(text, env)
    except (ParameterError, ImportError):  # not this game, or a file of another platform
        return False
    return True


@functools.cache
def _stored() -> list[dict[str, Any]]:
    """Returns the boards of the file, each with the fields of a `Rating` for every level."""
    return json.loads(FILE.read_text(encoding="utf-8"))["boards"]


_game = functools.cache(registry.make)
