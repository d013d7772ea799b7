"""The residual network beside its layers in numpy, and all ways to convolve."""

from typing import Any

import flax.linen as nn
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.helpers.networks import random_leaves
from train.models.convolution import Convolution, Padding, convolve_by_cells, convolve_by_rows, xla_convolution
from train.models.policy import Policy
from train.models.resnet import CellHeads

DIAMOND = jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)")


def parameters(module: nn.Module, x: np.ndarray) -> Any:
    """Random parameters without zeros."""
    return random_leaves(jax.eval_shape(module.init, jax.random.key(0), x), seed=2, divisor=5)


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def convolved(x: np.ndarray, params: Any) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))  # [B, height, width, planes, 3, 3]
    return np.einsum("bhwpij,ijpo->bhwo", windows, params["kernel"]) + params["bias"]


def dense(x: np.ndarray, params: Any) -> np.ndarray:
    return x @ np.asarray(params["kernel"]) + params["bias"]


def test_encoder_is_a_stem_and_blocks_that_add_their_input() -> None:
    encoder = Policy.of(DIAMOND, "shared", "resnet(blocks=2, channels=8, bottleneck=3)").network.encoder
    x = np.random.default_rng(1).random((4, 3, 3, 2)) < 0.5
    params = parameters(encoder, x)
    layers = params["params"]
    expected = relu(convolved(x.astype(np.float32), layers["Convolution_0"]))
    for block in range(2):
        y = relu(dense(expected, layers[f"Dense_{2 * block}"]))
        y = relu(convolved(y, layers[f"Convolution_{block + 1}"]))
        expected = relu(expected + dense(y, layers[f"Dense_{2 * block + 1}"]))
    assert expected.shape == (4, 3, 3, 8)
    np.testing.assert_allclose(np.asarray(jax.jit(encoder.apply)(params, x)), expected, rtol=1e-4, atol=1e-5)


def of_diamond(planes: np.ndarray, x: np.ndarray, layers: Any) -> np.ndarray:
    """The logit of a move is the output of its origin's plane on its target."""
    return np.stack([planes[:, target // 3, target % 3, origin] for origin, target in np.ndindex(9, 9)], axis=1)


def without_a_cell(planes: np.ndarray, x: np.ndarray, layers: Any) -> np.ndarray:
    """An action without a cell has a dense layer on the mean of the cells."""
    other, of_cells = dense(x.mean((1, 2)), layers["Dense_2"])[:, 0], planes.reshape(2, 9, 2)
    return np.stack([of_cells[:, 2, 1], other, of_cells[:, 0, 0], of_cells[:, 8, 1]], axis=1)


def of_no_cells(planes: None, x: np.ndarray, layers: Any) -> np.ndarray:
    """A game without cells has a dense policy."""
    return dense(relu(dense(x, layers["Dense_2"])).reshape(2, -1), layers["Dense_3"])


HEADS: dict[Any, Any] = {
    of_diamond: Policy.of(DIAMOND, "shared", "resnet(channels=4, value_size=5)").network.heads,
    without_a_cell: CellHeads(4, cell=(2, -1, 0, 8), plane=(1, 0, 0, 1), value_size=2, value="linear"),
    of_no_cells: CellHeads(7, cell=None, plane=None, value_size=2, value="tanh", pool=True),
}


@pytest.mark.parametrize(("expected", "heads"), HEADS.items())
def test_heads_are_those_written_in_numpy(expected: Any, heads: CellHeads) -> None:
    features = np.random.default_rng(0).normal(size=(2, 3, 3, 4)).astype(np.float32)
    params = parameters(heads, features)
    layers = params["params"]
    logits, values = jax.device_get(jax.jit(heads.apply)(params, features))
    x = relu(convolved(features, layers["Convolution_0"]))
    planes = convolved(x, layers["Convolution_1"]) if heads.cell else None
    np.testing.assert_allclose(logits, expected(planes, x, layers), rtol=1e-4, atol=1e-5)
    pooled = np.concatenate([features.mean((1, 2)), features.max((1, 2))], axis=1)
    hidden = relu(dense(pooled if heads.pool else features.reshape(2, -1), layers["Dense_0"]))
    value = dense(hidden, layers["Dense_1"])[:, 0]
    np.testing.assert_allclose(values, np.tanh(value) if heads.value == "tanh" else value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("convolve", [convolve_by_rows, convolve_by_cells])
@pytest.mark.parametrize(("board", "padding"), [((2, 5), "SAME"), ((4, 6), "VALID")])
def test_all_ways_to_convolve_agree(convolve: Any, board: tuple[int, int], padding: Padding) -> None:
    x, kernel = (jax.random.normal(jax.random.key(0), shape) for shape in ((5, *board, 3), (3, 3, 3, 4)))
    expected = xla_convolution(x, kernel, padding)
    assert expected.shape[1:3] == (board if padding == "SAME" else (board[0] - 2, board[1] - 2))
    found = jax.jit(convolve, static_argnums=2)(x, kernel, 1 if padding == "SAME" else 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("every_form")
@pytest.mark.parametrize(("platform", "convolutions"), [("cpu", 0), ("cuda", 1), ("tpu", 1)])
def test_platform_chooses_how_to_convolve(platform: str, convolutions: int) -> None:
    layer, x = Convolution(6), jnp.zeros((5, 4, 4, 3))
    params = jax.eval_shape(layer.init, jax.random.key(0), x)
    program = jax.export.export(jax.jit(layer.apply), platforms=[platform])(params, x).mlir_module()
    assert program.count("stablehlo.convolution") == convolutions
