"""A network for checkers: layers along the diagonals, residual dense layers, and a policy on the squares.

    stem       per square: the pieces on it and on the squares one and two steps away in the four directions, dense to
               `channels`, plus a vector of the square
    local      `local_blocks` times, per square: layer norm, ReLU; the square and its four neighbours, dense, ReLU,
               dense; the block's input is added
    global     all squares side by side, dense to `width`; `blocks` residual blocks, see `residual_mlp`
    policy     per square: its own features and `GLOBAL_FEATURES` of the whole board, dense, ReLU, dense to the four
               directions
    value      linear

A step or a jump depends on the squares along one diagonal. All squares share the layers that see these. The squares are
the leading axis, so a neighbour's features are whole blocks of memory.
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
    take_cells,
)

NUM_SQUARES = 32
GLOBAL_FEATURES = 16  # of the whole board, that the policy reads at each square
POLICY_SIZE = 64  # hidden units of the policy at each square


class DiagonalEncoder(nn.Module):
    """bool[B, 8, 4, planes] -> float32[B, 32 * channels + width], the features of the squares, then of the board.

    In the update, units of the board are dropped: hidden ones of the global blocks, and the features.
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
        logits = nn.Dense(4, kernel_init=small())(x)  # action = 4 * square + direction
        return logits.reshape(batch, -1), nn.Dense(1, kernel_init=small())(board)[:, 0]


def around(x: jax.Array, distance: int) -> jax.Array:
    """Returns each square's features beside the features of squares up to `distance` steps away in four directions.

    float32[32, B, features] -> float32[32, B, (1 + 4 * distance) * features]. Off the board they are 0.
    """
    steps = [(way, n) for n in range(1, distance + 1) for way in range(4)]
    others: list[Any] = [take_cells(x, neighbours(way, n), neighbours((way + 2) % 4, n)) for way, n in steps]
    return jnp.concatenate([x, *others], axis=-1)


@functools.lru_cache
def neighbours(direction: int, distance: int) -> tuple[int, ...]:
    """Returns the squares `distance` steps away in a direction; NUM_SQUARES where there is none."""
    words = [np.uint32(1 << square) for square in range(NUM_SQUARES)]
    for _ in range(distance):
        words = [shift(word, direction) for word in words]
    return tuple(int(word).bit_length() - 1 if word else NUM_SQUARES for word in words)


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
