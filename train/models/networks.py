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
from jaxgames._checks import check_choice
from jaxgames._specs import Registry
from train.models.alpha_mini import alpha_mini
from train.models.chess_graph import chess_graph
from train.models.convolution import Convolution
from train.models.diagonal_mlp import diagonal_mlp
from train.models.graph import graph
from train.models.hop_planner import hops
from train.models.larson import larson, larson_text
from train.models.layers import (
    ACTIVATIONS,
    COMPUTE_DTYPES,
    DenseHeads,
    Network,
    check_grid,
    check_sizes,
    orthogonal,
)
from train.models.residual_mlp import residual_mlp
from train.models.resnet import resnet
from train.models.star_graph import star_graph


class DenseEncoder(nn.Module):
    """Dense layers: bool[B, *observation_shape] -> float32[B, hidden_sizes[-1]].

    The inputs that are never True are left out: they are constant and only cost time.
    """

    hidden_sizes: tuple[int, ...]
    activation: str
    support: tuple[int, ...]  # places of the flattened observation that can be True
    compute_dtype: str = "float32"  # of the layers; parameters and the result are float32

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        flat = observation.reshape(observation.shape[0], -1)
        x = flat.at[:, np.array(self.support)].get(mode="promise_in_bounds").astype(self.compute_dtype)
        for width in self.hidden_sizes:
            x = ACTIVATIONS[self.activation](nn.Dense(width, kernel_init=orthogonal(), dtype=self.compute_dtype)(x))
        return x.astype(jnp.float32)


class ConvolutionalEncoder(nn.Module):
    """3 x 3 convolutions with ReLU, then dense layers.

    bool[B, height, width, planes] -> float32[B, hidden_sizes[-1]]
    """

    channels: tuple[int, ...]
    hidden_sizes: tuple[int, ...]
    activation: str  # of the dense layers
    compute_dtype: str = "float32"  # of the layers; parameters and the result are float32

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        x = observation.astype(self.compute_dtype)
        for width in self.channels:
            x = nn.relu(Convolution(width, dtype=self.compute_dtype)(x))
        x = x.reshape(x.shape[0], -1)
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
    check_choice("activation", activation, ACTIVATIONS)
    check_choice("compute_dtype", compute_dtype, COMPUTE_DTYPES)
    support = tuple(np.flatnonzero(env.observation_support).tolist())
    encoder = DenseEncoder(check_sizes("hidden_sizes", hidden_sizes), activation, support, compute_dtype)
    return Network(encoder, DenseHeads(env.num_actions))


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
    check_choice("activation", activation, ACTIVATIONS)
    check_choice("compute_dtype", compute_dtype, COMPUTE_DTYPES)
    encoder = ConvolutionalEncoder(
        check_sizes("channels", channels), check_sizes("hidden_sizes", hidden_sizes), activation, compute_dtype
    )
    return Network(encoder, DenseHeads(env.num_actions))


_networks: Registry[Network] = Registry(
    "network",
    {
        "mlp": mlp,
        "residual_mlp": residual_mlp,
        "conv": conv,
        "resnet": resnet,
        "alpha_mini": alpha_mini,
        "chess_graph": chess_graph,
        "hops": hops,
        "star_graph": star_graph,
        "graph": graph,
        "diagonal_mlp": diagonal_mlp,
        "larson": larson,
        "larson_text": larson_text,
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
