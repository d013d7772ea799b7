"""The networks of Larson 2016: their sizes, their input, the highway formula and the convolutions written out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.checkers_imitation.larson import Highway, ParallelConvolutions, signed_board
from jaxgames import ParameterError
from train.imitation import Imitation, config_for
from train.models import networks
from train.models.policy import Policy

ENV = jaxgames.make("checkers")
SMALL = "larson(blocks=2, maps=2, highway=2, dropout={dropout}, jumper={jumper})"


def observation(text: str) -> jax.Array:
    return ENV.observe(ENV.from_string(text))


BOARD = observation("W:W22,K32:B18,K1")  # White, seat 1, sees PDN number n on square n - 1


def num_weights(network: str) -> int:
    params = jax.eval_shape(Policy.of(ENV, "shared", network).init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def test_published_network_has_58_million_weights() -> None:
    areas, features = 1 + 4 + 9 + 16, 32 * 96
    convolutions = 24 * areas * (1 + 3 * 96) + 4 * 96
    highway = 3 * (2 * features**2 + features)
    heads = (2 * features + 1) * (128 + 1)
    assert num_weights("larson") == convolutions + highway + heads == 57_633_489
    assert num_weights("larson(jumper=True)") == 57_633_489 + 24 * areas


@pytest.mark.parametrize(
    ("branch", "count"),
    [
        ("conv2", 4 * 32 * (1 + 32) + 64 + (1024 + 1) * 512),
        ("conv3", 9 * 32 * (1 + 32) + 64 + (1024 + 1) * 512),
        ("dense", (32 + 1) * 512 + (512 + 1) * 512),
    ],
)
def test_branch_of_the_text_is_a_network_of_its_own(branch: str, count: int) -> None:
    assert num_weights(f"larson_text(branch={branch})") == count + (512 + 1) * 129


def test_network_of_the_text_joins_its_branches() -> None:
    heads = (512 + 1) * 129
    branches = sum(num_weights(f"larson_text(branch={branch})") - heads for branch in ("conv2", "conv3", "dense"))
    assert num_weights("larson_text") == branches + (3 * 512 + 1) * 512 + heads


def test_board_has_the_numbers_of_the_pieces() -> None:
    board = np.zeros(32)
    board[[22 - 1, 32 - 1, 18 - 1, 1 - 1]] = 1, 3, -1, -3
    np.testing.assert_array_equal(signed_board(BOARD[None])[0, ..., 0].ravel(), board)


def test_piece_that_must_jump_again_is_a_second_plane_only_if_asked() -> None:
    """Without that plane the study's network cannot tell a jump that must follow from the beginning of a turn."""
    free, bound = (observation(f"W:W15,30:B11,1{end}")[None] for end in ("", ":J15"))
    np.testing.assert_array_equal(signed_board(free), signed_board(bound))
    both = np.asarray(signed_board(bound, jumper=True))
    assert both.shape == (1, 8, 4, 2)
    np.testing.assert_array_equal(np.flatnonzero(both[0, ..., 1]), [15 - 1])
    assert not np.asarray(signed_board(free, jumper=True))[..., 1].any()


def test_highway_layer_computes_its_formula() -> None:
    """Gate and transform by hand: x = (1, 2), gate weights ((1, 0), (0, 1)), transform weights ((1, -1), (1, -1))."""
    params = {
        "gate": {"kernel": jnp.eye(2)},
        "transform": {"kernel": jnp.array([[1.0, -1.0], [1.0, -1.0]]), "bias": jnp.array([0.5, 0.0])},
    }
    found = np.asarray(Highway().apply({"params": params}, jnp.array([[1.0, 2.0]])))
    # Gates: sigmoid(1 - 2) = 0.268941, sigmoid(2 - 2) = 0.5. Transforms: relu(1 + 2 + 0.5) = 3.5, relu(-1 - 2) = 0.
    np.testing.assert_allclose(found, [[0.268941 * 3.5 + 0.731059 * 1, 0.5 * 0 + 0.5 * 2]], rtol=1e-5)


def test_block_has_the_convolutions_of_four_sizes_side_by_side() -> None:
    block, x = ParallelConvolutions(2), jax.random.normal(jax.random.key(1), (3, 8, 4, 3))
    params: Any = jax.jit(block.init)(jax.random.key(0), x)
    params["params"]["bias"] = jnp.arange(8.0)
    expected = [
        jax.lax.conv_general_dilated(
            x, params["params"][f"kernel_{size}"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        for size in (1, 2, 3, 4)
    ]
    found: Any = jax.jit(block.apply)(params, x)
    np.testing.assert_allclose(found, jnp.concatenate(expected, -1) + jnp.arange(8.0), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_units_are_dropped_in_the_update_only() -> None:
    policy = Policy.of(ENV, "shared", SMALL.format(dropout=0.5, jumper=False))
    params = jax.jit(policy.init)(jax.random.key(0))
    x, seat = jnp.stack([BOARD, BOARD]), jnp.zeros(2, jnp.int32)
    played, value = jax.jit(policy.apply)(params, x, seat)
    assert played.shape == (2, 128)
    assert value.shape == (2,)
    np.testing.assert_array_equal(played[0], played[1])
    updated = jax.jit(policy.apply_in_training)(params, x, seat, jax.random.key(1))[0]
    assert not np.allclose(updated[0], updated[1])


def test_preset_of_imitation_is_a_run_of_the_published_network() -> None:
    learner = Imitation(config_for(preset="larson"))
    assert learner.policy.network == networks.make("larson", ENV)
    assert learner.config.total_steps == 150_000 * learner.config.batch_size


@pytest.mark.parametrize("network", ["larson", "larson_text"])
def test_other_games_are_refused(network: str) -> None:
    with pytest.raises(ParameterError, match=f"{network} plays only checkers, not minichess.*: use resnet"):
        networks.make(network, jaxgames.make("minichess"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("larson(dropout=1)", "dropout must be at least 0 and less than 1, not 1"),
        ("larson(highway=0)", "highway must be an integer from 1"),
        ("larson_text(branch=conv4)", "branch must be .*conv2"),
    ],
)
def test_parameters_out_of_range_are_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        networks.make(text, ENV)


def gradient_is_everywhere(policy: Policy) -> bool:
    """Returns whether each array of weights has a gradient that is not 0 for the logits or the value of a board."""
    params = jax.jit(policy.init)(jax.random.key(0))
    x = jnp.stack([BOARD, observation("W:W15,30:B11,1:J15")])

    def total(params: Any) -> jax.Array:
        logits, value = policy.apply(params, x, jnp.zeros(2, jnp.int32))
        return (logits[:, :64] ** 2).sum() + value.sum()

    return all(bool(jnp.any(leaf != 0)) for leaf in jax.tree.leaves(jax.jit(jax.grad(total))(params)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "network", [SMALL.format(dropout=0, jumper=True), "larson_text(maps=2, hidden_sizes=4, jumper=True)"]
)
def test_every_layer_takes_part(network: str) -> None:
    assert gradient_is_everywhere(Policy.of(ENV, "shared", network))
