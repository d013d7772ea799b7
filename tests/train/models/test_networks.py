"""Networks by name: what a text gives, which settings apply, and that mlp and conv are the networks of stored runs."""

import textwrap
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import ParameterError
from train.models import networks
from train.models.layers import ACTIVATIONS, COMPUTE_DTYPES
from train.models.policy import Policy

STAR = jaxgames.make("chinese_checkers", size=1, num_players=2)  # observes bool[5, 5, 4], has 79 actions


def observations(env: Any, count: int) -> jax.Array:
    shape = (count, *env.observation_shape)
    return jax.random.bernoulli(jax.random.key(1), 0.5, shape) & env.observation_support


# -- mlp and conv are what runs without --network have always trained ------------------------------------------------


class DefaultEncoder(nn.Module):
    """The encoder written out: ReLU convolutions of flax, then tanh layers."""

    channels: tuple[int, ...]
    hidden_sizes: tuple[int, ...]

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        init = nn.initializers.orthogonal(np.sqrt(2))
        for number, width in enumerate(self.channels):
            x = nn.relu(nn.Conv(width, (3, 3), kernel_init=init, name=f"Convolution_{number}")(x))
        x = x.reshape(x.shape[0], -1)
        if not self.channels:
            x = x[:, np.flatnonzero(STAR.observation_support)]
        for width in self.hidden_sizes:
            x = nn.tanh(nn.Dense(width, kernel_init=init)(x))
        return x


@pytest.mark.parametrize(
    ("network", "settings", "channels", "hidden_sizes"),
    [
        (None, {"channels": (3, 2), "hidden_sizes": (5,)}, (3, 2), (5,)),
        pytest.param("conv", {}, (16, 16), (64, 64), marks=pytest.mark.slow),
    ],
)
def test_default_networks_have_the_same_parameters_bit_for_bit(
    network: str | None, settings: dict[str, Any], channels: tuple[int, ...], hidden_sizes: tuple[int, ...]
) -> None:
    policy, key = Policy.of(STAR, "shared", network, **settings), jax.random.key(3)
    x = observations(STAR, 6)
    encoder = DefaultEncoder(channels, hidden_sizes)
    expected = jax.jit(encoder.init)(jax.random.split(key)[0], x.astype(jnp.float32))
    found = jax.jit(policy.init)(key)
    jax.tree.map(np.testing.assert_array_equal, found["encoder"], expected)
    features = jax.jit(encoder.apply)(expected, x.astype(jnp.float32))
    got = jax.jit(policy.network.encoder.apply)(found["encoder"], x)
    np.testing.assert_allclose(np.asarray(got), np.asarray(features), rtol=1e-5, atol=1e-6)
    heads = found["heads"]["params"]
    assert jax.tree.map(jnp.shape, heads) == {
        "Dense_0": {"kernel": (hidden_sizes[-1], 79), "bias": (79,)},
        "Dense_1": {"kernel": (hidden_sizes[-1], 1), "bias": (1,)},
    }
    np.testing.assert_allclose(jnp.linalg.norm(heads["Dense_1"]["kernel"]), 0.01, rtol=1e-5)


def test_activation_follows_every_dense_layer() -> None:
    x = observations(STAR, 4)
    policies = {name: Policy.of(STAR, "shared", hidden_sizes=(6, 5), activation=name) for name in ACTIVATIONS}
    rng, shapes = np.random.default_rng(0), jax.eval_shape(policies["tanh"].init, jax.random.key(0))["encoder"]
    params = jax.tree.map(lambda leaf: (leaf.ndim > 1) * rng.normal(size=leaf.shape).astype(np.float32) / 5, shapes)
    first, second = (params["params"][f"Dense_{number}"] for number in range(2))
    flat = np.asarray(x).reshape(4, -1)[:, np.flatnonzero(STAR.observation_support)].astype(np.float32)
    outputs_of_all = jax.jit(
        lambda params: {n: policy.network.encoder.apply(params, x) for n, policy in policies.items()}
    )
    expected = jax.jit(
        lambda x: {name: apply(apply(x @ first["kernel"]) @ second["kernel"]) for name, apply in ACTIVATIONS.items()}
    )(flat)
    for name, found in outputs_of_all(params).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-5, err_msg=name)


# -- texts and settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("mlp(hidden_sizes=[8])", ("mlp", {"hidden_sizes": (8,)})),
        ("resnet(blocks=1, channels=8)", ("resnet(blocks=1)", {"channels": (8,)})),
        ("resnet(channels=8, bottleneck=2)", ("resnet(channels=8)", {})),
        ("alpha_mini(channels=4)", ("alpha_mini", {"channels": (4,), "hidden_sizes": (1024, 512)})),
    ],
)
def test_setting_is_given_as_a_flag_or_in_brackets(text: str, same: tuple[str, dict[str, Any]]) -> None:
    first, second = Policy.of(STAR, "shared", text), Policy.of(STAR, "shared", same[0], **same[1])
    assert first == second
    assert hash(first) == hash(second)


BOXES = "dots_and_boxes(rows=2, cols=2)"
STAR_TEXT = "chinese_checkers(size=1, num_players=2)"


@pytest.mark.parametrize(
    ("game", "network", "settings", "needles"),
    [
        (STAR_TEXT, "transformer", {}, ("'transformer'", "alpha_mini", "larson", "star_graph")),
        (STAR_TEXT, "mlp(64)", {}, ("expected a network such as 'mlp'",)),
        (STAR_TEXT, "mlp", {"channels": (3,)}, ("'channels'", "hidden_sizes, activation")),
        (STAR_TEXT, "hops", {"compute_dtype": "bfloat16"}, ("'compute_dtype'", "hidden_sizes")),
        (STAR_TEXT, "mlp(hidden_sizes=[8])", {"hidden_sizes": (8,)}, ("hidden_sizes given twice",)),
        (STAR_TEXT, "mlp(activation=softplus)", {}, ("activation", "'relu'", "'softplus'")),
        (STAR_TEXT, "mlp(hidden_sizes=64)", {}, ("hidden_sizes", "[64, 64]", "not 64")),
        (STAR_TEXT, "mlp(hidden_sizes=[])", {}, ("hidden_sizes", "not []")),
        (STAR_TEXT, "conv(channels=[0])", {}, ("channels", "not [0]")),
        (STAR_TEXT, "resnet", {"channels": (3, 4)}, ("channels", "1000000", "(3, 4)")),
        (STAR_TEXT, "resnet(blocks=0)", {}, ("blocks", "1000000", "not 0")),
        (STAR_TEXT, "resnet(value=sigmoid)", {}, ("value", "'linear'", "'sigmoid'")),
        (BOXES, "resnet(pool=2)", {}, ("pool", "False, True", "not 2")),
        (STAR_TEXT, "alpha_mini(dropout=half)", {}, ("dropout", "less than 1", "'half'")),
        ("checkers", "alpha_mini", {}, ("alpha_mini", "5 x 5", "8 x 4", "conv")),
        ("checkers", "diagonal_mlp(dropout=1)", {}, ("dropout", "less than 1", "not 1")),
        ("checkers", "diagonal_mlp(local_blocks=-1)", {}, ("local_blocks", "-1")),
        ("minichess", "diagonal_mlp", {}, ("checkers", "minichess")),
        ("checkers", "chess_graph", {}, ("chess_graph", "minichess")),
        ("minichess", "chess_graph(rounds=0)", {}, ("rounds", "1000000", "not 0")),
        ("checkers", "graph", {}, ("graph", "dots_and_boxes", "checkers", "resnet")),
        (BOXES, "graph(width=0)", {}, ("width", "1000000", "not 0")),
        (BOXES, "graph(chains=2)", {}, ("chains", "False, True", "not 2")),
        ("minichess", "hops", {}, ("chinese_checkers", "minichess")),
        (STAR_TEXT, "hops(steepness=-1)", {}, ("steepness", "512", "-1")),
        (STAR_TEXT, "hops(hops=-1)", {}, ("hops", "-1")),
    ],
)
def test_wrong_game_text_or_setting_is_refused(
    game: str, network: str, settings: dict[str, Any], needles: tuple[str, ...]
) -> None:
    with pytest.raises(ParameterError) as refusal:
        Policy.of(jaxgames.make(game), "shared", network, **settings)
    assert all(needle in str(refusal.value) for needle in needles), refusal.value


def test_network_of_a_users_module_is_made_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
        import flax.linen as nn
        from train.models import networks
        from train.models.layers import DenseHeads, Network

        class Encoder(nn.Module):
            width: int

            @nn.compact
            def __call__(self, observation):
                return nn.Dense(self.width)(observation.reshape(observation.shape[0], -1).astype("float32"))

        networks.register("tiny", lambda env, width=4: Network(Encoder(width), DenseHeads(env.num_actions)))
    """
    (tmp_path / "networks_of_a_user.py").write_text(textwrap.dedent(code))
    monkeypatch.syspath_prepend(tmp_path)
    policy = Policy.of(STAR, "independent", "networks_of_a_user:tiny(width=3)")
    params = jax.jit(policy.init)(jax.random.key(0))
    assert params["encoder"]["params"]["Dense_0"]["kernel"].shape == (2, 100, 3)
    logits, values = jax.jit(policy.apply)(params, observations(STAR, 4), jnp.array([0, 1, 0, 1]))
    assert logits.shape == (4, 79)
    assert values.shape == (4,)
    assert "tiny" in networks.list_networks()
    with pytest.raises(ParameterError, match="tiny has no parameter 'depth'; its parameters are width"):
        Policy.of(STAR, "shared", "tiny(depth=2)")
    with pytest.raises(ParameterError, match=r"must call train\.models\.networks\.register"):
        Policy.of(STAR, "shared", "networks_of_a_user:other")


# -- layers in bfloat16 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("network", ["mlp", "conv"])
def test_outputs_and_gradients_in_bfloat16_are_near_those_in_float32(network: str) -> None:
    """A bfloat16 has 8 bits of precision. The parameters are the same, and all numbers outside are float32."""
    policies = [Policy.of(STAR, "shared", network, compute_dtype=each) for each in COMPUTE_DTYPES]
    rows, seats = observations(STAR, 64), jnp.zeros(64, jnp.int32)
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(policies[0].init, jax.random.key(0))
    params = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape) / 8, jnp.float32), shapes)

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


# -- other modes of JAX ------------------------------------------------------------------------------------------------

GAMES = {  # of the networks that do not play the star
    "alpha_mini": "minichess(rules=king_capture)",
    "chess_graph": "minichess",
    "graph(chains=True)": "dots_and_boxes(rows=2, cols=2)",
    "diagonal_mlp": "checkers",
    "larson": "checkers",
    "larson_text": "checkers",
}


FAST = ("conv", "mlp", "residual_mlp", "resnet", "mlp(compute_dtype=bfloat16)")  # others are traced for seconds
SLOW = sorted({*GAMES, *networks.list_networks()} - {*FAST, "graph"})


@pytest.mark.parametrize("network", [*FAST, *(pytest.param(each, marks=pytest.mark.slow) for each in SLOW)])
def test_numbers_have_32_bits_with_x64_and_with_strict_promotion(network: str) -> None:
    env = jaxgames.make(GAMES[network]) if network in GAMES else STAR
    policy, rows = Policy.of(env, "shared", network), jnp.zeros((2, *env.observation_shape), jnp.bool_)
    for mode in (jax.enable_x64(True), jax.numpy_dtype_promotion("strict")):
        with mode:
            params = jax.eval_shape(policy.init, jax.random.key(0))
            outputs = jax.eval_shape(policy.apply, params, rows, jnp.zeros(2, jnp.int32))
        assert {leaf.dtype for leaf in jax.tree.leaves((params, outputs))} == {jnp.dtype("float32")}
