"""Policies for n seats: every row is computed with the parameters of its seat, and values of one or of all seats."""

import functools
from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.policies import policy as policies
from tests.helpers.sticks import Sticks
from train.models import networks
from train.models.policy import Policy, Sharing, apply_by_seat, outputs_of, with_seat_values

SHARINGS: tuple[Sharing, ...] = get_args(Sharing)
SEATS = 3
ENV = jaxgames.make("chinese_checkers", size=1, num_players=SEATS)
POLICIES: dict[Sharing, Policy] = {
    sharing: Policy.of(ENV, sharing, hidden_sizes=(5, 6), activation=activation)
    for sharing, activation in zip(SHARINGS, ("tanh", "relu", "silu"), strict=True)
}
ACTIVATIONS: dict[Sharing, Callable[[np.ndarray], np.ndarray]] = {
    "shared": np.tanh,
    "shared_encoder": lambda x: np.maximum(x, 0),
    "independent": lambda x: x / (1 + np.exp(-x)),
}
INIT = {sharing: jax.jit(policy.init) for sharing, policy in POLICIES.items()}
APPLY = {sharing: jax.jit(policy.apply) for sharing, policy in POLICIES.items()}


def own(tree: Any, seat: int) -> Any:
    """The parameters of one seat."""
    return jax.tree.map(lambda leaf: leaf[seat], tree)


# -- apply_by_seat -------------------------------------------------------------------------------------------


def layer(params: Any, rows: jax.Array) -> dict[str, jax.Array]:
    """One seat's function of [B, 5] rows, with two outputs of different shapes."""
    return {"wide": jnp.tanh(rows @ params["w"] + params["b"]), "narrow": (rows @ params["w"]).sum(-1)}


def layer_row_by_row(params: Any, rows: jax.Array, seat: jax.Array) -> Any:
    """Every row alone, with the parameters of its seat picked by index."""
    return jax.vmap(lambda row, number: layer(own(params, number), row))(rows, seat)


def layer_loss(apply: Any, params: Any, rows: jax.Array, seat: jax.Array) -> tuple[jax.Array, Any]:
    """Weights the rows differently, so that a row in the place of another one is noticed."""
    out = apply(params, rows, seat)
    weight = jnp.arange(1, rows.shape[0] + 1) / rows.shape[0]
    return (weight * (out["wide"].sum(-1) + out["narrow"])).sum(), out


by_seat, row_by_row = (
    jax.jit(jax.grad(functools.partial(layer_loss, apply), argnums=(0, 1), has_aux=True))
    for apply in (functools.partial(apply_by_seat, layer), layer_row_by_row)
)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 24, 300])
def test_row_is_computed_with_the_parameters_of_its_seat(size: int) -> None:
    """Outputs and gradients are those of each row alone. A seat has no row, one, or more than a tile."""
    rng, rows = np.random.default_rng(size), np.arange(size)
    params = {"w": rng.normal(size=(SEATS, 5, 2)), "b": rng.normal(size=(SEATS, 2))}
    patterns = (
        rng.integers(SEATS, size=size),
        rows * SEATS // size,
        rows % 2 * 2,
        np.where(rows == size - 1, 2, 0),
        0 * rows + 2,
    )
    for seat in patterns:
        given = params, rng.normal(size=(size, 5)), seat.astype(np.int32)
        (gradient, found), (expected_gradient, expected) = by_seat(*given), row_by_row(*given)
        assert (found["wide"].shape, found["narrow"].shape) == ((size, 2), (size,))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), gradient, expected_gradient)


# -- apply ---------------------------------------------------------------------------------------------------


def forward(params: Any, sharing: Sharing, observation: np.ndarray, seat: int) -> tuple[np.ndarray, float]:
    """Logits and value of one board in plain numpy: dense layers, then a linear head for each."""
    encoder = params["encoder"] if sharing != "independent" else own(params["encoder"], seat)
    heads = params["heads"] if sharing == "shared" else own(params["heads"], seat)
    x = observation[ENV.observation_support].astype(np.float64)
    layers = ("Dense_0", "Dense_1")
    for layer in (encoder["params"][name] for name in layers):
        x = ACTIVATIONS[sharing](x @ layer["kernel"] + layer["bias"])
    logits, value = (x @ layer["kernel"] + layer["bias"] for layer in (heads["params"][name] for name in layers))
    return logits, float(value[0])


@pytest.mark.parametrize("sharing", SHARINGS)
def test_apply_equals_the_network_computed_row_by_row(sharing: Sharing) -> None:
    """Of parameters that differ between seats and have no zeros: biases too."""
    first = jax.device_get(INIT[sharing](jax.random.key(1)))
    of_seats = [leaf for leaf in jax.tree.leaves(first["heads"]) if leaf.any() and sharing != "shared"]
    assert all((leaf[0] != leaf[1]).any() and (leaf[1] != leaf[2]).any() for leaf in of_seats)  # biases begin at zero
    params = jax.tree.map(
        lambda leaf: leaf + np.linspace(0, 0.1, leaf.size, dtype=np.float32).reshape(leaf.shape), first
    )
    rng = np.random.default_rng(0)
    observation = (rng.random((24, *ENV.observation_shape)) < 0.5) & ENV.observation_support
    seat = rng.integers(SEATS, size=24, dtype=np.int32)
    logits, value = jax.device_get(APPLY[sharing](params, observation, seat))
    assert (logits.shape, value.shape) == ((24, ENV.num_actions), (24,))
    for row in range(24):
        expected_logits, expected_value = forward(params, sharing, observation[row], int(seat[row]))
        np.testing.assert_allclose(logits[row], expected_logits, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(value[row], expected_value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("large", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_vmap_of_init_equals_init_of_each_seed(large: bool) -> None:
    """Also for five seeds of six seats at the default widths: a batch of thirty factorisations would hang on a CPU."""
    policy, init = POLICIES["independent"], INIT["independent"]
    if large:
        policy = Policy.of(jaxgames.make("chinese_checkers(size=1, num_players=6)"), "independent")
        init = jax.jit(policy.init)
    keys = jax.random.split(jax.random.key(0), 5)
    together, alone = jax.jit(jax.vmap(policy.init))(keys), init(keys[4])
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a[4], b, atol=1e-6), *jax.device_get((together, alone)))


def test_turn_order_begins_with_the_mover_and_leads_back() -> None:
    values = jnp.array([[10.0, 20, 30], [10, 20, 30], [10, 20, 30]])
    movers = jnp.array([0, 1, 2])
    ordered = policies.in_turn_order(values, movers)
    assert ordered.tolist() == [[10, 20, 30], [20, 30, 10], [30, 10, 20]]
    np.testing.assert_array_equal(policies.by_seat(ordered, movers), values)


def test_value_head_gives_one_value_in_a_zero_sum_game_of_two_seats_else_one_per_seat() -> None:
    values, movers = jnp.array([[0.5, -0.5]]), jnp.array([1])
    two = Sticks(num_players=2)
    shaped = jaxgames.make("chinese_checkers(size=1, num_players=2)")  # positive_sum
    assert tuple(map(policies.is_symmetric, (two, shaped, Sticks()))) == (True, False, False)
    assert outputs_of(two, values, movers).tolist() == [[-0.5]]
    assert outputs_of(shaped, values, movers).tolist() == [[-0.5, 0.5]]


@pytest.mark.parametrize(
    "network",
    [
        "mlp(hidden_sizes=[8])",
        pytest.param("alpha_mini(channels=4, hidden_sizes=[8])", marks=pytest.mark.slow),
    ],
)
def test_any_network_gets_values_of_all_seats_behind_its_own(network: str) -> None:
    env = jaxgames.make("chinese_checkers(size=1, num_players=3)")
    policy = Policy.of(env, "shared", network)
    vector = with_seat_values(env, policy)
    params = jax.jit(vector.init)(jax.random.key(0))
    observation, seat = jnp.ones((4, *env.observation_shape), jnp.bool_), jnp.zeros(4, jnp.int32)
    logits, values = jax.jit(vector.apply)(params, observation, seat)
    assert (logits.shape, values.shape) == ((4, env.num_actions), (4, 3))
    inner = {"encoder": params["encoder"], "heads": {name: part["heads"] for name, part in params["heads"].items()}}
    own_logits, own = jax.jit(policy.apply)(inner, observation, seat)
    np.testing.assert_allclose(logits, own_logits, rtol=1e-6)
    np.testing.assert_allclose(values[:, 0], own, rtol=1e-6)
    assert with_seat_values(Sticks(num_players=2), policy) is policy
    assert networks.make(network, env) == policy.network
