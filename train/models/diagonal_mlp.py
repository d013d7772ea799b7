"""A network for checkers: layers along the diagonals, residual dense layers, and a policy on the squares.

    stem       per square: the pieces on it and on the squares one and two steps away in the four directions, dense to
               `channels`, plus a vector of the square
    local      `local_blocks` times, per square: layer norm, ReLU; the square and its four neighbours, dense, ReLU,
               dense; the block's input is added
    global     all squares side by side, dense to `width`; `blocks` residual blocks, see `residual_mlp`
    policy     per square: its own features and `GLOBAL_FEATURES` of the whole board, dense, ReLU, dense to the four
               directions
    value      linear

A step or a jump depends on the squares along one diagonal. All squares share the layers that see these, so what is
learned on one square holds on the others. The dense layers see the whole board: who has more pieces, and who must give
way. The squares are the leading axis, so a neighbour's features are whole blocks of memory.
"""

import functools
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_int
from jaxgames.games.checkers.rules import Checkers, shift
from train.models.layers import (
    MAX_SIZE,
    Network,
    check_dropout,
    check_single,
    game_for,
    orthogonal,
    residual_dense,
    small,
)

NUM_SQUARES, NUM_DIRECTIONS = 32, 4
OFF_BOARD = NUM_SQUARES  # in place of a square's index
GLOBAL_FEATURES = 16  # of the whole board, that the policy reads at each square
POLICY_SIZE = 64  # hidden units of the policy at each square


class DiagonalEncoder(nn.Module):
    """The stem, the local and the global blocks: bool[B, 8, 4, planes] -> float32[B, 32 * channels + width].

    The features of the squares come first, then the board's. In the update, units of the board are dropped:
    hidden ones of the global blocks, and the features.
    """

    channels: int
    local_blocks: int
    width: int
    blocks: int
    dropout: float

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        drop = nn.Dropout(self.dropout, deterministic=training is None)
        batch, planes = observation.shape[0], observation.shape[-1]
        pieces = observation.reshape(batch, NUM_SQUARES, planes).astype(jnp.float32).transpose(1, 0, 2)
        squares = self.param("squares", nn.initializers.zeros, (NUM_SQUARES, 1, self.channels), jnp.float32)
        x = nn.Dense(self.channels, kernel_init=orthogonal())(around(pieces, 2)) + squares
        for _ in range(self.local_blocks):
            y = around(nn.relu(nn.LayerNorm()(x)), 1)
            y = nn.relu(nn.Dense(self.channels, kernel_init=orthogonal())(y))
            x = x + nn.Dense(self.channels, kernel_init=nn.initializers.zeros)(y)
        local = nn.relu(nn.LayerNorm()(x)).transpose(1, 0, 2).reshape(batch, -1)
        return jnp.concatenate([local, residual_dense(local, self.width, self.blocks, drop)], axis=1)


class DiagonalHeads(nn.Module):
    """The heads: float32[B, 32 * channels + width] -> logits float32[B, 128], values float32[B]."""

    channels: int

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        batch, num_local = features.shape[0], NUM_SQUARES * self.channels
        board = features[:, num_local:]
        of_board = nn.Dense(NUM_SQUARES * GLOBAL_FEATURES, kernel_init=orthogonal())(board)
        parts = [features[:, :num_local], of_board]
        x = jnp.concatenate([part.reshape(batch, NUM_SQUARES, -1) for part in parts], axis=-1)
        x = nn.relu(nn.Dense(POLICY_SIZE, kernel_init=orthogonal())(x))
        logits = nn.Dense(NUM_DIRECTIONS, kernel_init=small())(x)  # action = 4 * square + direction
        return logits.reshape(batch, -1), nn.Dense(1, kernel_init=small())(board)[:, 0]


def around(x: jax.Array, distance: int) -> jax.Array:
    """Returns each square's features beside the features of squares up to `distance` steps away in four directions.

    float32[32, B, features] -> float32[32, B, (1 + 4 * distance) * features]. Off the board they are 0.
    """
    steps = [(direction, n) for n in range(1, distance + 1) for direction in range(NUM_DIRECTIONS)]
    return jnp.concatenate([x, *(neighbour(x, direction, n) for direction, n in steps)], axis=-1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def neighbour(x: jax.Array, direction: int, distance: int) -> jax.Array:
    """Returns, for each square, the features of the square `distance` steps away in a direction; 0 off the board.

    float32[32, B, features] -> float32[32, B, features]
    """
    zero, parts = jnp.zeros_like(x[:1]), list[jax.Array]()
    for first, last in _runs(direction, distance):
        parts.append(zero if first == OFF_BOARD else x[first:last])
    return jnp.concatenate(parts)


def _forward(x: jax.Array, direction: int, distance: int) -> tuple[jax.Array, None]:
    return neighbour(x, direction, distance), None


def _backward(direction: int, distance: int, _: None, gradient: jax.Array) -> tuple[jax.Array]:
    """The gradient goes the same way back. JAX's own would add up an array of the whole board for each run."""
    return (neighbour(gradient, (direction + 2) % NUM_DIRECTIONS, distance),)


neighbour.defvjp(_forward, _backward)


@functools.lru_cache
def neighbours(direction: int, distance: int) -> np.ndarray:
    """Returns int[32], the squares `distance` steps away in a direction; OFF_BOARD where there is none."""
    words = [np.uint32(1 << square) for square in range(NUM_SQUARES)]
    for _ in range(distance):
        words = [shift(word, direction) for word in words]
    return np.array([int(word).bit_length() - 1 if word else OFF_BOARD for word in words])


@functools.lru_cache
def _runs(direction: int, distance: int) -> tuple[tuple[int, int], ...]:
    """Returns the neighbours as ranges of squares [first, last) in a row; each one off the board is its own range."""
    runs: list[tuple[int, int]] = []
    for square in neighbours(direction, distance).tolist():
        if runs and square != OFF_BOARD and runs[-1][1] == square:
            runs[-1] = runs[-1][0], square + 1
        else:
            runs.append((square, square + 1))
    return tuple(runs)


def diagonal_mlp(
    env: Env[Any],
    channels: int | tuple[int, ...] = 32,
    local_blocks: int = 2,
    hidden_sizes: int | tuple[int, ...] = 512,
    blocks: int = 2,
    dropout: float = 0.0,
) -> Network:
    """Returns the network, for `checkers`.

    Args:
      channels: features of a square.
      local_blocks: residual blocks per square.
      hidden_sizes: width of the dense layers on the whole board.
      blocks: residual blocks on the whole board.
      dropout: probability that a unit of the whole board is dropped in the update. The parameters do not depend on it.
    """
    game_for("diagonal_mlp", env, Checkers, "residual_mlp or resnet")
    check_int("local_blocks", local_blocks, 0, MAX_SIZE)
    check_int("blocks", blocks, 0, MAX_SIZE)
    width, dense = check_single("channels", channels), check_single("hidden_sizes", hidden_sizes)
    encoder = DiagonalEncoder(width, local_blocks, dense, blocks, check_dropout(dropout))
    return Network(encoder, DiagonalHeads(width), training_mode=("encoder",) if dropout else ())
