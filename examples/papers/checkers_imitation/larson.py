"""The networks of Larson 2016 for checkers, as his code has one and as his text describes another.

`larson`, the published code

    input      the signed board: 3 own king, 1 own man, 0 empty, -1 opponent's man, -3 opponent's king
    4 x        convolutions of 1 x 1, 2 x 2, 3 x 3 and 4 x 4 side by side, 24 maps each, tanh; together 96 maps
    once       dropout, then all cells side by side: 8 * 4 * 96 = 3,072 features
    3 x        highway layer
    once       dropout; the features before the highway are put beside: 6,144

`larson_text`, the text

    branches   two convolutions of 2 x 2, two of 3 x 3, and dense layers, with ReLU; each ends in a dense layer
    end        a dense layer with ReLU on the branches side by side

Both end in a softmax over the 128 actions. The value head, which the study does not have, is ours. So is the input of
the piece that must jump again.

Sources: C. Larson, blog posts and code of a checkers engine, 2016 to 2018 (docs/papers/index.md). R. K. Srivastava,
K. Greff and J. Schmidhuber, Highway Networks, arXiv:1505.00387.
"""

import functools
import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_choice, check_int
from jaxgames.games.checkers import Checkers
from train.models.layers import MAX_SIZE, Network, check_dropout, check_single, game_for, orthogonal, small

PIECE_VALUES = (1.0, 3.0, -1.0, -3.0)  # of the observation's planes: own men and kings, the opponent's men and kings
KERNEL_SIZES = (1, 2, 3, 4)  # of the convolutions that a block has side by side
GATE_BIAS = -2.0  # a first gate is mostly closed, so a first highway layer returns almost its input
BRANCHES = ("conv2", "conv3", "dense")

xavier = nn.initializers.xavier_uniform


class LarsonEncoder(nn.Module):
    """Convolutional blocks and highway layers: bool[B, 8, 4, 5] -> float32[B, 2 * 32 * 4 * maps]."""

    blocks: int
    maps: int  # of each size of kernel
    highway: int
    dropout: float
    jumper: bool

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        x = signed_board(observation, self.jumper)
        for _ in range(self.blocks):
            x = jnp.tanh(ParallelConvolutions(self.maps)(x))
        drop = functools.partial(nn.Dropout(self.dropout), deterministic=training is None)
        board = drop(x.reshape(x.shape[0], -1))
        x = board
        for _ in range(self.highway):
            x = Highway()(x)
        return jnp.concatenate([drop(x), board], axis=1)


class ParallelConvolutions(nn.Module):
    """Convolutions of four sizes side by side: [B, height, width, planes] -> [B, height, width, 4 * maps].

    Zeros around the board keep its shape. A kernel of even size has one more column on the right than on the left, and
    one more row below than above.
    """

    maps: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        kernels = [
            self.param(f"kernel_{size}", xavier(), (size, size, x.shape[-1], self.maps), jnp.float32)
            for size in KERNEL_SIZES
        ]
        bias = self.param("bias", nn.initializers.zeros, (len(KERNEL_SIZES) * self.maps,), jnp.float32)
        # A size around 0s: all kernels are parts of one of the largest size, so the board is gathered only once.
        largest = KERNEL_SIZES[-1]
        padded = [jnp.pad(kernel, (_around(largest, len(kernel)),) * 2 + ((0, 0),) * 2) for kernel in kernels]
        return convolve(x, jnp.concatenate(padded, axis=-1)) + bias


class Highway(nn.Module):
    """A highway layer: gate * relu(dense(x)) + (1 - gate) * x, for float32[B, features].

    The gate is sigmoid(x W - 2). It has no bias that is learned.
    """

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        width = x.shape[-1]
        gate = nn.sigmoid(nn.Dense(width, use_bias=False, kernel_init=xavier(), name="gate")(x) + GATE_BIAS)
        return gate * nn.relu(nn.Dense(width, kernel_init=xavier(), name="transform")(x)) + (1 - gate) * x


class LarsonTextEncoder(nn.Module):
    """The branches, and a dense layer on all of them: bool[B, 8, 4, 5] -> float32[B, hidden].

    With a single branch there is no further layer: the branch alone is the network.
    """

    branches: tuple[str, ...]
    maps: int
    hidden: int
    jumper: bool

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        board = signed_board(observation, self.jumper)
        features: list[jax.Array] = []
        for branch in self.branches:
            x = board
            for layer in range(2):
                name = f"{branch}_{layer}"
                if branch == "dense":
                    x = nn.relu(nn.Dense(self.hidden, kernel_init=orthogonal(), name=name)(x.reshape(x.shape[0], -1)))
                else:
                    size = int(branch.removeprefix("conv"))
                    shape = (size, size, x.shape[-1], self.maps)
                    start = nn.initializers.orthogonal(math.sqrt(2))
                    kernel = self.param(f"{name}_kernel", start, shape, jnp.float32)
                    bias = self.param(f"{name}_bias", nn.initializers.zeros, (self.maps,), jnp.float32)
                    x = nn.relu(convolve(x, kernel) + bias)
            if branch != "dense":
                x = x.reshape(x.shape[0], -1)
                x = nn.relu(nn.Dense(self.hidden, kernel_init=orthogonal(), name=f"{branch}_hidden")(x))
            features.append(x)
        if len(features) == 1:
            return features[0]
        joined = jnp.concatenate(features, axis=1)
        return nn.relu(nn.Dense(self.hidden, kernel_init=orthogonal(), name="joined")(joined))


class LarsonHeads(nn.Module):
    """Two linear layers: float32[B, features] -> logits float32[B, num_actions], values float32[B]."""

    num_actions: int

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = nn.Dense(self.num_actions, kernel_init=xavier(), name="policy")(features)
        value = nn.Dense(1, kernel_init=small(), name="value")(features)
        return logits, value[:, 0]


def signed_board(observation: jax.Array, jumper: bool = False) -> jax.Array:
    """Returns the numbers of the pieces, float32[B, 8, 4, 1]: 1 and 3 own man and king, -1 and -3 the opponent's.

    Args:
      observation: bool[B, 8, 4, 5], of checkers.
      jumper: whether a second plane has a 1 on the piece that must jump again. Without it, the board does not tell a
        jump that must follow from a turn that begins.
    """
    board = (observation[..., :4].astype(jnp.float32) * np.array(PIECE_VALUES, np.float32)).sum(-1, keepdims=True)
    return jnp.concatenate([board, observation[..., 4:].astype(jnp.float32)], axis=-1) if jumper else board


def convolve(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns the convolution of boards with a square kernel, with zeros around the board, as one matrix product.

    [B, height, width, planes], [size, size, planes, maps] -> [B, height, width, maps]
    """
    size, (height, width) = len(kernel), x.shape[1:3]
    padded = jnp.pad(x, ((0, 0), _around(size), _around(size), (0, 0)))
    windows = [padded[:, i : i + height, j : j + width] for i in range(size) for j in range(size)]
    return jnp.concatenate(windows, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


def _around(size: int, inner: int = 1) -> tuple[int, int]:
    """Returns the cells before and after a kernel of size `inner` in one of size `size` with the same centre."""
    before = (size - 1) // 2 - (inner - 1) // 2
    return before, size - inner - before


def larson(
    env: Env[Any], blocks: int = 4, maps: int = 24, highway: int = 3, dropout: float = 0.33, jumper: bool = False
) -> Network:
    """Returns the network of Larson's code, for `checkers`.

    Args:
      blocks: convolutional blocks.
      maps: maps of each of the four sizes of kernels in a block.
      highway: highway layers.
      dropout: probability that a unit is dropped in the update.
      jumper: whether the piece that must jump again is an input too.
    """
    game_for("larson", env, Checkers, "resnet for other boards")
    for name, number in {"blocks": blocks, "maps": maps, "highway": highway}.items():
        check_int(name, number, 1, MAX_SIZE)
    check_choice("jumper", jumper, (False, True))
    encoder = LarsonEncoder(blocks, maps, highway, check_dropout(dropout), jumper)
    return Network(encoder, LarsonHeads(env.num_actions), training_mode=("encoder",))


def larson_text(
    env: Env[Any], branch: str = "all", maps: int = 32, hidden_sizes: int | tuple[int, ...] = 512, jumper: bool = False
) -> Network:
    """Returns the network that Larson's text describes, for `checkers`. The text gives no sizes: these are ours.

    Args:
      branch: "all", or one branch as the whole network: "conv2", "conv3" or "dense".
      maps: of each convolution.
      hidden_sizes: width of the dense layers.
      jumper: whether the piece that must jump again is an input too.
    """
    game_for("larson_text", env, Checkers, "resnet for other boards")
    check_choice("branch", branch, ("all", *BRANCHES))
    check_int("maps", maps, 1, MAX_SIZE)
    check_choice("jumper", jumper, (False, True))
    branches = BRANCHES if branch == "all" else (branch,)
    encoder = LarsonTextEncoder(branches, maps, check_single("hidden_sizes", hidden_sizes), jumper)
    return Network(encoder, LarsonHeads(env.num_actions))
