"""Values for every seat: their order, the heads that give them, and when the mover's value is enough."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.policies.policy import by_seat, in_turn_order, is_symmetric
from tests.helpers.sticks import Sticks
from train.models import networks
from train.models.policy import Policy, outputs_of, with_seat_values


def test_turn_order_begins_with_the_mover_and_leads_back() -> None:
    values = jnp.array([[10.0, 20, 30], [10, 20, 30], [10, 20, 30]])
    movers = jnp.array([0, 1, 2])
    ordered = in_turn_order(values, movers)
    assert ordered.tolist() == [[10, 20, 30], [20, 30, 10], [30, 10, 20]]
    np.testing.assert_array_equal(by_seat(ordered, movers), values)


def test_value_head_gives_one_value_in_a_zero_sum_game_of_two_seats_else_one_per_seat() -> None:
    values, movers = jnp.array([[0.5, -0.5]]), jnp.array([1])
    two = Sticks(num_players=2)
    shaped = jaxgames.make("chinese_checkers(size=1, num_players=2)")  # positive_sum
    assert (is_symmetric(two), is_symmetric(shaped), is_symmetric(Sticks())) == (True, False, False)
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
