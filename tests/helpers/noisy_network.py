"""A small network with a batch norm and dropout. Its text is "tests.helpers.noisy_network:noisy(width=8)".

A test that makes it takes its registration back.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxgames import Env
from train.models import networks
from train.models.layers import DenseHeads, Network


class NoisyEncoder(nn.Module):
    """bool[B, *observation_shape] -> float32[B, width]."""

    width: int

    @nn.compact
    def __call__(self, observation: jax.Array, training: jax.Array | None = None) -> jax.Array:
        x = nn.Dense(self.width)(observation.reshape(observation.shape[0], -1).astype(jnp.float32))
        mask = None if training is None else training[:, None]
        x = nn.BatchNorm(use_running_average=training is None, momentum=0.9)(x, mask=mask)
        return nn.Dropout(0.2, deterministic=training is None)(nn.relu(x))


def noisy(env: Env[Any], width: int = 8) -> Network:
    """Returns the network."""
    return Network(NoisyEncoder(width), DenseHeads(env.num_actions), training_mode=("encoder",))


networks.register("noisy", noisy)
