"""Agents by text: checkpoints of training runs, and the agents of `jaxgames.agents`.

    random, greedy(epsilon=0.1), mypackage.mymodule:myagent(depth=2)      agents of jaxgames.agents
    easy, medium, hard                                                    the levels of the game, see jaxgames.baselines
    runs/first                                                            the last checkpoint of a run
    runs/first@40                                                         the checkpoint of iteration 40
    runs/first@40(temperature=0.5, epsilon=0.1, top=5)                    the parameters of `Learner.agent`

    agent = train.agents.make("runs/first@40(top=5)", env)

A run plays the game that it was trained on. If the parameters of its network fit every board, it plays the other boards
of the game too.

A text that is the whole name of a run's folder means that folder, whatever characters it has. Only the names of
`jaxgames.agents` come first; write "./random" for a folder with such a name.
"""

import dataclasses
import importlib
import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast, get_type_hints

import jax
import numpy as np

from jaxgames import Env, ParameterError, agents, baselines
from jaxgames import make as make_env
from jaxgames._checks import check_text
from jaxgames._specs import MODULE_AND_NAME, split_parameters
from jaxgames.agents import Agent
from jaxgames.mcts import SearchAgent
from jaxgames.policies.agent import PolicyAgent
from train.bounds import fits, format_type
from train.driver.learner import Learner, learner_of_module
from train.driver.run_folder import RunFolder
from train.models.policy import Policy

# The class in train.<name>. It is imported when a run is opened, because learners use this module.
LEARNERS = {"ppo": "PPO", "alphazero": "AlphaZero", "imitation": "Imitation", "klent": "KLENT"}
LEVELS = ("easy", "medium", "hard")  # of `jaxgames.baselines.levels`


class RunText(NamedTuple):
    """The parts of a text that names the agent of a run; `str` returns the text."""

    folder: Path
    iteration: int | None  # of the checkpoint; None for the last one
    parameters: dict[str, Any]  # of `Learner.agent`

    def __str__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        at = "" if self.iteration is None else f"@{self.iteration}"
        return f"{self.folder}{at}" + (f"({parameters})" if parameters else "")

    def open(self) -> RunFolder:
        return open_run(self.folder)


def make(text: str, env: Env[Any], *, abstract: bool = False) -> Agent:
    """Returns the agent that `text` names, for the game `env`.

    Args:
      text: a text that `jaxgames.agents.make` takes, a level of the game such as `hard`, or `RUN`, or `RUN@ITERATION`,
        with or without parameters in brackets. RUN is the folder of a run; for a folder that has the name of an agent,
        write a path: "./random".
      abstract: puts zeros in the place of a run's parameters. It reads settings, but no checkpoint.

    Raises:
      FileNotFoundError: `text` is neither, or the run has no such checkpoint.
      ValueError: the run was trained on another game and does not play this one, or a parameter is wrong.
    """
    named = parse(text)
    if named is None:
        level = text.strip()
        return agents.make(baselines.levels(env).get(level, text) if level in LEVELS else text, env)
    run = named.open()
    if not abstract:
        return agent_of_run(run, named.iteration, env, **named.parameters)
    params = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), run.params_shapes())
    return _agent(run, params, env, named.parameters)


def parse(text: str) -> RunText | None:
    """Returns the run that `text` names with iteration and parameters; None if it names an agent of `jaxgames.agents`.

    Raises FileNotFoundError if it names neither, ValueError for wrong brackets or an iteration that is not a number.
    """
    check_text(text)
    if _is_library_agent(text):
        return None
    if _holds_run(text):
        return RunText(Path(text), None, {})
    name, parameters = split_parameters(text, f"expected an agent such as random or runs/first(top=5), not {text!r}")
    folder, at, iteration = name.rpartition("@")
    if _holds_run(name):
        return RunText(Path(name), None, parameters)
    if not (at and _holds_run(folder)):
        raise FileNotFoundError(_neither(folder or name))
    if not (iteration.isascii() and iteration.isdecimal()):
        raise ValueError(f"expected the number of an iteration behind the @ in {text!r}, such as {folder}@40")
    return RunText(Path(folder), int(iteration), parameters)


def env_of(text: str) -> Env[Any] | None:
    """Returns the game of an agent's run; None for an agent of `jaxgames.agents`, which plays any."""
    named = parse(text)
    return None if named is None else named.open().learner.env


def name_of(text: str) -> str:
    """Returns an agent's text with the iteration that plays: "runs/first@40" for "runs/first" after 40 iterations."""
    named = parse(text)
    if named is None:
        return text.strip()
    return str(named._replace(iteration=named.open().kept_iteration(named.iteration)))


def with_temperature(text: str, temperature: float | None) -> str:
    """Returns the text of a run's agent with a temperature, unless that is None or it has one in its brackets.

    The text of an agent of `jaxgames.agents` is returned as it is.
    """
    named = parse(text)
    if named is None or temperature is None:
        return text
    return str(named._replace(parameters={"temperature": temperature, **named.parameters}))


def play_of(agent: Agent) -> str:
    """Returns how an agent of a network chooses, such as "greedy" or "64 simulations"; "" for any other agent."""
    if isinstance(agent, agents.EpsilonAgent):
        return play_of(agent.agent)
    if not isinstance(agent, PolicyAgent | SearchAgent):
        return ""
    draws = "" if agent.temperature is None else f"temperature {float(agent.temperature):g}"
    searches = f"{agent.config.simulations} simulations" if isinstance(agent, SearchAgent) else ""
    return ", ".join(part for part in (searches, draws) if part) or "greedy"


def env_for(texts: Sequence[str], env: str | None = None) -> Env[Any]:
    """Returns the game of some agents: `env`, or without it the game of the first run among them.

    Args:
      env: a game as `jaxgames.make` takes it; if there are runs, all of them must play it.
    """
    game = None if env is None else make_env(env)
    for text in texts:
        if (named := parse(text)) is not None:
            run = named.open()
            game = run.learner.env if game is None else game
            learner_for(run, game)
    if game is None:
        listed = ", ".join(texts)
        raise ValueError(f"none of {listed} is a run, which would give the game: add the game, such as --env minichess")
    return game


def plays(learner: Learner, env: Env[Any]) -> bool:
    """Returns whether the agents of a learner play a game: its own, or another board for which its network is made."""
    policy = getattr(learner, "policy", None)
    fits_any_board = isinstance(policy, Policy) and policy.network.any_board
    return learner.env == env or (fits_any_board and _is_board_of(learner.env, env))


def _is_board_of(own: Env[Any], env: Env[Any]) -> bool:
    return type(own) is type(env) and own.num_players == env.num_players


def learner_for(run: RunFolder, env: Env[Any]) -> Learner:
    """Returns the learner whose agents play a game with the parameters of a run.

    On another board, an agent searches with the reward that the run has learned, and its values are in that unit.
    """
    learner, own = run.learner, cast(Any, run.learner.env)
    if own == env:
        return learner
    if not plays(learner, env):
        advice = "; only a run with a network for any board, such as --network graph, plays other boards"
        raise ValueError(f"{run.folder} was trained on {own}, not on {env}{advice if _is_board_of(own, env) else ''}")
    config: Any = learner.config  # a dataclass, as every env
    board = dataclasses.replace(cast(Any, env), reward=own.reward) if hasattr(env, "reward") else env
    others = {each.name: () for each in dataclasses.fields(config) if each.name.startswith("other_")}
    return type(learner)(dataclasses.replace(config, env=str(board), **others))


def open_run(folder: Path) -> RunFolder:
    """Returns the run in a folder, of any learner. Raises FileNotFoundError if there is none."""
    return RunFolder.open(folder, *map(learner_type, LEARNERS), or_own=True)


def find_run(text: str, expected: str, advice: str = "") -> tuple[RunFolder, int | None]:
    """Returns the run that `RUN` or `RUN@ITERATION` names, and the iteration; None for its last checkpoint.

    The message for another text begins with `expected` and ends with `advice`.
    """
    named = parse(text)
    if named is None or named.parameters:
        message = f"{expected} the folder of a run, such as runs/first or runs/first@40, not {text!r}"
        raise ValueError(f"{message}: {advice}" if advice else message)
    return named.open(), named.iteration


def learner_type(name: str) -> type[Learner]:
    """Returns the class of the learner with a name, such as PPO for "ppo", or of one that "module:Class" names."""
    if MODULE_AND_NAME.fullmatch(name):
        return learner_of_module(name)
    if name not in LEARNERS:
        raise ValueError(f"learner must be one of {', '.join(LEARNERS)}, or module:Class, not {name!r}")
    return getattr(importlib.import_module(f"train.{name}"), LEARNERS[name])


def without_search(learner: Learner) -> dict[str, Any]:
    """Returns the parameters of a learner's agent that plays with the network alone; empty if it never searches."""
    return {"simulations": 0} if "simulations" in inspect.signature(learner.agent).parameters else {}


def agent_of_run(
    run: RunFolder, iteration: int | None = None, env: Env[Any] | None = None, /, **parameters: Any
) -> Agent:
    """Returns the agent of a run.

    Args:
      iteration: of the checkpoint; None for the last one.
      env: the game; None for the game of the run.
      **parameters: `epsilon`, and those of the learner's `agent`; see `train.network_learner.NetworkLearner.agent`.

    Raises FileNotFoundError if the run has no such checkpoint, and ValueError as `make`.
    """
    return _agent(run, run.params(iteration), run.learner.env if env is None else env, parameters)


def _agent(run: RunFolder, params: Any, env: Env[Any], parameters: Mapping[str, Any]) -> Agent:
    """Returns the agent of a run with parameters of its network; `epsilon` is a parameter of every run's agent."""
    learner = learner_for(run, env)
    allowed = [*list(inspect.signature(learner.agent).parameters)[1:], "epsilon"]  # without `params`
    hints = {"epsilon": float} | get_type_hints(learner.agent)
    for name, value in parameters.items():
        if name not in allowed:
            names = ", ".join(dict.fromkeys(allowed))
            raise ParameterError(f"the agent of {run.folder} has no parameter {name!r}; its parameters are {names}")
        if not fits(value, hints[name]):
            raise ParameterError(f"{name} must be {format_type(hints[name])}, not {value!r}")
    agent = learner.agent(params, **{name: value for name, value in parameters.items() if name != "epsilon"})
    return agents.with_epsilon(learner.env, agent, parameters["epsilon"]) if parameters.get("epsilon") else agent


def _is_library_agent(text: str) -> bool:
    """Returns whether a text names an agent of `jaxgames.agents`, or a module that registers one."""
    name = text.partition("(")[0].strip()
    if name in agents.list_agents() or text.strip() in LEVELS:
        return True
    own = MODULE_AND_NAME.fullmatch(name)
    return own is not None and own[2].strip().isidentifier() and not (_holds_run(text) or _holds_run(name))


def _holds_run(folder: str) -> bool:
    return folder != "" and os.path.isfile(os.path.join(folder, "config.json"))


def _neither(folder: str) -> str:
    """Returns the message for a text that names neither an agent nor a run: it lists both."""
    near = (Path(folder).parent, Path("runs"))
    runs = [str(path.parent) for parent in near for path in sorted(parent.glob("*/config.json"))]
    examples = f" (such as {', '.join(dict.fromkeys(runs[:8]))})" if runs else ""
    learners = " or ".join(f"train.{name}" for name in LEARNERS)
    return (
        f"{folder or repr(folder)} holds no run: expected the folder of a run that {learners} wrote{examples}, a level "
        f"({', '.join(LEVELS)}) or one of the agents {', '.join(agents.list_agents())}"
    )
