"""The agent `baseline`: the agent of this package for a game.

    agent = jaxgames.agents.make("baseline", env)
    agent = jaxgames.agents.make("baseline(temperature=0.5, epsilon=0.1)", env)
    agent = jaxgames.agents.make("baseline(simulations=64)", env)         # with a tree search on its network

It needs neither flax nor `train`. `jaxgames.baselines.cards` lists the games that have one.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, Analysis, pytree
from jaxgames.baselines import cards
from jaxgames.env import Env
from jaxgames.mcts import SearchConfig
from jaxgames.policies import file
from jaxgames.policies.agent import temperature_of
from jaxgames.policies.exported import ExportedAgent, ExportedSearchAgent, check_parameters
from jaxgames.registry import make as make_env
from jaxgames.wrappers import auto_reset, without_auto_reset

ADVICE = "Use greedy, or mcts(simulations=200)"  # at the end of an error


@pytree
@dataclass(frozen=True)
class BaselineAgent(ExportedAgent):
    """The `ExportedAgent` of a file. It has no values if its network is untrained, or learned another `reward`."""

    has_values: bool = field(default=True, metadata={"static": True})

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the values of the seats; None if it has none."""
        found = super().analyse(states)
        return found if self.has_values else found._replace(values=None)

    def __str__(self) -> str:
        written = self.written_parameters()
        return f"baseline({', '.join(written)})" if written else "baseline"


@pytree
@dataclass(frozen=True)
class BaselineSearchAgent(ExportedSearchAgent):
    """The `ExportedSearchAgent` of a file. It searches for the `reward` that its network learned.

    It has no values if the game has another `reward`.
    """

    has_values: bool = field(default=True, metadata={"static": True})

    def analyse(self, states: Any) -> Analysis:
        """Returns the probabilities that `act` plays with, and the values of the seats; None if it has none."""
        found = super().analyse(states)
        return found if self.has_values else found._replace(values=None)

    def __str__(self) -> str:
        return f"baseline({', '.join(self.written_parameters())})"


def make(
    env: Env[Any],
    temperature: float | None = None,
    top: int | None = None,
    simulations: int | None = None,
    search: str = SearchConfig.policy,
    seats: str = SearchConfig.seats,
    proofs: bool = SearchConfig.proofs,
) -> Agent:
    """Returns the agent `baseline` for a game, or `baseline(simulations=64)` with a tree search.

    Args:
      env: the game, with or without `auto_reset`. It may differ from the game of the training in `reward`, and in
        limits such as `max_plies`.
      temperature: 1 samples from the policy, 0 plays greedily; None is the agent's own, which is on its card.
      top: the number of most probable legal actions that are sampled from; None for all.
      simulations: of a tree search on the policy, which plays greedily without a temperature; None or 0: no search.
      search: the rule of the search, "gumbel" or "puct".
      seats: how seats choose in the tree, "paranoid" or "max_n".
      proofs: whether the search treats proved results as certain.

    Raises ParameterError (a ValueError) for a game without a baseline agent, and for a parameter that is not allowed.
    Raises it also where the file does not run, as on a platform that it was not made for, and for a search with a
    network that has no trained value for every seat.
    """
    check_parameters(temperature, top, simulations)
    name = cards.find(env)
    if name is None:
        games = "; ".join(cards.card(other).env for other in cards.list_baselines())
        raise ParameterError(f"there is no baseline agent for {env}; there is one for {games}. {ADVICE}")
    card = cards.card(name)
    try:
        policy, params = file.load(card.file, env, cards.plays)
    except file.UnfitFileError as error:
        raise ParameterError(f"{error.reason}. {ADVICE}") from error
    except ValueError as error:
        raise ParameterError(str(error)) from error
    with_reward = _with_reward_of(make_env(card.env), env)
    is_trained = policy.header.iteration > 0 and card.has_values
    has_values = is_trained and with_reward == env
    temperature_alone = temperature_of(temperature, policy.header.temperature, top)
    agent = BaselineAgent(params, env, policy, float(temperature_alone), top, has_values)
    if simulations:
        if not (is_trained and agent.values_every_seat):
            raise ParameterError(f"baseline has no search in {env}: its network has no trained value for every seat")
        gamma = policy.header.gamma
        config = SearchConfig(simulations=simulations, policy=search, gamma=gamma, seats=seats, proofs=proofs)
        chosen = temperature_of(temperature, 0.0, top)
        return BaselineSearchAgent(params, with_reward, policy, config, chosen, top, has_values)
    return agent


def _with_reward_of(learned: Any, env: Env[Any]) -> Env[Any]:
    """Returns a game with the `reward` of the game of the training, if it has this parameter."""
    game: Any = without_auto_reset(env)[0]
    if not hasattr(game, "reward") or game.reward == learned.reward:
        return env
    changed = dataclasses.replace(game, reward=learned.reward)
    return changed if game is env else auto_reset(changed)
