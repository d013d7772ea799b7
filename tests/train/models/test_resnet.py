"""Convolutions as those of flax; the residual network: its layers, and each action's output on the action's cell."""

from typing import Any

import flax.linen as nn
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.helpers.networks import random_leaves
from tests.helpers.positions import compiled
from train.models.convolution import (
    Convolution,
    Padding,
    convolve_by_cells,
    convolve_by_rows,
    xla_convolution,
)
from train.models.policy import Policy
from train.models.resnet import CellHeads
from train.ops.action_cells import ActionCells, action_cells

GAMES = {  # and the planes of the observation in which an action's cell is set: the mover's pieces; None for no piece
    "chinese_checkers(size=1, num_players=2)": [0],
    "minichess": range(6),
    "checkers": [0, 1],
    "chinese_checkers_diamond(size=3, pieces=1)": None,
    "dots_and_boxes(rows=2, cols=1)": None,
}


def cells_of(env: Any) -> ActionCells:
    cells = action_cells(env)
    assert cells is not None
    return cells


def positions(env: Any, count: int) -> list[Any]:
    """The boards of one random game, without its end."""
    rng, programs = np.random.default_rng(0), compiled(env)
    state, found = jax.device_get(env.init(jax.random.key(0))), list[Any]()
    while len(found) < count and not (state.terminated or state.truncated):
        found.append(state)
        action = rng.choice(np.flatnonzero(programs.mask(state)))
        state = jax.device_get(programs.step(state, jnp.int32(action)))
    return found


@pytest.mark.parametrize("game", GAMES)
def test_every_legal_action_lies_on_the_cell_of_its_piece(game: str) -> None:
    """On the diamond its cell is an empty target and its plane the origin; an edge is one that is not drawn."""
    env, planes = jaxgames.make(game), GAMES[game]
    cells = cells_of(env)
    for state in positions(env, 12):
        look = jax.device_get(compiled(env).look(state))
        board = look.mover.reshape(-1, env.observation_shape[-1])  # bool[cells, planes]
        for action in np.flatnonzero(look.mask & (cells.cell >= 0)):
            cell, plane = cells.cell[action], cells.plane[action]
            if planes is not None:
                assert board[cell, planes].any()
            elif env.id == "dots_and_boxes":
                assert not board[cell, 0]
            else:
                assert board[plane, 0]
                assert not board[cell].any()


@pytest.mark.parametrize("game", [*GAMES, "dots_and_boxes(rows=3, cols=2)", "chinese_checkers(size=2)"])
def test_no_two_actions_share_an_output(game: str) -> None:
    env = jaxgames.make(game)
    cells = cells_of(env)
    assert cells.cell.shape == cells.plane.shape == (env.num_actions,)
    has_cell = cells.cell >= 0
    places = (cells.cell * cells.num_planes + cells.plane)[has_cell]
    assert len({*places}) == has_cell.sum()
    assert places.max() < np.prod(env.observation_shape[:2]) * cells.num_planes
    assert np.flatnonzero(~has_cell).tolist() == ([env.num_actions - 1] if env.id == "chinese_checkers" else [])


# -- the layers ----------------------------------------------------------------------------------------------------


def parameters(module: nn.Module, x: np.ndarray) -> Any:
    """Random parameters without zeros."""
    return random_leaves(jax.eval_shape(module.init, jax.random.key(0), x), seed=2, divisor=5)


# The same layers in numpy.


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def convolved(x: np.ndarray, params: Any) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))  # [B, height, width, planes, 3, 3]
    return np.einsum("bhwpij,ijpo->bhwo", windows, params["kernel"]) + params["bias"]


def dense(x: np.ndarray, params: Any) -> np.ndarray:
    return x @ np.asarray(params["kernel"]) + params["bias"]


@pytest.fixture(scope="module")
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, 3, 3, 4)).astype(np.float32)


def test_encoder_is_a_stem_and_blocks_that_add_their_input() -> None:
    env = jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)")
    encoder = Policy.of(env, "shared", "resnet(blocks=2, channels=8, bottleneck=3)").network.encoder
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


def test_logit_of_a_move_is_the_output_of_its_origins_plane_on_its_target(features: np.ndarray) -> None:
    env = jaxgames.make("chinese_checkers_diamond(size=3, pieces=1)")
    heads = Policy.of(env, "shared", "resnet(channels=4, value_size=5)").network.heads
    params = parameters(heads, features)
    layers = params["params"]
    logits, values = jax.device_get(jax.jit(heads.apply)(params, features))
    planes = convolved(relu(convolved(features, layers["Convolution_0"])), layers["Convolution_1"])
    assert planes.shape == (2, 3, 3, 9)
    for origin, target in np.ndindex(9, 9):
        expected = planes[:, target // 3, target % 3, origin]
        np.testing.assert_allclose(logits[:, 9 * origin + target], expected, rtol=1e-4, atol=1e-5)
    hidden = relu(dense(features.reshape(2, -1), layers["Dense_0"]))
    np.testing.assert_allclose(values, np.tanh(dense(hidden, layers["Dense_1"])[:, 0]), rtol=1e-4, atol=1e-5)


def test_action_without_a_cell_has_a_dense_layer_on_the_mean_of_the_cells(features: np.ndarray) -> None:
    heads = CellHeads(num_actions=4, cell=(2, -1, 0, 8), plane=(1, 0, 0, 1), value_size=2, value="linear")
    params = parameters(heads, features)
    layers = params["params"]
    logits, values = jax.device_get(jax.jit(heads.apply)(params, features))
    x = relu(convolved(features, layers["Convolution_0"]))
    planes = convolved(x, layers["Convolution_1"]).reshape(2, 9, 2)
    other = dense(x.mean((1, 2)), layers["Dense_2"])[:, 0]
    expected = np.stack([planes[:, 2, 1], other, planes[:, 0, 0], planes[:, 8, 1]], axis=1)
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-5)
    hidden = relu(dense(features.reshape(2, -1), layers["Dense_0"]))
    np.testing.assert_allclose(values, dense(hidden, layers["Dense_1"])[:, 0], rtol=1e-4, atol=1e-5)


def test_game_without_cells_has_a_dense_policy(features: np.ndarray) -> None:
    heads = CellHeads(num_actions=7, cell=None, plane=None, value_size=2, value="tanh")
    params = parameters(heads, features)
    layers = params["params"]
    logits, _ = jax.device_get(jax.jit(heads.apply)(params, features))
    x = relu(convolved(features, layers["Convolution_0"]))
    planes = relu(dense(x, layers["Dense_2"])).reshape(2, -1)
    np.testing.assert_allclose(logits, dense(planes, layers["Dense_3"]), rtol=1e-4, atol=1e-5)


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


@pytest.mark.usefixtures("every_form")
@pytest.mark.parametrize(("platform", "convolutions"), [("cpu", 0), ("cuda", 1), ("tpu", 1)])
def test_platform_chooses_how_to_convolve(platform: str, convolutions: int) -> None:
    layer, x = Convolution(6), jnp.zeros((5, 4, 4, 3))
    params = jax.eval_shape(layer.init, jax.random.key(0), x)
    program = jax.export.export(jax.jit(layer.apply), platforms=[platform])(params, x).mlir_module()
    assert program.count("stablehlo.convolution") == convolutions
