"""A 3 x 3 convolution, with one form for CPUs and one for all other platforms."""

import functools
import math
from typing import Literal

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from jaxgames._platforms import by_platform

Padding = Literal["SAME", "VALID"]
MIN_CHANNELS_FOR_CELLS = 128  # from where products by cells were faster on a CPU


class Convolution(nn.Module):
    """A 3 x 3 convolution: [B, height, width, planes] -> [B, height, width, channels].

    With `padding="SAME"` there are zeros around the board. With "VALID" there are none, and the result has two rows and
    two columns fewer. The parameters and the result are as in `flax.linen.Conv`. On a CPU it is computed by
    `matmul_convolution`, on other platforms by XLA's own convolution.
    """

    channels: int
    padding: Padding = "SAME"
    use_bias: bool = True
    scale: float = math.sqrt(2)  # of the orthogonal kernel at the start
    dtype: str = "float32"  # of the arithmetic and the result; parameters are float32

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        shape = (3, 3, x.shape[-1], self.channels)
        kernel = self.param("kernel", nn.initializers.orthogonal(self.scale), shape, jnp.float32)
        on_cpu = functools.partial(matmul_convolution, padding=self.padding)
        elsewhere = functools.partial(xla_convolution, padding=self.padding)
        y = by_platform(x.astype(self.dtype), kernel.astype(self.dtype), cpu=on_cpu, library=elsewhere)
        if not self.use_bias:
            return y
        bias = self.param("bias", nn.initializers.zeros, (self.channels,), jnp.float32)
        return y + bias.astype(self.dtype)


def xla_convolution(x: jax.Array, kernel: jax.Array, padding: Padding = "SAME") -> jax.Array:
    """Returns the convolution of boards with a 3 x 3 kernel, by XLA.

    [B, height, width, planes], [3, 3, planes, channels] -> [B, height, width, channels], all of one dtype.
    With "VALID", height and width of the result are smaller by 2.
    """
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def matmul_convolution(x: jax.Array, kernel: jax.Array, padding: Padding = "SAME") -> jax.Array:
    """Returns `xla_convolution` by one matrix product. The gradient of XLA's own is slow inside a loop on a CPU.

    It is the product by rows for few channels and the product by cells for many.
    """
    convolve = convolve_by_cells if kernel.shape[-1] >= MIN_CHANNELS_FOR_CELLS else convolve_by_rows
    return convolve(x, kernel, 1 if padding == "SAME" else 0)


def convolve_by_rows(x: jax.Array, kernel: jax.Array, around: int) -> jax.Array:
    """Returns the convolution of boards with `around` rows and columns of zeros on each side.

    A row of the output is a matrix product. The left side is the three input rows around it, side by side. The right
    side is one matrix that holds the kernel at every column. Most of that matrix is zero, so the arithmetic is width /
    3 times as much. With few channels it is still faster than nine thin products, or one product over all cells.
    """
    height, width, planes = x.shape[1:]
    new_height, new_width = height + 2 * around - 2, width + 2 * around - 2
    # float[3, width, new_width]; [j, a, b] is 1 if column j of the kernel at output b is on input a.
    columns = np.stack([np.eye(width, new_width, around - j) for j in range(3)])
    matrix = jnp.einsum("jab,ijkl->iakbl", columns.astype(kernel.dtype), kernel).reshape(3 * width * planes, -1)
    padded = jnp.pad(x.reshape(-1, height, width * planes), ((0, 0), (around, around), (0, 0)))
    rows = jnp.concatenate([padded[:, i : i + new_height] for i in range(3)], axis=-1)
    return (rows.reshape(-1, 3 * width * planes) @ matrix).reshape(-1, new_height, new_width, kernel.shape[-1])


def convolve_by_cells(x: jax.Array, kernel: jax.Array, around: int) -> jax.Array:
    """Returns the result of `convolve_by_rows`.

    A cell of the output is the product of the nine cells around it, side by side, with the kernel. No product with zero
    is computed, but the input is copied nine times.
    """
    height, width, planes = x.shape[1:]
    new_height, new_width = height + 2 * around - 2, width + 2 * around - 2
    padded = jnp.pad(x, ((0, 0), (around, around), (around, around), (0, 0)))
    nine = [padded[:, i : i + new_height, j : j + new_width] for i in range(3) for j in range(3)]
    cells = jnp.concatenate(nine, axis=-1).reshape(-1, 9 * planes)
    return (cells @ kernel.reshape(9 * planes, -1)).reshape(-1, new_height, new_width, kernel.shape[-1])
