"""The settings that all learners of a network have."""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from jax.core import Tracer

import jaxgames
from jaxgames import Env
from train.bounds import Count, NotNegative, Positive, between, check_values

MAX_SEED = 2**31 - 2  # JAX drops higher bits than 32; the next number is the seed of evaluations
NETWORK_SETTINGS = ("network", "channels", "hidden_sizes", "activation")


@dataclass(frozen=True)
class NetworkConfig:
    """The settings that all learners of a network have; each learner adds to them.

    They are stored in the run folder. A learner gives the fields without a default one.
    """

    numbers_type: ClassVar[type[Any]]  # a dataclass that jax knows as a pytree, of which the settings inherit

    env: str
    total_steps: Count[int]
    learning_rate: Positive[float]
    max_grad_norm: Positive[float]
    temperature: NotNegative[float]
    seed: Annotated[int, between(0, MAX_SEED)] = 0
    """Seed of the random numbers of training."""
    network: str | None = None
    """The network, with its parameters, such as "resnet(blocks=4)". None: conv if channels are given, else mlp."""
    channels: Count[tuple[int, ...]] = ()
    """Channels of the network's convolutions. If empty, the network's own default."""
    hidden_sizes: Count[tuple[int, ...]] = ()
    """Widths of the network's dense layers. If empty, the network's own default."""
    activation: str | None = None
    """Activation of the network's dense layers. None: the network's own default."""
    init_from: str | None = None
    """A run to take the first parameters from: its folder, or folder@iteration for an earlier checkpoint. Several,
    separated by commas, each fill a part of the network. Or a file of train.export."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, list):  # JSON stores tuples as lists
                object.__setattr__(self, name, tuple(value))
            if isinstance(value, np.generic):  # as `for seed in np.arange(4)` gives
                object.__setattr__(self, name, value.item())
            if isinstance(value, Tracer):
                raise TypeError(
                    f"{name} must be a number when the settings are made. A traced one stands beside them, as in "
                    f"PPO(config, dataclasses.replace(config.numbers, {name}=...))"
                )
        check_values(vars(self), type(self))
        jaxgames.make(self.env)

    @property
    def numbers(self) -> Any:
        """The settings that only traced arithmetic reads, as a pytree of type `numbers_type`."""
        names = [field.name for field in dataclasses.fields(self.numbers_type)]
        return self.numbers_type(**{name: getattr(self, name) for name in names})

    @property
    def steps_per_iteration(self) -> int:
        raise NotImplementedError

    @property
    def num_iterations(self) -> int:
        return -(-self.total_steps // self.steps_per_iteration)


def check_same_game(setting: str, first: Env[Any], other: Env[Any], name: str) -> None:
    """Raises ValueError unless a further board is of the same game, where a return has the same meaning.

    Their returns can differ by a factor: with reward=margin, a value is a share of the boxes of its board. `setting`
    is the one that gives the further board, and `name` is of that board in the message.
    """
    for field in ("id", "num_players", "reward"):
        ours, theirs = (getattr(env, field, None) for env in (first, other))
        if ours != theirs:
            raise ValueError(f"{setting} must have the {field} of env, {ours}: it is {theirs} in {name}")
