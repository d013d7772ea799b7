"""A residual network with bottleneck blocks, a policy head on the cells of the board, and a tanh value.

    stem      3 x 3 convolution to `channels`
    block     1 x 1 to `bottleneck`, 3 x 3, 1 x 1 back to `channels`; its input is added
    policy    3 x 3 to `channels`, 3 x 3 to the planes of the game's actions
    value     dense to `value_size`, dense to 1, tanh; with `pool`, on the mean and the maximum over all cells

ReLU follows every layer but the last of each head; in a block, the last one follows the sum. All convolutions keep
the shape of the board. On `chinese_checkers_diamond` the policy is a matrix of from and to: plane p, cell c is the move
from cell p to cell c. `train.ops.action_cells` has the planes of all games.

Source: Ahmad, Sturtevant and Bowling, Measuring Solution Strength of Learning Agents in Adversarial Perfect Information
Games, section "Agent Architecture". It has three blocks of 64, 64 and 256 filters, a stem and a policy layer of 256.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_choice, check_int
from train.models.convolution import Convolution
from train.models.layers import MAX_SIZE, Network, check_grid, check_single, orthogonal, small
from train.ops.action_cells import action_cells

PLANES_WITHOUT_CELLS = 16  # before the dense policy layer of a game whose actions have no cells


class ResidualEncoder(nn.Module):
    """The stem and the blocks: bool[B, height, width, planes] -> float32[B, height, width, channels]."""

    blocks: int
    channels: int
    bottleneck: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        x = nn.relu(Convolution(self.channels)(observation.astype(jnp.float32)))
        for _ in range(self.blocks):
            y = nn.relu(nn.Dense(self.bottleneck, kernel_init=orthogonal())(x))  # on each cell: a 1 x 1 convolution
            y = nn.relu(Convolution(self.bottleneck)(y))
            x = nn.relu(x + nn.Dense(self.channels, kernel_init=orthogonal())(y))
        return x


class CellHeads(nn.Module):
    """The heads: float32[B, height, width, channels] -> logits float32[B, num_actions], values float32[B].

    Actions with a cell have one output of that cell. All others have a dense layer on the mean of the cells.
    """

    num_actions: int
    cell: tuple[int, ...] | None  # of `ActionCells`; None for a game without them
    plane: tuple[int, ...] | None
    value_size: int
    value: str
    pool: bool = False

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        pooled = [features.mean((1, 2)), features.max((1, 2))]
        board = jnp.concatenate(pooled, axis=1) if self.pool else features.reshape(features.shape[0], -1)
        hidden = nn.relu(nn.Dense(self.value_size, kernel_init=orthogonal())(board))
        value = nn.Dense(1, kernel_init=small())(hidden)[:, 0]
        x = nn.relu(Convolution(features.shape[-1])(features))
        return self._logits(x), jnp.tanh(value) if self.value == "tanh" else value

    def _logits(self, x: jax.Array) -> jax.Array:
        if self.cell is None or self.plane is None:
            planes = nn.relu(nn.Dense(PLANES_WITHOUT_CELLS, kernel_init=orthogonal())(x))
            return nn.Dense(self.num_actions, kernel_init=small())(planes.reshape(planes.shape[0], -1))
        cell, plane = np.array(self.cell), np.array(self.plane)
        num_planes = plane.max() + 1
        of_cells = Convolution(int(num_planes), scale=0.01)(x).reshape(x.shape[0], -1)
        has_cell = cell >= 0
        place = (cell * num_planes + plane)[has_cell]
        logits = of_cells.at[:, place].get(mode="promise_in_bounds", unique_indices=True)
        if has_cell.all():
            return logits
        others = nn.Dense(int((~has_cell).sum()), kernel_init=small())(x.mean((1, 2)))
        order = np.argsort(np.concatenate([np.flatnonzero(has_cell), np.flatnonzero(~has_cell)]))
        return jnp.concatenate([logits, others], axis=1)[:, order]


def resnet(
    env: Env[Any],
    blocks: int = 3,
    channels: int | tuple[int, ...] = 256,
    bottleneck: int | None = None,
    value_size: int = 64,
    value: str = "tanh",
    pool: bool = False,
) -> Network:
    """Returns the residual network.

    Args:
      env: a game whose observations are grids.
      blocks: number of residual blocks.
      channels: of the stem, of the blocks' sums and of the policy's first layer.
      bottleneck: channels inside a block; None for a quarter of `channels`.
      value_size: hidden units of the value head.
      value: "tanh" for values in [-1, 1]; "linear" for games whose scaled returns can be larger.
      pool: whether the value comes from the mean and the maximum over all cells, not from all cells side by side. With
        one plane of actions, as in dots_and_boxes, the parameters then fit every board.
    """
    check_grid("resnet", env)
    check_int("blocks", blocks, 1, MAX_SIZE)
    width = check_single("channels", channels)
    if bottleneck is not None:
        check_int("bottleneck", bottleneck, 1, MAX_SIZE, " or None")
    check_int("value_size", value_size, 1, MAX_SIZE)
    check_choice("value", value, ("tanh", "linear"))
    check_choice("pool", pool, (False, True))
    cells = action_cells(env.unwrapped)
    cell, plane = (None, None) if cells is None else (tuple(map(int, part)) for part in cells)
    encoder = ResidualEncoder(blocks, width, max(1, width // 4) if bottleneck is None else bottleneck)
    any_board = pool and cells is not None and cells.num_planes == 1  # more planes can be of one size of the board
    return Network(encoder, CellHeads(env.num_actions, cell, plane, value_size, value, pool), any_board=any_board)
