"""The agent `exported(FILE)`: the policy of a file (`jaxgames.policies.file`), alone or with a tree search on it.

    python -m train.export runs/first --output first.policy     # in a checkout of the repository
    jaxgames.agents.make("exported(first.policy, temperature=0, epsilon=0.1)", env)
    jaxgames.agents.make("exported(first.policy, simulations=64)", env)

With a search of your own:

    agent = jaxgames.agents.make("exported(first.policy)", env)
    player = jaxgames.mcts.MCTSAgent(env, agent.evaluate, SearchConfig(simulations=64, slots=16), agent.params)
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jax.core import Tracer

from jaxgames import _files
from jaxgames._checks import check_int, check_number
from jaxgames._specs import written_file
from jaxgames.agents import Agent, pytree
from jaxgames.env import Env
from jaxgames.mcts import SearchConfig
from jaxgames.mcts.config import MAX_SIMULATIONS
from jaxgames.policies.agent import PolicyAgent, temperature_of
from jaxgames.policies.evaluate import PolicyEvaluate, has_seat_values
from jaxgames.policies.file import ExportedPolicy, load
from jaxgames.policies.search_agent import SearchAgent
from jaxgames.wrappers import without_auto_reset


@pytree
@dataclass(frozen=True)
class ExportedAgent(PolicyAgent):
    """The `PolicyAgent` of a file. Its parameters are a tuple of arrays."""

    policy: ExportedPolicy = field(metadata={"static": True})

    @property
    def evaluate(self) -> PolicyEvaluate:
        """The evaluation of boards for `jaxgames.mcts`, with the parameters `params`."""
        return PolicyEvaluate(without_auto_reset(self.env)[0], self.policy)

    @property
    def values_every_seat(self) -> bool:
        """Returns whether the policy has a value for every seat; see `jaxgames.policies.evaluate`."""
        return has_seat_values(self.env, self.policy.header.value_shape)

    def __str__(self) -> str:
        """Returns the agent's text, with the parameters that differ from those of the run's own agent."""
        return f"exported({', '.join([written_file(self.policy.file), *self.written_parameters()])})"

    def written_parameters(self) -> list[str]:
        """Returns the parameters that differ from those of the run's own agent, such as "temperature=0.5"."""
        return _written_choice(self.temperature, self.policy.header.temperature, self.top)


@pytree
@dataclass(frozen=True)
class ExportedSearchAgent(SearchAgent):
    """The `SearchAgent` of a file; without a temperature it plays the action that the search chooses."""

    policy: ExportedPolicy = field(metadata={"static": True})

    def __str__(self) -> str:
        """Returns the agent's text, with the parameters that differ from their defaults."""
        return f"exported({', '.join([written_file(self.policy.file), *self.written_parameters()])})"

    def written_parameters(self) -> list[str]:
        """Returns the simulations, and the parameters that differ from their defaults."""
        written = [f"simulations={self.config.simulations}"]
        for parameter, value, default in (
            ("search", self.config.policy, SearchConfig.policy),
            ("seats", self.config.seats, SearchConfig.seats),
            ("proofs", self.config.proofs, SearchConfig.proofs),
        ):
            written += [f"{parameter}={value}"] if value != default else []
        return [*written, *_written_choice(self.temperature, 0.0, self.top)]


def _written_choice(temperature: Any, default: float, top: int | None) -> list[str]:
    """Returns the parameters by which an agent chooses an action, where they differ from the defaults."""
    temperature = 0.0 if temperature is None else temperature
    written: list[str] = []
    if isinstance(temperature, Tracer):
        written.append(f"temperature={temperature}")
    elif temperature != np.float32(default):
        written.append(f"temperature={temperature:g}")
    if top is not None:
        written.append(f"top={top}")
    return written


def make(
    env: Env[Any],
    file: str,
    temperature: float | None = None,
    top: int | None = None,
    simulations: int | None = None,
    search: str = SearchConfig.policy,
    seats: str = SearchConfig.seats,
    proofs: bool = SearchConfig.proofs,
) -> Agent:
    """Returns the agent `exported(FILE)`, or `exported(FILE, simulations=64)` with a tree search.

    Args:
      env: the game of the policy, with or without `auto_reset`.
      file: the file, which `python -m train.export RUN --output FILE` wrote.
      temperature: 1 samples from the policy, 0 plays greedily; None is that of the run's own agent; with a
        search, None is 0.
      top: the number of most probable legal actions that are sampled from; None for all.
      simulations: of a tree search on the policy; None or 0 plays with the policy alone.
      search: the rule of the search, "gumbel" or "puct".
      seats: how seats choose in the tree, "paranoid" or "max_n".
      proofs: whether the search treats proved results as certain.

    Raises ParameterError (a ValueError) for a file that cannot be read, is damaged or is not an exported policy. Raises
    it also for a file of another game, another version of the game, another platform or another version of JAX, and
    for a parameter that is not allowed.
    """
    check_parameters(temperature, top, simulations)
    with _files.named_by_parameter(
        file, f"the file of a policy, which python -m train.export RUN --output {file} writes in a checkout"
    ):
        policy, params = load(file, env)
    if simulations:
        gamma = policy.header.gamma
        config = SearchConfig(simulations=simulations, policy=search, gamma=gamma, seats=seats, proofs=proofs)
        return ExportedSearchAgent(params, env, policy, config, temperature_of(temperature, 0.0, top), top)
    temperature = temperature_of(temperature, policy.header.temperature, top)
    return ExportedAgent(params, env, policy, float(temperature), top)


def check_parameters(temperature: float | None, top: int | None, simulations: int | None) -> None:
    """Raises ParameterError for a value that is not allowed; see `make`."""
    if temperature is not None:
        check_number("temperature", temperature, lowest=0)
    if top is not None:
        check_int("top", top, 1, 2**31 - 1, " or None")
    if simulations is not None:
        check_int("simulations", simulations, 0, MAX_SIMULATIONS, " or None")
