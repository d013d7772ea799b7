"""Networks: an encoder of observations, and heads for the policy and the value."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.platforms import by_platform


class Encoder(nn.Module):
    """The encoder: bool[B, *observation_shape] -> float32[B, hidden_sizes[-1]].

    It has one convolution per entry of `channels`, over observations of shape [height, width, planes]. Dense layers
    follow. Without convolutions, the inputs that are never True are left out: they are constant and only cost time.
    """

    hidden_sizes: tuple[int, ...]
    channels: tuple[int, ...]
    support: tuple[int, ...]  # places of the flattened observation that can be True

    @nn.compact
    def __call__(self, observation: jax.Array) -> jax.Array:
        if self.channels:
            x = observation.astype(jnp.float32)
            for width in self.channels:
                x = nn.relu(Convolution(width)(x))
            x = x.reshape(x.shape[0], -1)
        else:
            flat = observation.reshape(observation.shape[0], -1)
            x = flat.at[:, np.array(self.support)].get(mode="promise_in_bounds").astype(jnp.float32)
        for width in self.hidden_sizes:
            x = nn.tanh(nn.Dense(width, kernel_init=nn.initializers.orthogonal(np.sqrt(2)))(x))
        return x


class Convolution(nn.Module):
    """A 3 x 3 convolution, with zeros around the board: [B, height, width, planes] -> [B, height, width, channels].

    The parameters and the result are those of `flax.linen.Conv`. On a CPU it is computed by `matmul_convolution`,
    on other platforms by XLA's own convolution.
    """

    channels: int

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        shape = (3, 3, x.shape[-1], self.channels)
        kernel = self.param("kernel", nn.initializers.orthogonal(np.sqrt(2)), shape)
        bias = self.param("bias", nn.initializers.zeros, (self.channels,))
        return by_platform(x, kernel, cpu=matmul_convolution, library=xla_convolution) + bias


def xla_convolution(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """[B, height, width, planes], [3, 3, planes, channels] -> [B, height, width, channels], all float32."""
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def matmul_convolution(x: jax.Array, kernel: jax.Array) -> jax.Array:
    """Returns `xla_convolution` by one matrix product. The gradient of XLA's own is slow inside a loop on a CPU.

    A row of the output is the product of the three input rows around it, side by side, with one matrix that holds the
    kernel at every column. Most of that matrix is zero, so the arithmetic is width / 3 times as much. It is still
    faster than nine thin products, or one product over all cells (benchmarks/convolutions.py).
    """
    height, width, planes = x.shape[1:]
    matrix = jnp.einsum("jab,ijkl->iakbl", _columns(width), kernel).reshape(3 * width * planes, -1)
    around = jnp.pad(x.reshape(-1, height, width * planes), ((0, 0), (1, 1), (0, 0)))
    rows = jnp.concatenate([around[:, i : i + height] for i in range(3)], axis=-1)
    return (rows.reshape(-1, 3 * width * planes) @ matrix).reshape(-1, height, width, kernel.shape[-1])


def _columns(width: int) -> np.ndarray:
    """float32[3, width, width]: [j, a, b] is 1 where column j of a kernel around output column b lies on column a."""
    return np.stack([np.eye(width, width, 1 - j, dtype=np.float32) for j in range(3)])


class Heads(nn.Module):
    """The two heads: float32[B, features] -> logits float32[B, num_actions], values float32[B]."""

    num_actions: int

    @nn.compact
    def __call__(self, features: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits = nn.Dense(self.num_actions, kernel_init=nn.initializers.orthogonal(0.01))(features)
        value = nn.Dense(1, kernel_init=nn.initializers.orthogonal(0.01))(features)
        return logits, value[:, 0]
