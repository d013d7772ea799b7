"""Networks by name: what every network keeps, its settings and its refusals, and the networks of stored runs."""

from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from tests.helpers.networks import random_leaves
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import Sticks
from train.models import networks
from train.models.layers import COMPUTE_DTYPES
from train.models.policy import Policy
from train.ops.symmetries import symmetries

STAR_TEXT = "chinese_checkers(size=1, num_players=2)"
STAR = jaxgames.make(STAR_TEXT)  # observes bool[5, 5, 4], has 79 actions
BOXES = "dots_and_boxes(rows=2, cols=2)"
slow = pytest.mark.slow


def observations(env: Any, count: int) -> jax.Array:
    shape = (count, *env.observation_shape)
    return jax.random.bernoulli(jax.random.key(1), 0.5, shape) & env.observation_support


# -- what every network keeps ------------------------------------------------------------------------------------------

NETWORKS = {  # by name: its game, and small sizes
    "alpha_mini": ("minichess(rules=king_capture)", "channels=4, hidden_sizes=[6, 5]"),
    "chess_graph": ("minichess", "rounds=2, width=4"),
    "conv": (STAR_TEXT, "channels=[4], hidden_sizes=[5]"),
    "diagonal_mlp": ("checkers", "channels=3, local_blocks=1, hidden_sizes=4, blocks=1"),
    "graph": (BOXES, "rounds=2, width=6, chains=True"),
    "hops": (STAR_TEXT, "hidden_sizes=[6], hops=2"),
    "larson": ("checkers", "blocks=1, maps=2, highway=1"),
    "larson_text": ("checkers", "maps=2, hidden_sizes=8"),
    "mlp": (STAR_TEXT, "hidden_sizes=[6]"),
    "residual_mlp": (STAR_TEXT, "hidden_sizes=8, blocks=1"),
    "resnet": (STAR_TEXT, "blocks=1, channels=8"),
    "star_graph": (STAR_TEXT, "rounds=2, width=4, hops=1"),
}
FAST = ("conv", "mlp", "residual_mlp", "resnet")  # others are traced for seconds


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("mlp", {"compute_dtype": "bfloat16"}),
        *((name, {}) if name in FAST else pytest.param(name, {}, marks=slow) for name in NETWORKS),
    ],
)
def test_numbers_have_32_bits_with_x64_and_with_strict_promotion(name: str, settings: dict[str, Any]) -> None:
    game, sizes = NETWORKS[name]
    env = jaxgames.make(game)
    policy = Policy.of(env, "shared", f"{name}({sizes})", **settings)
    rows = jnp.zeros((2, *env.observation_shape), jnp.bool_)
    for mode in (jax.enable_x64(True), jax.numpy_dtype_promotion("strict")):
        with mode:
            params = jax.eval_shape(policy.init, jax.random.key(0))
            outputs = jax.eval_shape(policy.apply, params, rows, jnp.zeros(2, jnp.int32))
        assert {leaf.dtype for leaf in jax.tree.leaves((params, outputs))} == {jnp.dtype("float32")}


@pytest.mark.parametrize(
    "name",  # the statistics of alpha_mini are tested with its study
    [
        "residual_mlp",
        *(pytest.param(each, marks=slow) for each in NETWORKS if each not in ("residual_mlp", "alpha_mini")),
    ],
)
def test_every_array_has_a_gradient_and_rows_are_apart(name: str) -> None:
    game, sizes = NETWORKS[name]
    env = jaxgames.make(game)
    policy, rows, seat = Policy.of(env, "shared", f"{name}({sizes})"), observations(env, 8), jnp.zeros(8, jnp.int32)
    params = random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), divisor=3)

    def total(params: Any, rows: jax.Array) -> Any:
        logits, values = policy.apply(params, rows, seat)
        return (logits * jnp.arange(env.num_actions)).sum() + (values**2).sum(), (logits, values)

    program = jax.jit(jax.grad(total, has_aux=True))
    gradient, found = program(params, rows)
    without = [path for path, leaf in jax.tree.leaves_with_path(gradient) if not np.any(leaf)]
    assert not without
    for one, other in zip(found, program(params, rows[::-1])[1], strict=True):
        np.testing.assert_allclose(one, other[::-1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["residual_mlp", pytest.param("diagonal_mlp", marks=slow)])
def test_units_are_dropped_in_the_update_only(name: str) -> None:
    game, sizes = NETWORKS[name]
    env = jaxgames.make(game)
    policy, without = (Policy.of(env, "shared", f"{name}({sizes}, dropout={dropout})") for dropout in (0.5, 0))
    assert not without.network.training_mode
    params = random_leaves(jax.eval_shape(policy.init, jax.random.key(0)))
    rows, seat = observations(env, 3), jnp.zeros(3, jnp.int32)
    in_play = jax.jit(policy.apply)(params, rows, seat)
    jax.tree.map(np.testing.assert_array_equal, in_play, jax.jit(without.apply)(params, rows, seat))
    in_training = jax.jit(policy.apply_in_training)
    first, second = (in_training(params, rows, seat, jax.random.key(key))[0] for key in range(2))
    assert not np.allclose(first, second)


GRAPH = "graph(rounds=2, width=8, chains=True)"


@pytest.mark.parametrize("network", [GRAPH, "resnet(blocks=1, channels=5, pool=True)"])
def test_parameters_have_the_same_shapes_on_every_board(network: str) -> None:
    shapes: list[Any] = []
    for size in ("rows=3, cols=3", "rows=1, cols=1", "rows=2, cols=4"):
        policy = Policy.of(jaxgames.make(f"dots_and_boxes({size}, reward=boxes)"), "shared", network)
        assert policy.network.any_board
        shapes.append(jax.tree.map(jnp.shape, jax.eval_shape(policy.init, jax.random.key(0))))
    assert shapes[0] == shapes[1] == shapes[2]
    for other in ("resnet(blocks=1, channels=5)", "mlp"):
        assert not Policy.of(jaxgames.make(BOXES), "shared", other).network.any_board


@pytest.mark.parametrize(
    ("network", "game"),
    [
        (GRAPH, BOXES),
        pytest.param(GRAPH, "dots_and_boxes(rows=2, cols=3)", marks=slow),
        ("chess_graph(rounds=2, width=8)", "minichess"),
    ],
)
def test_images_of_a_board_have_the_images_of_its_logits_and_its_value(network: str, game: str) -> None:
    env, count = jaxgames.make(game), 16
    policy, images = Policy.of(env, "shared", network), symmetries(env)
    which = jnp.repeat(jnp.arange(len(images)), count)
    rows = np.array(observations(env, count))
    if game == "minichess":
        rows[..., 12:] = rows[:, :1, :1, 12:]  # the flags of a board
    moved = images.of_observations(which, jnp.tile(rows, (len(images), 1, 1, 1)))
    params = random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), divisor=2)
    logits, values = jax.jit(policy.apply)(params, moved, jnp.zeros(len(which), jnp.int32))
    expected = images.of_policies(which, jnp.tile(logits[:count], (len(images), 1)))
    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, np.tile(values[:count], len(images)), rtol=1e-4, atol=1e-4)
    assert np.abs(logits[count:] - np.tile(logits[:count], (len(images) - 1, 1))).max() > 0.1  # they differ
    assert values.std() > 0.03


@pytest.mark.parametrize("network", ["mlp", "conv"])
def test_outputs_and_gradients_in_bfloat16_are_near_those_in_float32(network: str) -> None:
    """A bfloat16 has 8 bits of precision. The parameters are the same, and all numbers outside are float32."""
    policies = [Policy.of(STAR, "shared", network, compute_dtype=each) for each in COMPUTE_DTYPES]
    rows, seats = observations(STAR, 64), jnp.zeros(64, jnp.int32)
    params = random_leaves(jax.eval_shape(policies[0].init, jax.random.key(0)), divisor=8)

    def outputs(policy: Policy) -> Any:
        def loss(params: Any) -> tuple[jax.Array, Any]:
            logits, values = policy.apply(params, rows, seats)
            log_prob = jax.nn.log_softmax(logits)
            return jnp.sum(values) + jnp.sum(log_prob[:, 0]), (log_prob, values)

        gradient, found = jax.jit(jax.grad(loss, has_aux=True))(params)
        return *found, jax.flatten_util.ravel_pytree(gradient)[0]

    expected, found = map(outputs, policies)
    for of_float32, of_bfloat16 in zip(expected, found, strict=True):
        assert of_bfloat16.dtype == jnp.float32
        error = jnp.abs(of_bfloat16 - of_float32).max() / jnp.abs(of_float32).max()
        assert 1e-5 < error < 0.03, error


# -- texts and settings ------------------------------------------------------------------------------------------------


def test_setting_is_given_as_a_flag_or_in_brackets() -> None:
    for text, other, settings in (
        ("resnet(blocks=1, channels=8, bottleneck=2)", "resnet(blocks=1)", {"channels": (8,)}),
        ("alpha_mini(channels=4)", "alpha_mini", {"channels": (4,), "hidden_sizes": (1024, 512)}),
    ):
        first, second = Policy.of(STAR, "shared", text), Policy.of(STAR, "shared", other, **settings)
        assert first == second
        assert hash(first) == hash(second)


STICKS = Sticks()  # its observations are vectors


@pytest.mark.parametrize(
    ("game", "network", "settings", "needles"),
    [
        (STAR_TEXT, "transformer", {}, ("'transformer'", "alpha_mini", "larson", "star_graph")),
        (STAR_TEXT, "mlp(64)", {}, ("expected a network such as 'mlp'",)),
        (STAR_TEXT, "mlp", {"channels": (3,)}, ("'channels'", "hidden_sizes, activation")),
        (STAR_TEXT, "hops", {"compute_dtype": "bfloat16"}, ("'compute_dtype'", "hidden_sizes")),
        (STAR_TEXT, "mlp(hidden_sizes=[8])", {"hidden_sizes": (8,)}, ("hidden_sizes given twice",)),
        (STAR_TEXT, "mlp(hidden_sizes=[])", {}, ("hidden_sizes", "not []")),
        (STAR_TEXT, "resnet", {"channels": (3, 4)}, ("channels", "1000000", "(3, 4)")),
        (STICKS, "conv", {}, ("conv", "[height, width, planes]", "sticks", "use mlp")),
        (STICKS, "alpha_mini", {}, ("alpha_mini", "[height, width, planes]", "sticks", "use mlp")),
        ("checkers", "alpha_mini", {}, ("alpha_mini", "5 x 5", "8 x 4", "conv")),
        ("checkers", "diagonal_mlp(dropout=1)", {}, ("dropout", "less than 1", "not 1")),
        ("minichess", "diagonal_mlp", {}, ("checkers", "minichess")),
        ("checkers", "chess_graph", {}, ("chess_graph", "minichess")),
        ("checkers", "graph", {}, ("graph", "dots_and_boxes", "checkers", "use resnet for other boards")),
        ("minichess", "hops", {}, ("chinese_checkers", "minichess")),
        (STAR_TEXT, "narrow(depth=2)", {}, ("narrow has no parameter 'depth'", "width")),
        (STAR_TEXT, "tests.helpers.networks:other", {}, ("must call train.models.networks.register",)),
    ],
)
def test_wrong_game_text_or_setting_is_refused(
    game: Any, network: str, settings: dict[str, Any], needles: tuple[str, ...]
) -> None:
    with temporary_registrations():
        networks.register("narrow", lambda env, width=4: networks.mlp(env, (width,)))
        with pytest.raises(ParameterError) as refusal:
            Policy.of(jaxgames.make(game) if isinstance(game, str) else game, "shared", network, **settings)
    assert all(needle in str(refusal.value) for needle in needles), refusal.value


@pytest.mark.parametrize("name", NETWORKS)
def test_every_parameter_refuses_a_number_below_its_bounds(name: str) -> None:
    env = jaxgames.make(NETWORKS[name][0])
    with pytest.raises(ParameterError) as refusal:
        networks.make(f"{name}(unknown=1)", env)
    for parameter in str(refusal.value).split("parameters are ")[1].split(", "):
        with pytest.raises(ParameterError, match=rf"{parameter}.*-1"):
            networks.make(f"{name}({parameter}=-1)", env)
