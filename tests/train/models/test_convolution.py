"""A convolution is that of flax, on a CPU and in the program for an accelerator."""

from typing import Any

import flax.linen as nn
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from train.models.convolution import (
    MIN_CHANNELS_FOR_CELLS,
    Convolution,
    Padding,
    convolve_by_cells,
    convolve_by_rows,
    matmul_convolution,
    xla_convolution,
)


@pytest.mark.parametrize("board", [(8, 4), *(pytest.param(each, marks=pytest.mark.slow) for each in ((1, 1), (11, 3)))])
def test_convolution_equals_that_of_flax_with_its_gradient(board: tuple[int, int]) -> None:
    """Also on boards that are not square: rows and columns are treated differently."""
    ours, theirs = Convolution(6), nn.Conv(6, (3, 3))
    x = jax.random.normal(jax.random.key(0), (5, *board, 3))
    params = jax.tree.map(lambda leaf: leaf + 0.1, jax.jit(ours.init)(jax.random.key(1), x))

    def loss(layer: nn.Module, params: Any, x: jax.Array) -> Any:
        return jnp.sin(jnp.asarray(layer.apply(params, x))).sum()

    gradient = jax.jit(jax.value_and_grad(loss, argnums=(1, 2)), static_argnums=0)
    found, expected = (gradient(layer, params, x) for layer in (ours, theirs))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), found, expected)


@pytest.mark.parametrize("convolve", [convolve_by_rows, convolve_by_cells])
@pytest.mark.parametrize(
    ("board", "padding"), [pytest.param((1, 1), "SAME", marks=pytest.mark.slow), ((2, 5), "SAME"), ((4, 6), "VALID")]
)
def test_all_ways_to_convolve_agree(convolve: Any, board: tuple[int, int], padding: Padding) -> None:
    x, kernel = (jax.random.normal(jax.random.key(0), shape) for shape in ((5, *board, 3), (3, 3, 3, 4)))
    expected = xla_convolution(x, kernel, padding)
    assert expected.shape[1:3] == (board if padding == "SAME" else (board[0] - 2, board[1] - 2))
    found = jax.jit(convolve, static_argnums=2)(x, kernel, 1 if padding == "SAME" else 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("channels", "padding"), [(MIN_CHANNELS_FOR_CELLS - 1, "SAME"), (MIN_CHANNELS_FOR_CELLS, "VALID")]
)
def test_number_of_channels_does_not_change_the_result(channels: int, padding: Padding) -> None:
    x, kernel = (jax.random.normal(jax.random.key(0), shape) for shape in ((2, 4, 5, 3), (3, 3, 3, channels)))
    found = jax.jit(matmul_convolution, static_argnums=2)(x, kernel, padding)
    np.testing.assert_allclose(found, xla_convolution(x, kernel, padding), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("every_form")
@pytest.mark.parametrize(("platform", "convolutions"), [("cpu", 0), ("cuda", 1), ("tpu", 1)])
def test_platform_chooses_how_to_convolve(platform: str, convolutions: int) -> None:
    layer, x = Convolution(6), jnp.zeros((5, 4, 4, 3))
    params = jax.eval_shape(layer.init, jax.random.key(0), x)
    program = jax.export.export(jax.jit(layer.apply), platforms=[platform])(params, x).mlir_module()
    assert program.count("stablehlo.convolution") == convolutions
