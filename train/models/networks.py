"""Networks by name: `make("resnet(blocks=4, channels=64)", env)` returns the network of a game.

A text names a network as a text names a game: with parameters in brackets, or as `module:name(...)` for a network of
your own. That module calls `register` when it is imported.
"""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames import Env
from jaxgames._checks import check_choice, check_int
from jaxgames._specs import Registry
from train.models.convolution import Convolution
from train.models.layers import (
    ACTIVATIONS,
    COMPUTE_DTYPES,
    MAX_SIZE,
    DenseHeads,
    Network,
    check_dropout,
    check_grid,
    check_single,
    check_sizes,
    orthogonal,
    residual_dense,
)


class DenseEncoder(nn.Module):
    """Dense layers: bool[B, *observation_shape] -> float32[B, hidden_sizes[-1]].

    The inputs that are never True are left out: they are constant and only cost time. With `channels`, 3 x 3
    convolutions with ReLU come first, of all inputs: bool[B, height, width, planes].
    """

    hidden_sizes: tuple[int, ...]
    activation: str  # of the dense layers
    support: tuple[int, ...]  # places of the flattened observation that can be True
    compute_dtype: str = "float32"  # of the layers; parameters and the result are float32
    channels: tuple[int, ...] = ()

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        if self.channels:
            x = observation.astype(self.compute_dtype)
            for width in self.channels:
                x = nn.relu(Convolution(width, dtype=self.compute_dtype)(x))
            x = x.reshape(x.shape[0], -1)
        else:
            flat = observation.reshape(observation.shape[0], -1)
            x = flat.at[:, np.array(self.support)].get(mode="promise_in_bounds").astype(self.compute_dtype)
        for width in self.hidden_sizes:
            x = ACTIVATIONS[self.activation](nn.Dense(width, kernel_init=orthogonal(), dtype=self.compute_dtype)(x))
        return x.astype(jnp.float32)


def mlp(
    env: Env[Any],
    hidden_sizes: tuple[int, ...] = (64, 64),
    activation: str = "tanh",
    compute_dtype: str = "float32",
) -> Network:
    """Returns dense layers, which compute in `compute_dtype`, and linear heads in float32."""
    return _dense(env, (), hidden_sizes, activation, compute_dtype)


def conv(
    env: Env[Any],
    channels: tuple[int, ...] = (16, 16),
    hidden_sizes: tuple[int, ...] = (64, 64),
    activation: str = "tanh",
    compute_dtype: str = "float32",
) -> Network:
    """Returns convolutions with ReLU, dense layers with `activation`, and linear heads in float32.

    All layers but the heads compute in `compute_dtype`.
    """
    check_grid("conv", env)
    return _dense(env, check_sizes("channels", channels), hidden_sizes, activation, compute_dtype)


def _dense(
    env: Env[Any], channels: tuple[int, ...], hidden_sizes: tuple[int, ...], activation: str, compute_dtype: str
) -> Network:
    check_choice("activation", activation, ACTIVATIONS)
    check_choice("compute_dtype", compute_dtype, COMPUTE_DTYPES)
    support = tuple(np.flatnonzero(env.observation_support).tolist())
    encoder = DenseEncoder(check_sizes("hidden_sizes", hidden_sizes), activation, support, compute_dtype, channels)
    return Network(encoder, DenseHeads(env.num_actions))


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


_networks: Registry[Network] = Registry(
    "network",
    {
        "mlp": mlp,
        "conv": conv,
        "residual_mlp": residual_mlp,
        "resnet": "train.models.resnet:resnet",
        "chess_graph": "train.models.chess_graph:chess_graph",
        "diagonal_mlp": "train.models.diagonal_mlp:diagonal_mlp",
        "graph": "train.models.graph:graph",
        "hops": "train.models.hop_planner:hops",
        # of one study each
        "alpha_mini": "examples.papers.alpha_mini.network:alpha_mini",
        "larson": "examples.papers.checkers_imitation.larson:larson",
        "larson_text": "examples.papers.checkers_imitation.larson:larson_text",
        "star_graph": "examples.papers.parameter_sharing.star_graph:star_graph",
    },
    examples="'mlp', 'resnet(blocks=4, channels=64)' or 'mypackage.mymodule:mynetwork(width=64)'",
    register="train.models.networks.register",
    num_arguments=1,
)


def list_networks() -> list[str]:
    """Returns the names that `make` takes, in alphabetical order."""
    return _networks.names()


def register(name: str, constructor: Callable[..., Network]) -> None:
    """Adds a network, so that `make("name(parameter=value)", env)` returns `constructor(env, parameter=value)`.

    Raises ValueError if the name is taken or is not a Python identifier, TypeError if the constructor cannot be called.
    """
    _networks.register(name, constructor)


def make(text: str, env: Env[Any], **parameters: Any) -> Network:
    """Returns the network that `text` names, for a game.

    Args:
      text: a name from `list_networks()`, with or without parameters in brackets. With a module and a colon in front,
        `"mypackage.mymodule:mynetwork(width=64)"`, the module is imported first, which must call
        `register("mynetwork", ...)`.
      **parameters: parameters that are not in the brackets.

    Raises ParameterError (a ValueError) for any other text or parameter, and for a game that the network cannot play.
    The message lists what is allowed.
    """
    return _networks.make(text, env, **parameters)
