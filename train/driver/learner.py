"""The protocol of a learner: the attributes and functions that the driver uses.

A learner is a frozen dataclass with one field, its settings, and pure functions of a train state:

    learner = PPO(Config(env="checkers"))
    train_state = learner.init(key)
    train_state, metrics = learner.iterate(train_state)

`train/ppo.py` ends with `cli.main(PPO, config_for)`, which adds a command line, a run folder, evaluations and many
devices.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import jax

import jaxgames
from jaxgames.agents import Agent


class Config(Protocol):
    """Settings of a run: a frozen dataclass, whose fields are the flags of the command."""

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


class TrainState(Protocol):
    """The whole state of a run between two iterations: a pytree of arrays and PRNG keys."""

    @property
    def params(self) -> Any: ...
    @property
    def iteration(self) -> jax.Array: ...  # int32[], iterations done


class Learner(Protocol):
    """Settings, and the pure functions of a run; hashable, static under jit."""

    name: ClassVar[str]  # the module train.<name>, which is its command
    config_type: ClassVar[type[Any]]
    former_names: ClassVar[Mapping[str, str]]  # former name of a setting -> its name; for errors only

    def __init__(self, config: Any) -> None: ...

    @property
    def config(self) -> Config: ...
    @property
    def env(self) -> jaxgames.Env[Any]: ...

    @property
    def summary(self) -> Mapping[str, Any]:
        """The settings that name a run on its first line and in its result, in JSON's types; "env" is one of them."""
        ...

    @property
    def divisible(self) -> Mapping[str, int]:
        """Counts that must be multiples of the number of devices, by the name to use in an error."""
        ...

    @property
    def partition_specs(self) -> Any:
        """PartitionSpecs of `train.ops.sharding` for a train state, or a prefix of it."""
        ...

    def agent(self, params: Any, temperature: float | None = None) -> Agent:
        """The player with these parameters, which can be traced; by default at the temperature of the settings."""
        ...

    def init(self, key: jax.Array) -> Any:
        """The train state before the first iteration."""
        ...

    def held_arrays(self, key: jax.Array) -> Any:
        """The largest arrays that an iteration holds at the same time. Only their shapes are used, to check memory."""
        ...

    def iterate(self, train_state: Any) -> tuple[Any, dict[str, jax.Array]]:
        """One iteration: the train state after it, and metrics (float32[] each)."""
        ...
