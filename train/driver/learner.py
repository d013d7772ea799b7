"""The base class of a learner, which the driver trains.

A learner is a frozen dataclass of its settings, with pure functions of a train state:

    learner = MyLearner(Config(env="checkers"))
    train_state = learner.init(key)
    train_state, metrics = learner.iterate(train_state)

The file of a learner ends with `cli.main(MyLearner)`, which adds a command line, a run folder, evaluations and training
on many devices. Files store "my_module:MyLearner", so other commands need `--import my_module` to open its runs.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

import jax

import jaxgames
from jaxgames import ParameterError, agents
from jaxgames._named import import_named
from jaxgames.agents import Agent
from train.ops.sharding import REPLICATED


class Config(Protocol):
    """Settings of a run: a frozen dataclass. Its fields are the flags of the command."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def env(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def total_steps(self) -> int: ...
    @property
    def steps_per_iteration(self) -> int: ...
    @property
    def num_iterations(self) -> int: ...


class Learner:
    """The settings and the pure functions of a run. A learner is hashable and static under jit.

    A new learner writes `name`, `config_type`, `config`, `env`, `agent`, `init` and `iterate`. The rest has a default.
    """

    name: ClassVar[str]  # of this package: the learner is the module and command train.<name>
    config_type: ClassVar[type[Any]]
    shown_metrics: ClassVar[tuple[str, ...]] = ()  # names of metrics that belong on the lines of progress

    config: Any  # a `Config`
    numbers: Any = None
    """The settings that `iterate` and `init` read in traced arithmetic only, which change no shape: a dataclass that is
    a pytree, with fields of the config. A sweep replaces them by traced numbers. Of a learner without a sweep, None."""
    iterate: Callable[..., tuple[Any, dict[str, jax.Array]]]
    """(train state, *learner.load_data()) -> the train state after one iteration, and metrics (float32[] each)."""

    def __init__(self, config: Any) -> None: ...

    @classmethod
    def config_for(cls, env: str | None = None, **changes: Any) -> Any:
        """Returns the default settings for a game, or for the default game, with `changes`."""
        return cls.config_type(**changes) if env is None else cls.config_type(env=env, **changes)

    @staticmethod
    def resolve(config: Any) -> Any:
        """Returns the settings of a run with those that come from files, such as the number of labelled positions.

        Raises OSError or ValueError if a file cannot be read or learned from.
        """
        return config

    @property
    def env(self) -> jaxgames.Env[Any]:
        raise NotImplementedError

    def agent(self, params: Any, temperature: float | None = None, top: int | None = None) -> Agent:
        """Returns the agent with these parameters, which can be traced.

        An agent's text can have the arguments after `params` in brackets: "runs/first(top=5)". A learner can have
        others.

        Args:
          temperature: 1 samples from the policy, 0 plays greedily; None is the temperature of the settings.
          top: the number of most probable legal actions that are sampled from; None for all.

        Raises ValueError for a temperature below 0 or a top below 1.
        """
        raise NotImplementedError

    def init(self, key: jax.Array) -> Any:
        """Returns the train state before the first iteration: a pytree of arrays and PRNG keys.

        It has the fields `params` and `iteration`, int32[], which counts iterations.
        """
        raise NotImplementedError

    def init_params(self, key: jax.Array) -> Any:
        """Returns random parameters, of the shapes in a train state. Unlike `init`, it reads no files."""
        return self.init(key).params

    def load(self, train_state: Any) -> Any:
        """Returns the train state of `init`, with what it takes from other runs, such as parameters to start from.

        It is called only in process 0, at the start of a new run, and may read files: first traced, before there is a
        folder, then with arrays.
        """
        return train_state

    def make_agent(self, text: str) -> Agent:
        """Returns the agent that `text` names, for the learner's game; with `train.agents`, also one of another run.

        Raises FileNotFoundError or ValueError if there is no such agent.
        """
        return agents.make(text, self.env)

    def load_data(self) -> tuple[Any, ...]:
        """Returns the arguments of `iterate` after the train state: pytrees of arrays on the host.

        They are placed on every device, and are not in a checkpoint. Every process reads them.

        Raises OSError or ValueError if a file cannot be read, or is not the one that the run was started with.
        """
        return ()

    def split(self, train_state: Any) -> list[Any]:
        """Returns the train state of each run: the only one, if this is not a learner of several runs."""
        return [train_state]

    def join(self, train_states: list[Any]) -> Any:
        """Returns the train state of which `split` makes these."""
        return train_states[0]

    @property
    def headline(self) -> Mapping[str, Any]:
        """The settings that identify a run on its first line and in its result, in JSON's types; includes "env"."""
        return {"env": self.config.env, "seed": self.config.seed}

    @property
    def batch_sizes(self) -> Mapping[str, int]:
        """Counts that must be multiples of the number of devices, by their names in error messages."""
        return {}

    @property
    def partition_specs(self) -> Any:
        """PartitionSpecs of `train.ops.sharding` for a train state, or a prefix of it."""
        return REPLICATED


def module_of(learner_type: type[Learner]) -> str:
    """Returns the module of a learner, also of one in the script that runs.

    Raises ParameterError if other commands could not import it, as in a notebook.
    """
    main: Any = sys.modules["__main__"]
    if learner_type.__module__ != "__main__":
        return learner_type.__module__
    name = main.__spec__.name if getattr(main, "__spec__", None) else Path(getattr(main, "__file__", "")).stem
    if not all(part.isidentifier() for part in name.split(".")):
        raise ParameterError(f"define {learner_type.__name__} in a module that can be imported, such as my_ppo.py")
    return name


def text_of(learner_type: type[Learner]) -> str:
    """Returns what files store of a learner: its name, or "module:Class" if it is not of this package."""
    module = module_of(learner_type)
    return learner_type.name if module.startswith("train.") else f"{module}:{learner_type.__name__}"


def command_of(learner_type: type[Learner]) -> str:
    """Returns the module whose command trains a learner, such as "train.ppo"."""
    module = module_of(learner_type)
    return f"train.{learner_type.name}" if module.startswith("train.") else module


def learner_of_module(text: str) -> type[Learner]:
    """Returns the learner that "module:Class" names. The module is imported, if `text` may do that.

    Raises ParameterError (a ValueError) if it may not, if the import fails, or if there is no such learner.
    """
    module, name = (part.strip() for part in text.split(":"))
    import_named(module, text)
    found = getattr(sys.modules[module], name, None)
    if not (isinstance(found, type) and issubclass(found, Learner) and hasattr(found, "config_type")):
        raise ParameterError(f"{module} has no learner {name!r}")
    return found


def check_load(learner: Learner) -> None:
    """Traces the first train state, so that what `load` takes from other runs is read and its shapes are compared.

    Raises FileNotFoundError or ValueError if something is missing or does not fit.
    """
    jax.eval_shape(lambda key: learner.load(learner.init(key)), jax.random.key(0))


def names_of_numbers(learner: Learner) -> list[str]:
    """Returns the settings that `learner.numbers` has."""
    return [] if learner.numbers is None else [field.name for field in dataclasses.fields(learner.numbers)]
