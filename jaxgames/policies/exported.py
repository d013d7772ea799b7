"""The agent `exported(FILE)`: the policy of a file (`jaxgames.policies.file`), alone or with a tree search on it.

    python -m train.export runs/first --output first.policy     # in a checkout of the repository
    jaxgames.agents.make("exported(first.policy, simulations=64)", env)

With a search of your own:

    agent = jaxgames.agents.make("exported(first.policy)", env)
    player = jaxgames.mcts.SearchAgent(env, agent.evaluate, SearchConfig(simulations=64, slots=16), agent.params)
"""

import dataclasses
from typing import Any, NamedTuple

from jaxgames import _files
from jaxgames._specs import written_file
from jaxgames.agents import Agent
from jaxgames.env import Env
from jaxgames.mcts import SearchConfig
from jaxgames.policies.agent import PolicyAgent, temperature_of
from jaxgames.policies.file import ExportedPolicy, load


class Play(NamedTuple):
    """How an agent plays with the policy of a file: the parameters of its text; see `make`."""

    simulations: int | None = None
    search: str = SearchConfig.search
    seats: str = SearchConfig.seats
    temperature: float | None = None
    top: int | None = None

    def text(self, name: str, *first: str) -> str:
        """Returns the text of the agent: `first`, then the parameters that differ from their defaults."""
        changed = {each: value for each, value in self._asdict().items() if value != self._field_defaults[each]}
        written = [*first, *(f"{each}={value}" for each, value in changed.items())]
        return f"{name}({', '.join(written)})" if written else name

    def agent(self, text: str, env: Env[Any], policy: ExportedPolicy, params: Any, has_values: bool = True) -> Agent:
        """Returns the agent."""
        temperature = temperature_of(self.temperature, 0.0 if self.simulations else policy.header.temperature, self.top)
        agent = PolicyAgent(params, env, dataclasses.replace(policy, text=text), temperature, self.top, has_values)
        if not self.simulations:
            return agent
        config = SearchConfig(self.simulations, self.search, gamma=policy.header.gamma, seats=self.seats)
        return agent.with_search(config)


def make(
    env: Env[Any],
    file: str,
    temperature: float | None = None,
    top: int | None = None,
    simulations: int | None = None,
    search: str = SearchConfig.search,
    seats: str = SearchConfig.seats,
) -> Agent:
    """Returns the agent `exported(FILE)`, or `exported(FILE, simulations=64)` with a tree search.

    Args:
      env: the game of the policy, with or without `auto_reset`.
      file: the file, which `python -m train.export RUN --output FILE` wrote.
      temperature: 1 samples from the policy, 0 plays greedily; None is that of the run's own agent; with a
        search, None is 0.
      top: the number of most probable legal actions that are sampled from; None for all.
      simulations: of a tree search on the policy; None or 0 plays with the policy alone.
      search: the rule of the search, "gumbel", "puct" or "two_calls".
      seats: how seats choose in the tree, "paranoid" or "max_n".

    Raises ParameterError (a ValueError) also for a file of another game, another version of the game, another platform
    or another version of JAX.
    """
    play = Play(simulations, search, seats, temperature, top)
    with _files.named_by_parameter(
        file, f"the file of a policy, which python -m train.export RUN --output {file} writes in a checkout"
    ):
        policy, params = load(file, env)
    return play.agent(play.text("exported", written_file(file)), env, policy, params)
