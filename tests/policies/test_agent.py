"""The agent of a policy: its probabilities by temperature, top and epsilon, and its values of a board."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.agents import Agent, Analysis, with_epsilon
from jaxgames.policies.agent import PolicyAgent
from tests.helpers.sticks import Sticks

STICKS = Sticks()


class TableOfLogits:
    """A policy whose parameters are the logits of each seat, float32[num_players, num_actions].

    In turn order the values are 10 * the mover plus 1, 2 and 3. It fails where the observation is not the mover's.
    """

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        assert observation.shape[1:] == STICKS.observation_shape
        is_own = observation[:, 0, 1]
        return params[seat], jnp.where(is_own[:, None], 10.0 * seat[:, None] + jnp.array([1.0, 2.0, 3.0]), jnp.nan)


class MoverTable(TableOfLogits):
    """The same with the mover's value only."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        logits, values = super().apply(params, observation, seat)
        return logits, values[:, 0]


TABLE = TableOfLogits()
LOGITS = jnp.log(jnp.array([[1.0, 2.0, 3.0], [9.0, 8.0, 7.0], [1.0, 1.0, 1.0]]))
NUM_SAMPLES = 4000


TRACES: list[str] = []  # of `act`


@jax.jit
def act(agent: Agent, key: jax.Array, states: Any) -> jax.Array:
    TRACES.append("act")
    return agent.act(key, states)


@jax.jit
def analyse(agent: Any, states: Any) -> Analysis:
    return agent.analyse(states)


def sticks(left: int, seat: int, count: int) -> Any:
    """The same board `count` times."""
    return jax.tree.map(lambda x: jnp.repeat(x[None], count, 0), STICKS.at(left, seat))


# -- probabilities -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperature", "top", "epsilon", "left", "seat", "expected"),
    [
        (1.0, None, 0.0, 7, 0, (1 / 6, 2 / 6, 3 / 6)),
        (0.5, None, 0.0, 7, 0, (1 / 14, 4 / 14, 9 / 14)),
        (1.0, None, 0.0, 2, 0, (1 / 3, 2 / 3, 0)),  # of two sticks nobody takes three
        (0.5, 2, 0.0, 7, 0, (0, 4 / 13, 9 / 13)),
        (1.0, 2, 0.0, 2, 0, (1 / 3, 2 / 3, 0)),  # the two of the legal ones
        (1.0, 2, 0.0, 7, 1, (9 / 17, 8 / 17, 0)),
        (1.0, 2, 0.0, 7, 2, (1 / 2, 1 / 2, 0)),  # of equal ones the first
        (1.0, 2, 0.0, 1, 0, (1, 0, 0)),  # fewer legal ones than two
        (1.0, 9, 0.0, 7, 0, (1 / 6, 2 / 6, 3 / 6)),  # more than there are
        (1.0, None, 0.3, 7, 0, (0.7 / 6 + 0.1, 1.4 / 6 + 0.1, 2.1 / 6 + 0.1)),
        (1.0, None, 0.3, 2, 0, (0.7 / 3 + 0.15, 1.4 / 3 + 0.15, 0)),  # random moves are legal too
        (0.0, None, 0.0, 7, 0, (0, 0, 1)),
        (0.0, None, 0.0, 7, 1, (1, 0, 0)),
        (1e-30, None, 0.0, 7, 0, (0, 0, 1)),
    ],
)
def test_actions_have_the_probabilities_of_the_analysis(
    temperature: float,
    top: int | None,
    epsilon: float,
    left: int,
    seat: int,
    expected: tuple[float, ...],
) -> None:
    """Seat 0 has the logits log 1, log 2, log 3. Frequencies differ by at most five standard deviations."""
    agent: Agent = PolicyAgent(LOGITS, STICKS, TABLE, temperature, top)
    if epsilon:
        agent = with_epsilon(STICKS, agent, epsilon)
    states = sticks(left, seat, NUM_SAMPLES)
    found = np.asarray(analyse(agent, states).probabilities)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-6)

    actions = np.asarray(act(agent, jax.random.key(0), states))
    frequencies = np.bincount(actions, minlength=3) / NUM_SAMPLES
    deviation = np.sqrt(np.multiply(expected, np.subtract(1, expected)) / NUM_SAMPLES)
    assert (np.abs(frequencies - expected) <= 5 * deviation + 1e-12).all()  # exact where the probability is 0 or 1


@pytest.mark.parametrize("temperature", [0.0, 0.5])
@pytest.mark.parametrize("top", [None, 1])
def test_legal_actions_with_logits_of_minus_infinity_alone_are_played(temperature: float, top: int | None) -> None:
    """Of two sticks nobody takes three. The other actions have equal probabilities; the first one is the best."""
    agent = PolicyAgent(LOGITS.at[0, :2].set(-jnp.inf), STICKS, TABLE, temperature, top)
    found = np.asarray(analyse(agent, sticks(2, 0, NUM_SAMPLES)).probabilities)
    expected = (0.5, 0.5, 0) if temperature and top is None else (1, 0, 0)
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-6)
    played = set(act(agent, jax.random.key(0), sticks(2, 0, NUM_SAMPLES)).tolist())
    assert played == {action for action in range(3) if expected[action]}


# -- values --------------------------------------------------------------------------------------------------------


def test_values_are_by_seat_and_in_the_unit_of_the_rewards() -> None:
    """The largest reward is 2, so the policy's values are of half the rewards. Seat 1 is to move, then 2, then 0."""
    _, values = analyse(PolicyAgent(LOGITS, STICKS, TABLE), sticks(7, 1, NUM_SAMPLES))
    np.testing.assert_allclose(values[:2], [[2 * 13, 2 * 11, 2 * 12]] * 2)


def test_policy_with_the_movers_value_knows_no_other_in_a_game_of_three() -> None:
    values = analyse(PolicyAgent(LOGITS, STICKS, MoverTable()), sticks(7, 1, NUM_SAMPLES)).values
    np.testing.assert_allclose(values[:2], [[np.nan, 2 * 11, np.nan]] * 2)


def test_finished_board_has_no_probabilities_and_no_value() -> None:
    for temperature in (1.0, 0.0):
        agent = PolicyAgent(LOGITS, STICKS, TABLE, temperature)
        probabilities, values = analyse(agent, sticks(0, 1, NUM_SAMPLES))
        assert not np.any(probabilities)
        assert not np.any(values)


# -- the program and its arguments ---------------------------------------------------------------------------------


def test_other_parameters_temperatures_and_epsilons_share_a_program() -> None:
    states, traces = sticks(7, 0, NUM_SAMPLES), list[int]()
    for params, temperature, epsilon in ((LOGITS, 1.0, 0.1), (LOGITS + 1, 0.5, 1), (-LOGITS, 3, 0.3)):
        agent = PolicyAgent(params, STICKS, TABLE, temperature)
        act(agent, jax.random.key(0), states)
        act(with_epsilon(STICKS, agent, epsilon), jax.random.key(0), states)
        traces.append(len(TRACES))
    assert traces == [traces[0]] * 3


@pytest.mark.parametrize("number", [int, float, np.float16, np.asarray, jnp.bfloat16, jnp.int8])
def test_temperature_of_any_type_is_that_number(number: Any) -> None:
    """0 plays the best action, and 1 shares the program of other temperatures above 0."""
    states = sticks(7, 0, NUM_SAMPLES)
    best = PolicyAgent(LOGITS, STICKS, TABLE, number(0))
    np.testing.assert_array_equal(analyse(best, states).probabilities[0], [0, 0, 1])
    assert set(act(best, jax.random.key(0), states).tolist()) == {2}
    agents = [PolicyAgent(LOGITS, STICKS, TABLE, temperature) for temperature in (number(1), 1.0)]
    for found, expected in zip(*map(jax.tree.leaves, agents), strict=True):
        assert (found.dtype, found.weak_type if isinstance(found, jax.Array) else False) == (expected.dtype, False)
        np.testing.assert_array_equal(found, expected)


def test_leaves_in_place_of_arrays_are_not_checked() -> None:
    """JAX puts shapes, axes and other things there; a traced temperature is divided by, as any number above 0."""
    agent = PolicyAgent(LOGITS, STICKS, TABLE, 0.5)
    for leaf in (-1, object(), jax.ShapeDtypeStruct((), jnp.float32)):
        assert jax.tree.leaves(jax.tree.map(lambda _, leaf=leaf: leaf, agent)) == [leaf, leaf]
    states = sticks(7, 0, 2)
    traced = jax.jit(lambda t: PolicyAgent(LOGITS, STICKS, TABLE, t).analyse(states).probabilities)(0.5)
    np.testing.assert_allclose(traced[0], [1 / 14, 4 / 14, 9 / 14], rtol=1e-5)


@pytest.mark.parametrize(
    ("temperature", "top", "needles"),
    [
        (1.0, 0, ("top", "1", "None", "not 0")),
        (-1, None, ("temperature", "0", "-1")),
        (jnp.bfloat16(-1), None, ("temperature", "0")),
        (np.float16("nan"), None, ("temperature", "nan")),
    ],
)
def test_setting_out_of_range_is_refused(temperature: Any, top: int | None, needles: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        PolicyAgent(LOGITS, STICKS, TABLE, temperature, top)
    assert all(needle in str(caught.value) for needle in needles), caught.value
