"""The network of Alpha-Mini: four convolutions and two dense layers with batch normalisation, then two linear heads.

    4 x    3 x 3 convolution, batch norm, ReLU; the last two have no zeros around the board: 5 x 5, 5 x 5, 3 x 3, 1 x 1
    2 x    dense, batch norm, ReLU, dropout

In play, batch norm uses running statistics and no unit is dropped. In the update, it uses the statistics of the
minibatch. The new running statistics are 0.9 times the old ones plus 0.1 times the minibatch's. The shift of a
batch norm is the bias of the layer before it, which has none itself.

Source: Sun and Tan, Alpha-Mini: Minichess Agent with Deep Reinforcement Learning, arXiv:2112.13666, section 2.1. The
sizes, which the text leaves open, come from the code of its authors: 512 channels, dense 1,024 and 512, dropout 0.3.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames._checks import ParameterError
from train.models.convolution import Convolution, Padding
from train.models.layers import DenseHeads, Network, check_dropout, check_grid, check_single, check_sizes, orthogonal

PADDINGS: tuple[Padding, ...] = ("SAME", "SAME", "VALID", "VALID")  # of the four convolutions


class AlphaMiniEncoder(nn.Module):
    """The layers before the heads: bool[B, height, width, planes] -> float32[B, hidden_sizes[-1]]."""

    channels: int
    hidden_sizes: tuple[int, ...]
    dropout: float

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        def normalised(x: jax.Array) -> jax.Array:
            rows = None if training is None else training.reshape(-1, *(1,) * (x.ndim - 1))
            norm = nn.BatchNorm(use_running_average=training is None, momentum=0.9, epsilon=1e-5)
            return nn.relu(norm(x, mask=rows))

        x = observation.astype(jnp.float32)
        for padding in PADDINGS:
            x = normalised(Convolution(self.channels, padding=padding, use_bias=False)(x))
        x = x.reshape(x.shape[0], -1)
        for width in self.hidden_sizes:
            x = normalised(nn.Dense(width, use_bias=False, kernel_init=orthogonal())(x))
            x = nn.Dropout(self.dropout, deterministic=training is None)(x)
        return x


def alpha_mini(
    env: Env[Any],
    channels: int | tuple[int, ...] = 512,
    hidden_sizes: tuple[int, ...] = (1024, 512),
    dropout: float = 0.3,
) -> Network:
    """Returns the network of Alpha-Mini, for boards of at least 5 x 5.

    Args:
      env: a game whose observations are grids.
      channels: of each convolution.
      hidden_sizes: widths of the dense layers.
      dropout: probability that a unit of a dense layer is dropped in the update.
    """
    height, width, _ = check_grid("alpha_mini", env)
    if min(height, width) < 5:
        raise ParameterError(
            f"alpha_mini needs a board of at least 5 x 5, and observations of {env} are {height} x {width}: use conv"
        )
    encoder = AlphaMiniEncoder(
        check_single("channels", channels), check_sizes("hidden_sizes", hidden_sizes), check_dropout(dropout)
    )
    return Network(encoder, DenseHeads(env.num_actions), training_mode=("encoder",))
