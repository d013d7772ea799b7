"""Policies for n seats: every row is computed with the parameters of its seat, and values of one or of all seats."""

from collections.abc import Callable
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.policies import policy as policies
from tests.helpers.networks import random_leaves
from tests.helpers.sticks import Sticks
from tests.train.models.test_resnet import convolved
from train.models.policy import MIN_ROWS_FOR_TILES, Policy, Sharing, apply_by_seat, outputs_of, with_seat_values

SHARINGS: tuple[Sharing, ...] = get_args(Sharing)
SEATS = 3
ENV = jaxgames.make("chinese_checkers", size=1, num_players=SEATS)
POLICIES: dict[Sharing, Policy] = {
    sharing: Policy.of(ENV, sharing, hidden_sizes=(5, 6), activation=activation, channels=channels)
    for sharing, activation, channels in zip(SHARINGS, ("tanh", "relu", "silu"), ((4, 3), (), ()), strict=True)
}
ACTIVATIONS: dict[Sharing, Callable[[np.ndarray], np.ndarray]] = {
    "shared": np.tanh,
    "shared_encoder": lambda x: np.maximum(x, 0),
    "independent": lambda x: x / (1 + np.exp(-x)),
}
APPLY = {sharing: jax.jit(policy.apply) for sharing, policy in POLICIES.items()}


def own(tree: Any, seat: int) -> Any:
    """The parameters of one seat."""
    return jax.tree.map(lambda leaf: leaf[seat], tree)


@pytest.mark.parametrize("num_rows", [MIN_ROWS_FOR_TILES - 1, 200])  # every network on every row, and tiles
def test_rows_get_the_outputs_of_their_seats(num_rows: int) -> None:
    """With a linear layer for each of three seats, so that the expected output is one product per row."""
    shapes = [(3, 4, 2), (num_rows, 4)]
    params, rows = (jax.random.normal(jax.random.key(seed), shape) for seed, shape in enumerate(shapes))
    seat = jax.random.randint(jax.random.key(2), (num_rows,), 0, 3)
    outputs, sums = apply_by_seat(lambda weights, rows: (rows @ weights, rows.sum(1)), params, rows, seat)
    np.testing.assert_allclose(outputs, jnp.einsum("ri,rio->ro", rows, params[seat]), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(sums, rows.sum(1), rtol=1e-4, atol=1e-5)


# -- apply ---------------------------------------------------------------------------------------------------


def forward(params: Any, sharing: Sharing, observation: np.ndarray, seat: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits and values of boards of one seat in plain numpy: convolutions, dense layers, a linear head for each."""
    encoder = params["encoder"] if sharing != "independent" else own(params["encoder"], seat)
    heads = params["heads"] if sharing == "shared" else own(params["heads"], seat)
    x = observation.astype(np.float64)
    for number in range(2 if sharing == "shared" else 0):
        x = np.maximum(convolved(x, encoder["params"][f"Convolution_{number}"]), 0)
    x = x.reshape(len(x), -1) if sharing == "shared" else x[:, ENV.observation_support]
    layers = ("Dense_0", "Dense_1")
    for layer in (encoder["params"][name] for name in layers):
        x = ACTIVATIONS[sharing](x @ layer["kernel"] + layer["bias"])
    logits, value = (x @ layer["kernel"] + layer["bias"] for layer in (heads["params"][name] for name in layers))
    return logits, value[:, 0]


@pytest.mark.parametrize("sharing", SHARINGS)
def test_row_is_computed_with_the_parameters_of_its_seat(sharing: Sharing) -> None:
    """A seat has no row, one, or more than a tile. The parameters differ between seats and have no zeros."""
    params = random_leaves(jax.eval_shape(POLICIES[sharing].init, jax.random.key(0)), divisor=3)
    rng = np.random.default_rng(0)
    for size in (24, 300):  # without tiles and with them
        rows = np.arange(size)
        most_tiles = (rows >= 91) + 1 * (rows >= 182)  # 5, 5 and 6 full ones of 18 rows, and three others
        patterns = (rng.integers(SEATS, size=size), most_tiles, rows % 2 * 2, (rows == 5) * 2, 0 * rows + 2)
        observation = (rng.random((size, *ENV.observation_shape)) < 0.5) & ENV.observation_support
        for seat in patterns:
            logits, value = jax.device_get(APPLY[sharing](params, observation, seat.astype(np.int32)))
            assert (logits.shape, value.shape) == ((size, ENV.num_actions), (size,))
            for number in {*seat.tolist()}:
                expected = forward(params, sharing, observation[seat == number], number)
                np.testing.assert_allclose(logits[seat == number], expected[0], rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(value[seat == number], expected[1], rtol=1e-4, atol=1e-4)


def test_first_layers_are_orthogonal_and_the_heads_are_small() -> None:
    """The product of a layer with its transpose is twice the identity, of a head 1e-4 times; biases are 0."""
    params = jax.device_get(jax.jit(POLICIES["shared"].init)(jax.random.key(0)))
    for part, scale in (("encoder", 2), ("heads", 1e-4)):
        for layer in params[part]["params"].values():
            rows = layer["kernel"].reshape(-1, layer["kernel"].shape[-1])
            rows = rows if rows.shape[0] < rows.shape[1] else rows.T
            np.testing.assert_allclose(rows @ rows.T, scale * np.eye(len(rows)), atol=1e-6 * scale)
            assert not layer["bias"].any()


def test_every_seat_of_every_seed_starts_with_parameters_of_its_own() -> None:
    """Also where the seeds are an axis of `vmap`. Biases are 0."""
    params = jax.device_get(jax.jit(jax.vmap(POLICIES["independent"].init))(jax.random.split(jax.random.key(0))))
    for layer in (layer for part in params.values() for layer in part["params"].values()):
        kernels = layer["kernel"].reshape(2 * SEATS, -1)
        assert len(np.unique(kernels, axis=0)) == 2 * SEATS
        assert not layer["bias"].any()


def test_gradients_of_rows_by_seat_are_the_same_in_tiles_and_without() -> None:
    """Of 300 rows at once, in tiles, and as the sum over 12 batches, which have none."""
    policy, rng = POLICIES["independent"], np.random.default_rng(0)
    params = random_leaves(jax.eval_shape(policy.init, jax.random.key(0)), divisor=3)
    rows = rng.random((300, *ENV.observation_shape)) < 0.5, rng.integers(SEATS, size=300)

    def loss(params: Any, observation: jax.Array, seat: jax.Array) -> jax.Array:
        logits, value = policy.apply(params, observation, seat)
        return jnp.sin(logits).sum() + jnp.sin(value).sum()

    batches = jax.tree.map(lambda x: x.reshape(12, 25, *x.shape[1:]), rows)
    of_batches = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))(params, *batches)
    for found, parts in zip(*map(jax.tree.leaves, (jax.jit(jax.grad(loss))(params, *rows), of_batches)), strict=True):
        np.testing.assert_allclose(found, parts.sum(0), rtol=1e-3, atol=1e-3)


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


def test_any_network_gets_values_of_all_seats_behind_its_own() -> None:
    env = jaxgames.make("chinese_checkers(size=1, num_players=3)")
    policy = Policy.of(env, "shared", "mlp(hidden_sizes=[8])")
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
