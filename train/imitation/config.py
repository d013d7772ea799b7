"""The settings of `train.imitation`, and their defaults for each game."""

import functools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax
import numpy as np

import jaxgames
from jaxgames import Env
from train.bounds import Count, NotNegative, Positive
from train.data import positions
from train.data.positions import Positions
from train.models.policy import Sharing
from train.settings import NetworkConfig, check_same_game

Schedule = Literal["cosine", "linear", "constant"]
MIN_MINIBATCHES = 200  # of an iteration by default, so that evaluations and checkpoints take a small part of the time
FILES_IN_MEMORY = 2  # whole tables, kept from one reading to the next; a run with more files reads them again


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Numbers:
    """The settings that only traced arithmetic reads: `jax.vmap` works over them, and a sweep compiles once."""

    learning_rate: Positive[float] = 1e-3
    """Learning rate of Adam at the start."""
    weight_decay: NotNegative[float] = 1e-4
    """Weight decay of AdamW, apart from the loss."""
    l2_coef: NotNegative[float] = 0.0
    """Weight of the sum of the squared parameters in the loss."""
    value_coef: NotNegative[float] = 0.5
    """Weight of the value loss."""
    legal_coef: NotNegative[float] = 0.1
    """Weight of -log of the probability that the softmax over all actions gives to the legal ones. The policy loss is
    over the legal actions with 0, and over all actions with 1."""
    max_grad_norm: Positive[float] = 1.0
    """Global norm at which gradients are clipped."""


@dataclass(frozen=True)
class Config(Numbers, NetworkConfig):
    """Settings of learning; they are stored in the run folder. `resolve` adds those that come from the files."""

    numbers_type: ClassVar[type[Numbers]] = Numbers

    env: str = "checkers"
    """The game, with its parameters."""
    data: tuple[str, ...] = ()
    """The files of labelled positions, which `train.data` writes: the first of the game, further ones also of other
    boards of it. Every minibatch has batch_size positions of each file."""
    data_fingerprints: tuple[str, ...] = ()
    """The checksums of the files. They are read from the files, and a run is only resumed with the same positions."""
    other_envs: tuple[str, ...] = ()
    """The games of the further files, read from them. Other boards need a network for any board."""
    train_split: str = "train"
    """The positions to learn from."""
    validation_split: str = "validation"
    """The positions that only measure how well the policy predicts others."""
    evaluated_positions: NotNegative[int] = 20_000
    """Positions of both splits that are evaluated after each iteration, evenly spaced over the split; 0 for all."""
    total_steps: Count[int] = 10_000_000
    """Positions to train on, repetitions counted, rounded up to whole iterations."""
    sharing: Sharing = "shared"
    """The networks that the seats share: all, only the encoder, or none."""
    batch_size: Count[int] = 512
    """Positions of a minibatch, from every file; each is one gradient step."""
    num_minibatches: Count[int | None] = None
    """Minibatches per iteration. None: one epoch, which is a pass over the positions. If an epoch has fewer than 200
    minibatches, an iteration has as many epochs as make 200."""
    schedule: Schedule = "cosine"
    """How the learning rate falls to zero over the run: cosine or linear; constant does not change it."""
    symmetries: bool = False
    """Replaces each position of an update by its image under a random symmetry of the game."""
    temperature: NotNegative[float] = 0.0
    """Temperature of the policy when it plays after training: 1 samples from it, 0 plays greedily."""

    def __post_init__(self) -> None:
        if isinstance(self.data, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # one file, in a script
            object.__setattr__(self, "data", (self.data,))
        super().__post_init__()
        if twice := [file for number, file in enumerate(self.data) if file in self.data[:number]]:
            raise ValueError(f"data must be different files: {twice[0]} is there twice")
        if self.data_fingerprints and len(self.data_fingerprints) != len(self.data):
            raise ValueError("data cannot be changed in a run that was started; start a new one")

    @property
    def steps_per_iteration(self) -> int:
        return self.batch_size * (self.num_minibatches or 1) * max(1, len(self.data))


def resolve(config: Config) -> Config:
    """Returns the settings with those that come from the files. The settings of a run that was started are unchanged.

    Raises OSError or ValueError as `load_positions`.
    """
    first, *others = load_positions(config)
    if config.data_fingerprints:
        return config
    of_epoch = len(first.of(config.train_split)) // config.batch_size
    return replace(
        config,
        data_fingerprints=tuple(map(positions.fingerprint, config.data)),
        other_envs=tuple(str(table.env) for table in others),
        num_minibatches=config.num_minibatches or of_epoch * -(-MIN_MINIBATCHES // of_epoch),
    )


def load_positions(config: Config) -> list[Positions]:
    """Returns the positions of each file of `config.data`.

    Raises OSError if a file cannot be read. Raises ValueError if it was changed since the run was started, or holds
    positions of another game. Raises it also if there are no positions or no labels to learn from.
    """
    if not config.data:
        raise ValueError("data names the files of labelled positions to learn from: add --data pairs.npz")
    env, tables = jaxgames.make(config.env), list[Positions]()
    for path, fingerprint in zip(config.data, config.data_fingerprints or (None,) * len(config.data), strict=True):
        tables.append(_checked(config, path, fingerprint, None if tables else env))
        check_same_game("data", env, tables[-1].env, path)
    return tables


def _checked(config: Config, file: str, known: str | None, env: Env[Any] | None) -> Positions:
    """Returns the positions of a file, of `env` if it is given. `known` is its checksum in a run that was started."""
    path = Path(file)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}: {positions.KIND.how_to_write}")
    fingerprint = positions.fingerprint(path)
    if known not in (None, fingerprint):
        raise ValueError(
            f"{path} holds other positions than those that the run was started with: its checksum is "
            f"{fingerprint[:8]}..., not {known[:8]}...; put back the file, or start a new run"
        )
    table = _load(file, fingerprint, env)
    for name in (config.train_split, config.validation_split):
        if name not in table.splits or not len(table.of(name)):
            filled = [split for split in table.splits if len(table.of(split))]
            raise ValueError(f"{path} has no positions of the split {name!r}; it has {', '.join(filled) or 'none'}")
    training = table.of(config.train_split)
    if config.batch_size > len(training):
        raise ValueError(
            f"batch_size must be at most {len(training)}, the positions of the split {config.train_split!r} of {path}, "
            f"not {config.batch_size}"
        )
    has_actions = training.probabilities is not None or (training.action != positions.UNKNOWN).any()
    if not has_actions and np.isnan(training.value).all():
        raise ValueError(f"{path} labels no position of the split {config.train_split!r} with an action or a value")
    return table


@functools.lru_cache(maxsize=FILES_IN_MEMORY)
def _load(path: str, fingerprint: str, env: Env[Any] | None) -> Positions:
    return positions.load(path, env)
