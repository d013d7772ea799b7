"""Networks of tests: small ones by their texts, random parameters, none at all; and the norm of what Adam was given.

Texts of networks are "tests.helpers.networks:noisy(width=8)" and "tests.helpers.networks:patch(width=8)". A test that
makes one takes its registration back.
"""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxgames
from jaxgames import Env
from train.models import networks
from train.models.layers import DenseHeads, Network
from train.ops.action_cells import action_cells
from train.ppo import PPO, Config


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


def random_leaves(shapes: Any, seed: int = 0, divisor: float = 1.0) -> Any:
    """Normally distributed float32 arrays / `divisor`: parameters with which no value and no logit is trivial."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: (rng.normal(size=leaf.shape) / divisor).astype(np.float32), shapes)


def clipped_norm(opt_state: Any, b2: float = 0.999) -> float:
    """The norm of the gradients, if it was the same in all steps: the root of the mean of its squares."""
    (adam,) = (
        each
        for each in jax.tree.leaves(opt_state, is_leaf=lambda each: isinstance(each, optax.ScaleByAdamState))
        if isinstance(each, optax.ScaleByAdamState)
    )
    squares = sum(float(np.asarray(leaf, np.float64).sum()) for leaf in jax.tree.leaves(adam.nu))
    return float(np.sqrt(squares / (1 - b2 ** int(np.asarray(adam.count)))))


def with_policy(config: Config, policy: Any, env: jaxgames.Env[Any] | None = None, learner: type[PPO] = PPO) -> PPO:
    """Returns the learner whose policy is a function of a table or of the board; `env` is in place of the config's."""

    class OtherPolicy(learner):
        games = ((env or jaxgames.make(config.env), policy),)  # pyright: ignore[reportAssignmentType]  # constant here

    return OtherPolicy(config)
