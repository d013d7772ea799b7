"""Residual dense layers for games of any observation, and linear heads.

stem     dense to `width`
block    layer norm, dense to `width`, ReLU, dropout, dense to `width`; its input is added
end      layer norm, ReLU, dropout
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_int
from train.models.layers import MAX_SIZE, DenseHeads, Network, check_dropout, check_single, residual_dense


class ResidualDenseEncoder(nn.Module):
    """The stem and the blocks: bool[B, *observation_shape] -> float32[B, width]."""

    width: int
    blocks: int
    support: tuple[int, ...]  # places of the flattened observation that can be True
    dropout: float

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        drop = nn.Dropout(self.dropout, deterministic=training is None)
        flat = observation.reshape(observation.shape[0], -1)
        x = flat.at[:, np.array(self.support)].get(mode="promise_in_bounds").astype(jnp.float32)
        return residual_dense(x, self.width, self.blocks, drop)


def residual_mlp(
    env: Env[Any], hidden_sizes: int | tuple[int, ...] = 256, blocks: int = 3, dropout: float = 0.0
) -> Network:
    """Returns residual dense layers and linear heads.

    Args:
      hidden_sizes: width of all layers.
      blocks: number of residual blocks.
      dropout: probability that a unit is dropped in the update. The parameters do not depend on it.
    """
    check_int("blocks", blocks, 1, MAX_SIZE)
    support = tuple(np.flatnonzero(env.observation_support).tolist())
    width = check_single("hidden_sizes", hidden_sizes)
    encoder = ResidualDenseEncoder(width, blocks, support, check_dropout(dropout))
    return Network(encoder, DenseHeads(env.num_actions), training_mode=("encoder",) if dropout else ())
