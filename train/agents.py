"""Agents by name: those of training runs, and those of `jaxgames.agents`.

    agent = train.agents.make("runs/first", env)     # the last checkpoint of a run
    agent = train.agents.make("random", env)         # an agent of jaxgames.agents

A new learner adds its class to LEARNERS.
"""

import importlib
from pathlib import Path
from typing import Any

from jaxgames import Env, agents
from jaxgames.agents import Agent
from train.driver.learner import Learner
from train.driver.run_folder import RunFolder

LEARNERS = {"ppo": "PPO"}  # the class in train.<name>; imported when a run is opened, because learners use this module


def make(text: str, env: Env[Any]) -> Agent:
    """Returns the agent that `text` names, as a player of `env`.

    Args:
      text: a name from `jaxgames.agents.list_agents()`, or the folder of a run. For a folder that has such a name,
        write a path: "./random".

    Raises:
      FileNotFoundError: `text` is neither, or the run has no checkpoint yet.
      ValueError: the run was trained on another game.
    """
    if text in agents.list_agents():
        return agents.make(text, env)
    try:
        run = open_run(Path(text))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}, or one of the agents {', '.join(agents.list_agents())}") from None
    if run.learner.env != env:
        raise ValueError(f"{text} was trained on {run.learner.env}, not on {env}")
    return agent_of_run(run)


def open_run(folder: Path) -> RunFolder:
    """Returns the run in a folder, of any learner. Raises FileNotFoundError if there is none."""
    learners: list[type[Learner]] = [
        getattr(importlib.import_module(f"train.{name}"), learner) for name, learner in LEARNERS.items()
    ]
    return RunFolder.open(folder, *learners)


def agent_of_run(run: RunFolder, temperature: float | None = None) -> Agent:
    """Returns the agent of a run's last checkpoint.

    Args:
      temperature: 1 samples from the policy, 0 plays greedily. None: the run's own setting.

    Raises:
      FileNotFoundError: the run has no checkpoint yet.
      ValueError: a temperature below 0.
    """
    return run.learner.agent(run.params(), temperature)
