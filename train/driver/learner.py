"""The base class of a learner, which the driver trains.

A learner is a frozen dataclass of its settings, with pure functions of a train state:

    learner = MyLearner(Config(env="checkers"))
    train_state = learner.init(key)
    train_state, metrics = learner.iterate(train_state)

The file of a learner ends with `cli.main(MyLearner)`, which adds a command line, a run folder, evaluations and training
on many devices. Files store "my_module:MyLearner", so other commands need `--import my_module` to open its runs.

The file config.json of a run has the learner, the versions and the settings:

    {"learner": "ppo" or "module:Class", "jaxgames": "0.1.0", "env_version": 1, "settings": {"env": "checkers", ...}}
"""

import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import jax

import jaxgames
from jaxgames import ParameterError, agents, arena
from jaxgames._named import from_file, import_named
from jaxgames._specs import MODULE_AND_NAME
from jaxgames.agents import Agent
from train.bounds import check_values
from train.ops.sharding import REPLICATED

_evaluate = jax.jit(arena.evaluate, static_argnames=("env", "num_games"))


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

        It is called only at the start of a new run, and may read files: first traced, before there is a folder, then
        with arrays.
        """
        return train_state

    def check_load(self) -> None:
        """Traces the first train state, so that what `load` takes from other runs is read and its shapes are compared.

        Raises FileNotFoundError or ValueError if something is missing or does not fit.
        """
        jax.eval_shape(lambda key: self.load(self.init(key)), jax.random.key(0))

    def make_agent(self, text: str) -> Agent:
        """Returns the agent that `text` names, for the learner's game; with `train.agents`, also one of another run.

        Raises FileNotFoundError or ValueError if there is no such agent.
        """
        return agents.make(text, self.env)

    def load_data(self) -> tuple[Any, ...]:
        """Returns the arguments of `iterate` after the train state: pytrees of arrays on the host.

        They are placed on every device, and are not in a checkpoint.

        Raises OSError or ValueError if a file cannot be read, or is not the one that the run was started with.
        """
        return ()

    def results_against(
        self, train_state: Any, opponent: Agent, key: jax.Array, num_games: int
    ) -> dict[str, jax.Array]:
        """Returns the results of games against an opponent, as `jaxgames.arena.evaluate` does.

        Of a learner of several runs, each is an array over runs.
        """
        params = jax.tree.map(lambda leaf: leaf.addressable_data(0), train_state.params)  # one device plays
        return _evaluate(self.env, self.agent(params), opponent, key, num_games)

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


def names_of_numbers(learner: Learner) -> list[str]:
    """Returns the settings that `learner.numbers` has."""
    return [] if learner.numbers is None else [field.name for field in dataclasses.fields(learner.numbers)]


# -- config.json -----------------------------------------------------------------------------------------------------


def to_json(learner: Learner) -> dict[str, Any]:
    """Returns the content of a run's config.json."""
    return {
        "learner": text_of(type(learner)),
        "jaxgames": jaxgames.__version__,
        "env_version": learner.env.version,
        "settings": settings_of(learner.config),
    }


def settings_of(config: Config) -> dict[str, Any]:
    """Returns the settings in JSON's types."""
    return json.loads(json.dumps({field.name: getattr(config, field.name) for field in dataclasses.fields(config)}))


def load_learner(path: Path, learners: Sequence[type[Learner]], or_own: bool = False) -> Learner:
    """Returns the learner with the settings in a config.json: one of `learners`, or with `or_own` a user's own one.

    Raises FileNotFoundError if there is none. Raises ValueError, with the path and the settings, unless it has
    settings of one of the learners and no others. A setting that it lacks has its default, which is logged.
    """
    try:
        stored = json.loads(path.read_bytes())
        text, settings = str(stored["learner"]), dict[str, Any](stored["settings"])
    except (FileNotFoundError, NotADirectoryError):
        commands = " or ".join(map(command_of, learners))
        raise FileNotFoundError(f"{path.parent} holds no run: expected a folder that {commands} wrote") from None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} has no learner and settings: {type(error).__name__}, {error}") from None
    learner_type = next((learner for learner in learners if text_of(learner) == text), None)
    if learner_type is None and not (or_own and MODULE_AND_NAME.fullmatch(text)):
        known = ", ".join([*map(text_of, learners), *["module:Class"] * or_own])
        raise ValueError(f"{path}: learner must be one of {known}, not {text!r}")
    try:
        with from_file():
            learner_type = learner_type or learner_of_module(text)
            names = [field.name for field in dataclasses.fields(learner_type.config_type)]
            if unknown := [name for name in settings if name not in names]:
                raise ValueError(f"unknown settings: {', '.join(unknown)}")
            check_values(settings, learner_type.config_type)
            learner = learner_type(learner_type.config_type(**settings))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from None
    if missing := [name for name in names if name not in settings]:
        log_once(f"{path} has no {', '.join(missing)}, so the defaults of this version are taken")
    if stored.get("env_version") != learner.env.version:
        raise ValueError(
            f"{path}: the run was trained on version {stored.get('env_version')} of {learner.env.id}, whose rules "
            f"changed: this is version {learner.env.version}; train it again"
        )
    return learner


def log(text: str) -> None:
    """Prints a line on standard error; standard output is kept for the result."""
    print(f"{text}\n", end="", file=sys.stderr, flush=True)  # one write, because other threads write too


log_once = functools.cache(log)  # prints a line, but not again


def format_setting(value: Any) -> str:
    """Returns the value of a setting as text. A list has commas, such as 64,64."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # of any type


def changes(before: Mapping[str, Any], now: Mapping[str, Any], may_change: Collection[str] = ()) -> list[str]:
    """Returns the settings that differ, except those in `may_change`, with both values."""
    names = [name for name in {**before, **now} if name not in may_change and before.get(name) != now.get(name)]
    return [f"{name} was {json.dumps(before.get(name))} and is {json.dumps(now.get(name))}" for name in names]
