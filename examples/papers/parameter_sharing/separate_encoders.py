"""The network of the published code, with full sharing and with independent networks: separate encoders.

    python -m train.ppo --preset parameter_sharing_paper --activation tanh \\
        --network "examples.papers.parameter_sharing.separate_encoders:apart"

The text of the study has one encoder for actor and critic. RLlib's default, which the scripts leave as it is, has two.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_choice
from train.models import networks
from train.models.layers import ACTIVATIONS, Network, check_sizes, small
from train.models.networks import DenseEncoder


class TwoEncoders(nn.Module):
    """Two encoders side by side: bool[B, *observation_shape] -> float32[B, 2 * hidden_sizes[-1]]."""

    hidden_sizes: tuple[int, ...]
    activation: str
    support: tuple[int, ...]  # places of the flattened observation that can be True

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        both = [DenseEncoder(self.hidden_sizes, self.activation, self.support)(observation) for _ in range(2)]
        return jnp.concatenate(both, axis=-1)


class HeadsApart(nn.Module):
    """The heads, each on its half: float32[B, features] -> logits float32[B, num_actions], values float32[B]."""

    num_actions: int

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        of_actor, of_critic = jnp.split(features, 2, axis=-1)
        logits = nn.Dense(self.num_actions, kernel_init=small())(of_actor)
        value = nn.Dense(1, kernel_init=small())(of_critic)
        return logits, value[:, 0]


def apart(env: Env[Any], hidden_sizes: tuple[int, ...] = (64, 64), activation: str = "tanh") -> Network:
    """Returns dense layers for the policy, others of the same sizes for the value, and linear heads."""
    check_choice("activation", activation, ACTIVATIONS)
    support = tuple(np.flatnonzero(env.observation_support).tolist())
    encoder = TwoEncoders(check_sizes("hidden_sizes", hidden_sizes), activation, support)
    return Network(encoder, HeadsApart(env.num_actions))


networks.register("apart", apart)
