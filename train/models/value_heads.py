"""Values for every seat from one observation, for search: the mover's, and where needed also the others'.

In a zero-sum game of two seats, the mover's value v is enough: the other seat has -v. For all other games,
`with_seat_values` adds n - 1 outputs to the heads of any network. The values are then a vector: the mover's own, then
the other seats' in clockwise order.
"""

import dataclasses
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp

from jaxgames import Env
from jaxgames.policies.policy import in_turn_order, is_symmetric
from train.models.layers import Network, small
from train.models.policy import Policy


class SeatHeads(nn.Module):
    """Heads with a value per seat: features -> logits float32[B, num_actions], values float32[B, num_players]."""

    heads: nn.Module  # of the network: logits and the mover's value
    num_players: int

    @nn.compact
    def __call__(self, features: jax.Array, *training: jax.Array) -> tuple[jax.Array, jax.Array]:
        heads: Any = self.heads
        logits, own = heads(features, *training)
        others = nn.Dense(self.num_players - 1, kernel_init=small())(features.reshape(features.shape[0], -1))
        return logits, jnp.concatenate([own[:, None], others], axis=1)


def with_seat_values(env: Env[Any], policy: Policy) -> Policy:
    """Returns the policy with a value per seat; the policy itself if the mover's value is enough."""
    if is_symmetric(env):
        return policy
    network = policy.network
    heads = SeatHeads(network.heads, env.num_players)
    return dataclasses.replace(policy, network=Network(network.encoder, heads, network.training_mode))


def outputs_of(env: Env[Any], values: jax.Array, mover: jax.Array) -> jax.Array:
    """Returns what the value head should give for values by seat: float32[B, 1] or float32[B, num_players].

    Args:
      values: float32[B, num_players], by seat.
      mover: int32[B], the seats to move.
    """
    own_first = in_turn_order(values, mover)
    return own_first[:, :1] if is_symmetric(env) else own_first
