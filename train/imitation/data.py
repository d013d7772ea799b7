"""The positions that `train.imitation` learns from, on the devices, and the order in which it takes them.

Every device has a copy of all positions, as boards: 36 bytes and a few labels for one of checkers. The observations and
the legal actions of a minibatch are computed when it is taken.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import jaxgames
from jaxgames.policies.policy import reward_scale
from train.data.positions import Positions, evenly_spaced
from train.imitation.config import Config, load_positions
from train.ops.sharding import REPLICATED, SHARDED, on_each_device
from train.ops.symmetries import symmetries

ROWS_OF_EVALUATION = 1024  # positions that are evaluated at once, about


class Labels(NamedTuple):
    """P labelled positions, as the learner holds them."""

    states: Any  # the env's State, [P]
    action: jax.Array  # int32[P], -1 where there is none
    value: jax.Array  # float32[P], the mover's return in scaled reward; NaN where it is unknown
    probabilities: jax.Array | None  # float32[P, num_actions], takes the place of the action
    counted: jax.Array  # bool[P], False for rows that only fill up a batch


class FileData(NamedTuple):
    """The positions of one file."""

    train: Labels
    evaluated: dict[str, Labels]  # of "train" and "validation", whole batches


Data = tuple[FileData, ...]  # one per file of `data`; a copy on each device


class Minibatch(NamedTuple):
    """Positions as the loss reads them."""

    observation: jax.Array  # bool[B, *observation_shape], of the mover
    mask: jax.Array  # bool[B, num_actions]
    seat: jax.Array  # int32[B], the mover
    target: jax.Array  # float32[B, num_actions], the labelled policy; zeros where there is none
    value: jax.Array  # float32[B], NaN where it is unknown
    counted: jax.Array  # bool[B]


def load_data(config: Config) -> Data:
    """Returns the positions of the files, on the host. Raises OSError or ValueError as `load_positions`."""

    def of_file(table: Positions) -> FileData:
        splits = {"train": table.of(config.train_split), "validation": table.of(config.validation_split)}
        evaluated = {
            name: whole_batches(evenly_spaced(split, config.evaluated_positions), evaluation_rows(config))
            for name, split in splits.items()
        }
        return FileData(labels_of(splits["train"]), evaluated)

    return tuple(map(of_file, load_positions(config)))


def evaluation_rows(config: Config) -> int:
    """Returns the number of positions that are evaluated at once, a multiple of the batch size."""
    return config.batch_size * max(1, ROWS_OF_EVALUATION // config.batch_size)


def labels_of(positions: Positions) -> Labels:
    """Returns positions as the learner holds them, on the host."""
    value = (positions.value * reward_scale(positions.env)).astype(np.float32)
    counted: Any = np.ones(len(positions), np.bool_)
    return Labels(positions.states, positions.action, value, positions.probabilities, counted)  # pyright: ignore[reportArgumentType]  # numpy's arrays


def whole_batches(positions: Positions, size: int) -> Labels:
    """Returns positions as the learner holds them, filled up to a multiple of `size` by rows that do not count."""
    count = len(positions)
    rows = np.arange(-(-count // size) * size)
    return labels_of(positions.take(rows.clip(max=count - 1)))._replace(counted=rows < count)  # pyright: ignore[reportArgumentType]  # numpy's array


def rows_of_iteration(config: Config, num_positions: int, key: jax.Array, iteration: jax.Array) -> jax.Array:
    """Returns int32[num_minibatches, batch_size], the positions of the minibatches of an iteration.

    Each epoch has its own order, and no position is twice in it. An epoch can have a part of an iteration, or an
    iteration several epochs. `iteration` is int32[], the iterations before this one.
    """
    count, of_epoch = config.num_minibatches or 1, num_positions // config.batch_size
    num_epochs = 1 - (math.gcd(count, of_epoch) - count) // of_epoch  # that an iteration can touch
    first = iteration * count

    def epoch(number: jax.Array) -> jax.Array:
        order = jax.random.permutation(jax.random.fold_in(key, number), num_positions)
        return order[: of_epoch * config.batch_size].reshape(of_epoch, config.batch_size)

    epochs = jax.vmap(epoch)(first // of_epoch + jnp.arange(num_epochs))
    return jax.lax.dynamic_slice_in_dim(epochs.reshape(-1, config.batch_size), first % of_epoch, count)


def take(env: jaxgames.Env[Any], labels: Labels, rows: jax.Array) -> Minibatch:
    """Returns the positions `rows` (int32[B]) as the loss reads them. Each device makes its own rows."""

    def of_device(labels: Labels, rows: jax.Array) -> Minibatch:
        states, action, value, probabilities, counted = jax.tree.map(lambda leaf: leaf[rows], labels)
        observation = jax.vmap(lambda state: env.observe(state))(states)
        mask = jax.vmap(env.legal_action_mask)(states)
        target = jax.nn.one_hot(action, env.num_actions, dtype=jnp.float32) if probabilities is None else probabilities
        return Minibatch(observation, mask, states.current_player, target, value, counted)

    return on_each_device(of_device, REPLICATED, SHARDED, out=SHARDED)(labels, rows)


def random_image(env: jaxgames.Env[Any], key: jax.Array, minibatch: Minibatch) -> Minibatch:
    """Returns a minibatch in which each position is replaced by its image under a random symmetry of the game."""
    images = symmetries(env)
    which = jax.random.randint(key, minibatch.seat.shape, 0, len(images))
    return minibatch._replace(
        observation=images.of_observations(which, minibatch.observation),
        mask=images.of_policies(which, minibatch.mask),
        target=images.of_policies(which, minibatch.target),
    )
