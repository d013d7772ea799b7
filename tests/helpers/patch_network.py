"""A small network of Dots and Boxes whose parameters fit every board: each place of the grid sees its neighbours.

Its text is "tests.helpers.patch_network:patch(width=8)". A test that makes it takes its registration back.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from train.models import networks
from train.models.layers import Network
from train.ops.action_cells import action_cells


class PatchEncoder(nn.Module):
    """bool[B, height, width, planes] -> float32[B, height, width, features]."""

    features: int

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        height, width = observation.shape[1:3]
        padded = jnp.pad(observation.astype(jnp.float32), ((0, 0), (2, 2), (2, 2), (0, 0)))
        patches = [padded[:, row : row + height, col : col + width] for row in range(5) for col in range(5)]
        return nn.relu(nn.Dense(self.features)(jnp.concatenate(patches, axis=-1)))


class PatchHeads(nn.Module):
    """The logit of an edge is of its own place; the value is of the mean over all places."""

    cell: tuple[int, ...]

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        # Without a bias: it would change no probability, so its gradient would be nothing but rounding errors.
        of_places = nn.Dense(1, use_bias=False)(features).reshape(features.shape[0], -1)
        return of_places[:, np.array(self.cell)], jnp.tanh(nn.Dense(1)(features.mean((1, 2))))[:, 0]


def patch(env: Env[Any], width: int = 8) -> Network:
    """Returns the network, for a game whose actions have cells."""
    cells = action_cells(env)
    assert cells is not None
    return Network(PatchEncoder(width), PatchHeads(tuple(cells.cell.tolist())), any_board=True)


networks.register("patch", patch)
