"""Policies for n seats: which parameters are shared, and that every row is computed with those of its seat."""

import functools
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from train.models.policy import Policy, Sharing, apply_by_seat

SHARINGS: tuple[Sharing, ...] = get_args(Sharing)
SEATS = 3
ENV = jaxgames.make("chinese_checkers", size=1, num_players=SEATS)
# Rows: one, no multiple of a tile, fewer and more than a full tile per seat.
SIZES = (1, pytest.param(7, marks=pytest.mark.slow), 24, 300)

POLICIES: dict[Sharing, Policy] = {sharing: Policy.of(ENV, sharing, hidden_sizes=(5, 6)) for sharing in SHARINGS}
INIT = {sharing: jax.jit(policy.init) for sharing, policy in POLICIES.items()}
APPLY = {sharing: jax.jit(policy.apply) for sharing, policy in POLICIES.items()}


@functools.cache
def params_of(sharing: Sharing) -> Any:
    return jax.device_get(INIT[sharing](jax.random.key(1)))


def batch(size: int, seed: int = 0) -> tuple[jax.Array, jax.Array]:
    """Observations, with ones where the game can have them, and seats."""
    rng = np.random.default_rng(seed)
    observation = (rng.random((size, *ENV.observation_shape)) < 0.5) & ENV.observation_support
    return jnp.asarray(observation), jnp.asarray(rng.integers(SEATS, size=size, dtype=np.int32))


def own(tree: Any, seat: int) -> Any:
    """The parameters of one seat."""
    return jax.tree.map(lambda leaf: leaf[seat], tree)


def with_seat_1(tree: Any, own_1: Any) -> Any:
    """The same parameters except for those of seat 1."""
    return jax.tree.map(lambda leaf, new: np.stack([leaf[0], new, *leaf[2:]]), tree, own_1)


# -- apply_by_seat -------------------------------------------------------------------------------------------


def layer(params: Any, rows: jax.Array) -> dict[str, jax.Array]:
    """One seat's function of [B, 5] rows, with two outputs of different shapes."""
    return {"wide": jnp.tanh(rows @ params["w"] + params["b"]), "narrow": (rows @ params["w"]).sum(-1)}


def layer_row_by_row(params: Any, rows: jax.Array, seat: jax.Array) -> Any:
    """Every row alone, with the parameters of its seat picked by index."""
    return jax.vmap(lambda row, number: layer(own(params, number), row))(rows, seat)


by_seat = jax.jit(lambda params, rows, seat: apply_by_seat(layer, params, rows, seat))
row_by_row = jax.jit(layer_row_by_row)

SEAT_PATTERNS = {
    "mixed": lambda size: np.random.default_rng(size).integers(SEATS, size=size),
    "in turn": lambda size: np.arange(size) % SEATS,
    "all of the first": lambda size: np.zeros(size),
    "all of the last": lambda size: np.full(size, SEATS - 1),
    "the middle one absent": lambda size: np.arange(size) % 2 * 2,
    "sorted": lambda size: np.sort(np.arange(size) % SEATS),
    "one row of the last": lambda size: np.where(np.arange(size) == size - 1, 2, 0),
}


def layer_case(size: int, pattern: str) -> tuple[Any, jax.Array, jax.Array]:
    rng = np.random.default_rng(0)
    params = {"w": jnp.asarray(rng.normal(size=(SEATS, 5, 2))), "b": jnp.asarray(rng.normal(size=(SEATS, 2)))}
    seat = np.asarray(SEAT_PATTERNS[pattern](size))
    return params, jnp.asarray(rng.normal(size=(size, 5))), jnp.asarray(seat, jnp.int32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pattern", SEAT_PATTERNS)
def test_row_is_computed_with_the_parameters_of_its_seat(size: int, pattern: str) -> None:
    params, rows, seat = layer_case(size, pattern)
    found, expected = by_seat(params, rows, seat), row_by_row(params, rows, seat)
    assert found["wide"].shape == (size, 2)
    assert found["narrow"].shape == (size,)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected)


def layer_loss(apply: Any, params: Any, rows: jax.Array, seat: jax.Array) -> jax.Array:
    """Weights the rows differently, so that a row in the place of another one is noticed."""
    out = apply(params, rows, seat)
    weight = jnp.arange(1, rows.shape[0] + 1) / rows.shape[0]
    return (weight * (out["wide"].sum(-1) + out["narrow"])).sum()


gradients = [
    jax.jit(jax.grad(lambda params, rows, seat, apply=apply: layer_loss(apply, params, rows, seat), argnums=(0, 1)))
    for apply in (by_seat, row_by_row)
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pattern", SEAT_PATTERNS)
def test_gradients_equal_those_of_single_rows(size: int, pattern: str) -> None:
    found, expected = (gradient(*layer_case(size, pattern)) for gradient in gradients)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), found, expected)


def test_seat_without_rows_has_gradient_zero() -> None:
    (of_params, _) = gradients[0](*layer_case(24, "the middle one absent"))
    assert all(not leaf[1].any() and leaf[0].any() and leaf[2].any() for leaf in jax.tree.leaves(of_params))


# -- parameters ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", SHARINGS)
def test_parameters_per_seat_have_a_leading_axis_of_seats(sharing: Sharing) -> None:
    shared = jax.tree.map(jnp.shape, params_of("shared"))
    shapes = jax.tree.map(jnp.shape, params_of(sharing))
    own_parts = {"shared": set[str](), "shared_encoder": {"heads"}, "independent": {"encoder", "heads"}}[sharing]
    assert set(shapes) == {"encoder", "heads"}
    for part in shapes:
        axes = (SEATS,) if part in own_parts else ()
        assert shapes[part] == {
            "params": {
                dense: {name: axes + shape for name, shape in leaves.items()}
                for dense, leaves in shared[part]["params"].items()
            }
        }


@pytest.mark.parametrize("sharing", ["shared_encoder", "independent"])
def test_seats_start_with_different_parameters(sharing: Sharing) -> None:
    heads = [leaf for leaf in jax.tree.leaves(params_of(sharing)["heads"]) if leaf.any()]  # biases begin at zero
    assert heads
    assert all((leaf[0] != leaf[1]).any() and (leaf[1] != leaf[2]).any() for leaf in heads)


@pytest.mark.parametrize("sharing", SHARINGS)
def test_same_key_gives_the_same_parameters(sharing: Sharing) -> None:
    again, other = (INIT[sharing](jax.random.key(seed)) for seed in (1, 2))
    equal = jax.tree.map(lambda a, b: bool((a == b).all()), params_of(sharing), again)
    assert jax.tree.all(equal)
    assert not jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), params_of(sharing), other))


# -- apply ---------------------------------------------------------------------------------------------------


def forward(params: Any, sharing: Sharing, observation: np.ndarray, seat: int) -> tuple[np.ndarray, float]:
    """Logits and value of one board in plain numpy: tanh layers, then a linear head for each."""
    encoder = params["encoder"] if sharing != "independent" else own(params["encoder"], seat)
    heads = params["heads"] if sharing == "shared" else own(params["heads"], seat)
    x = observation[ENV.observation_support].astype(np.float64)
    for dense in ("Dense_0", "Dense_1"):
        x = np.tanh(x @ np.asarray(encoder["params"][dense]["kernel"]) + np.asarray(encoder["params"][dense]["bias"]))
    logits, value = (
        x @ np.asarray(heads["params"][dense]["kernel"]) + np.asarray(heads["params"][dense]["bias"])
        for dense in ("Dense_0", "Dense_1")
    )
    return logits, float(value[0])


@pytest.mark.parametrize("sharing", SHARINGS)
def test_apply_equals_the_network_computed_row_by_row(sharing: Sharing) -> None:
    """Of parameters that have no zeros: biases too."""
    params = jax.tree.map(
        lambda leaf: leaf + np.linspace(0, 0.1, leaf.size, dtype=np.float32).reshape(leaf.shape), params_of(sharing)
    )
    observation, seat = batch(24)
    logits, value = APPLY[sharing](params, observation, seat)
    assert logits.shape == (24, ENV.num_actions)
    assert value.shape == (24,)
    for row in range(24):
        expected_logits, expected_value = forward(params, sharing, np.asarray(observation[row]), int(seat[row]))
        np.testing.assert_allclose(logits[row], expected_logits, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(value[row], expected_value, rtol=1e-4, atol=1e-5)


def convolved(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A 3 x 3 convolution over a grid that is surrounded by zeros, cell by cell, and what of it is positive."""
    height, width, _ = x.shape
    around = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    out = np.zeros((height, width, kernel.shape[-1]))
    for row, col in np.ndindex(height, width):
        out[row, col] = np.einsum("ijk,ijkl->l", around[row : row + 3, col : col + 3], kernel) + bias
    return np.maximum(out, 0)


def test_channels_are_convolutions_before_the_dense_layers() -> None:
    policy = Policy.of(ENV, "shared", hidden_sizes=(6,), channels=(3, 2))
    params = jax.device_get(jax.jit(policy.init)(jax.random.key(0)))
    params = jax.tree.map(lambda leaf: leaf + np.linspace(0, 0.1, leaf.size).reshape(leaf.shape), params)
    observation, seat = batch(5)
    logits, value = jax.jit(policy.apply)(params, observation, seat)
    encoder, heads = params["encoder"]["params"], params["heads"]["params"]
    assert set(encoder) == {"Convolution_0", "Convolution_1", "Dense_0"}
    for row in range(5):
        x = np.asarray(observation[row], np.float64)
        for conv in ("Convolution_0", "Convolution_1"):
            x = convolved(x, encoder[conv]["kernel"], encoder[conv]["bias"])
        x = np.tanh(x.ravel() @ encoder["Dense_0"]["kernel"] + encoder["Dense_0"]["bias"])
        for found, head in ((logits[row], "Dense_0"), (value[row : row + 1], "Dense_1")):
            np.testing.assert_allclose(found, x @ heads[head]["kernel"] + heads[head]["bias"], rtol=1e-3, atol=1e-4)


def test_channels_are_refused_for_observations_that_are_no_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ENV), "observation_shape", (12,))
    with pytest.raises(ValueError, match=r"conv needs observations of shape \[height, width, planes\].*\[12\]"):
        Policy.of(ENV, "shared", channels=(3,))


def test_shared_policy_gives_all_seats_the_same_output() -> None:
    observation, _ = batch(24)
    outputs = [APPLY["shared"](params_of("shared"), observation, np.full(24, seat)) for seat in range(SEATS)]
    for logits, value in outputs[1:]:
        np.testing.assert_array_equal(logits, outputs[0][0])
        np.testing.assert_array_equal(value, outputs[0][1])


@pytest.mark.parametrize("sharing", ["shared_encoder", "independent"])
def test_seats_with_own_parameters_differ_on_the_same_board(sharing: Sharing) -> None:
    observation, _ = batch(24)
    (first, _), (second, _) = (APPLY[sharing](params_of(sharing), observation, np.full(24, seat)) for seat in (0, 1))
    assert (first != second).all()


def test_seats_with_a_shared_encoder_differ_only_in_their_heads() -> None:
    """With the heads of seat 0, seat 1 gives the same output."""
    params = dict(params_of("shared_encoder"))
    params["heads"] = with_seat_1(params["heads"], own(params["heads"], 0))
    observation, _ = batch(24)
    first, second = (APPLY["shared_encoder"](params, observation, np.full(24, seat)) for seat in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, first, second)


@pytest.mark.parametrize(
    ("sharing", "part"), [("shared_encoder", "heads"), ("independent", "encoder"), ("independent", "heads")]
)
def test_parameters_of_a_seat_change_only_its_rows(sharing: Sharing, part: str) -> None:
    params = dict(params_of(sharing))
    params[part] = with_seat_1(params[part], jax.tree.map(lambda leaf: leaf + 0.5, own(params[part], 1)))
    observation, seat = batch(24)
    before, after = (APPLY[sharing](p, observation, seat) for p in (params_of(sharing), params))
    np.testing.assert_array_equal((before[0] != after[0]).any(-1), seat == 1)
    np.testing.assert_array_equal(before[1] != after[1], seat == 1)


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_vmap_of_init_equals_init_of_each_seed(large: bool) -> None:
    """Also for five seeds of six seats at the default widths: a batch of thirty factorisations would hang on a CPU."""
    policy, init = POLICIES["independent"], INIT["independent"]
    if large:
        policy = Policy.of(jaxgames.make("chinese_checkers(size=1, num_players=6)"), "independent")
        init = jax.jit(policy.init)
    keys = jax.random.split(jax.random.key(0), 5)
    together, alone = jax.jit(jax.vmap(policy.init))(keys), init(keys[4])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[4], b, atol=1e-6), together, alone)
