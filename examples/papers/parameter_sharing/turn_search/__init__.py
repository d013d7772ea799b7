"""A search of one's own turns on the star with six seats, with learned weights: the agent `race(FILE)`.

    python -m examples.papers.parameter_sharing.turn_search.learning --size 3 --output runs/race
    text = "examples.papers.parameter_sharing.turn_search:race(runs/race/3.npz)"
    jaxgames.agents.make(text, jaxgames.make("chinese_checkers(size=3)"))

The search models the other seats as greedy (`search.py` of this folder). It is repeated before every submove, so an
agent needs no memory. The same key gives the same action.
"""

from typing import Any

from examples.papers.parameter_sharing.turn_search.moves import SEATS
from examples.papers.parameter_sharing.turn_search.player import RacePlayer, load
from examples.papers.parameter_sharing.turn_search.search import Settings
from jaxgames import agents
from jaxgames._checks import ParameterError, check_int, check_number
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.games.chinese_checkers import ChineseCheckers
from jaxgames.host_agent import HostPlayerAgent

__all__ = ["make"]

MAX_SETTING = 10_000  # of the candidates, samples and rounds


def make(
    env: Env[Any], file: str, candidates: int = 10, samples: int = 8, rounds: int = 10, near: float = 5.0
) -> Agent:
    """Returns the agent `race(FILE)`, for chinese_checkers with six seats or `auto_reset` of it.

    `file` has the weights for the size of the board. `Settings` has the meaning of the other parameters.

    Raises FileNotFoundError, and ParameterError (a ValueError) for another game or a value that is not allowed.
    """
    game = env.unwrapped
    if not isinstance(game, ChineseCheckers) or game.num_players != SEATS:
        raise ParameterError(f"race plays only chinese_checkers with six seats, not {game}: use greedy")
    for name, value, low in (("candidates", candidates, 1), ("samples", samples, 0), ("rounds", rounds, 1)):
        check_int(name, value, low, MAX_SETTING)
    check_number("near", near)
    size, weights = load(file)
    if size != game.size:
        raise ParameterError(f"{file} has weights for size={size}, not for {game}")
    settings = Settings(candidates, samples, rounds, float(near))
    parameters = ", ".join(f"{name}={value!r}" for name, value in settings._asdict().items())
    return HostPlayerAgent(env, RacePlayer(size, weights, settings), f"{__name__}:race({file!r}, {parameters})")


agents.register("race", make)
