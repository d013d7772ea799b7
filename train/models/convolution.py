"""A 3 x 3 convolution, with one form for CPUs and one for all other platforms."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames.platforms import by_platform


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
