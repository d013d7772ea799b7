"""The agent `baseline`: the agent of this package for a game, as `jaxgames.baselines.cards` lists them.

    agent = jaxgames.agents.make("baseline(temperature=0.5, epsilon=0.1)", env)
    agent = jaxgames.agents.make("baseline(simulations=64)", env)         # with a tree search on its network

It needs neither flax nor `train`.
"""

import dataclasses
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent
from jaxgames.baselines import cards
from jaxgames.env import Env
from jaxgames.mcts import SearchConfig
from jaxgames.policies import file
from jaxgames.policies.exported import Play
from jaxgames.policies.policy import has_seat_values
from jaxgames.registry import make as make_env
from jaxgames.wrappers import auto_reset

ADVICE = "Use greedy, or mcts(simulations=200)"  # at the end of an error


def make(
    env: Env[Any],
    temperature: float | None = None,
    top: int | None = None,
    simulations: int | None = None,
    search: str = SearchConfig.search,
    seats: str = SearchConfig.seats,
) -> Agent:
    """Returns the agent `baseline` for a game, or `baseline(simulations=64)` with a tree search.

    The parameters are those of `jaxgames.policies.exported.make`. `env` may differ from the game of the training in
    `reward`, and in limits such as `max_plies`. A search is for the `reward` that the network learned. In a game with
    another one the agent has no values, nor with an untrained network.

    Raises ParameterError (a ValueError) also where the file does not run, as on a platform that it was not made for.
    """
    name = cards.find(env)
    if name is None:
        games = "; ".join(cards.card(other).env for other in cards.list_baselines())
        raise ParameterError(f"there is no baseline agent for {env}; there is one for {games}. {ADVICE}")
    card = cards.card(name)
    try:
        policy, params = file.load(card.file, env, cards.plays)
    except ValueError as error:
        reason = str(error).partition(": ")[0]  # without what people do who have the run of the file
        raise ParameterError(f"{reason}. {ADVICE}") from error
    is_trained = policy.header.iteration > 0 and card.has_values
    if simulations and not (is_trained and has_seat_values(env, policy.header.value_shape)):
        raise ParameterError(f"baseline has no search in {env}: its network has no trained value for every seat")
    play = Play(simulations, search, seats, temperature, top)
    learned = _with_reward_of(make_env(card.env), env)
    return play.agent(play.text("baseline"), learned, policy, params, is_trained and learned == env)


def _with_reward_of(learned: Any, env: Env[Any]) -> Env[Any]:
    """Returns a game with the `reward` of the game of the training, if it has this parameter."""
    game: Any = env.unwrapped
    if not hasattr(game, "reward") or game.reward == learned.reward:
        return env
    changed = dataclasses.replace(game, reward=learned.reward)
    return changed if game is env else auto_reset(changed)
