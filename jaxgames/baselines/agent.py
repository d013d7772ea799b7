"""The agent `baseline`: the agent of this package for a game.

    agent = jaxgames.agents.make("baseline", env)
    agent = jaxgames.agents.make("baseline(temperature=0.5, epsilon=0.1)", env)

It needs neither flax nor `train`. `jaxgames.baselines.cards` lists the games that have one.
"""

from dataclasses import dataclass, field
from typing import Any

from jaxgames._checks import ParameterError
from jaxgames.agents import Agent, Analysis, pytree
from jaxgames.baselines import cards
from jaxgames.env import Env
from jaxgames.policies import file as exported
from jaxgames.policies.agent import temperature_of
from jaxgames.policies.file import ExportedAgent
from jaxgames.registry import make as make_env
from jaxgames.wrappers import without_auto_reset

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


def make(env: Env[Any], temperature: float | None = None, top: int | None = None) -> Agent:
    """Returns the agent `baseline` for a game.

    Args:
      env: the game, with or without `auto_reset`. It may differ from the game of the training in `reward`, and in
        limits such as `max_plies`.
      temperature: 1 samples from the policy, 0 plays greedily; None is the agent's own, which is on its card.
      top: the number of most probable legal actions that are sampled from; None for all.

    Raises ParameterError (a ValueError) for a game without a baseline agent, and for a parameter that is not allowed.
    Raises it also where the file does not run, as on a platform that it was not made for.
    """
    exported.check_parameters(temperature, top)
    name = cards.find(env)
    if name is None:
        games = "; ".join(cards.card(other).env for other in cards.list_baselines())
        raise ParameterError(f"there is no baseline agent for {env}; there is one for {games}. {ADVICE}")
    card = cards.card(name)
    try:
        policy, params = exported.load(card.file, env, cards.plays)
    except exported.UnfitFileError as error:
        raise ParameterError(f"{error.reason}. {ADVICE}") from error
    except ValueError as error:
        raise ParameterError(str(error)) from error
    chosen = temperature_of(temperature, policy.header.temperature, top)
    has_values = policy.header.iteration > 0 and _has_reward_of(card.env, env)
    return BaselineAgent(params, env, policy, float(chosen), top, has_values)


def _has_reward_of(text: str, env: Env[Any]) -> bool:
    """Returns whether a game has the same `reward` as that of a text, or no such parameter."""
    rewards = (getattr(each, "reward", None) for each in (make_env(text), without_auto_reset(env)[0]))
    return len(set(rewards)) == 1
