"""Agents: their probabilities and values, programs that they share, agents by name, the agent of a policy."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames.agents import Agent, Analysis, FirstAgent, GreedyAgent, RandomAgent, with_epsilon
from jaxgames.policies.agent import PolicyAgent
from tests.helpers.positions import read_all, repeated, stacked
from tests.helpers.scripted_agents import HostAgent
from tests.helpers.sticks import Sticks

STICKS = Sticks()
KEY = jax.random.key(0)
NUM_SAMPLES = 4000
TRACES: list[str] = []  # of `act`


@jax.jit
def act(agent: Agent, key: jax.Array, states: Any) -> jax.Array:
    TRACES.append("act")
    return agent.act(key, states)


@jax.jit
def analyse(agent: Any, states: Any) -> Analysis:
    return agent.analyse(states)


def sticks(left: int, seat: int) -> Any:
    """The same board NUM_SAMPLES times."""
    return repeated(STICKS.at(left, seat), NUM_SAMPLES)


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
MINUS_INFINITY = LOGITS.at[0, :2].set(-jnp.inf)


def policy(temperature: Any = 1.0, top: int | None = None, logits: jax.Array = LOGITS) -> PolicyAgent:
    return PolicyAgent(logits, STICKS, TABLE, temperature, top)


# -- probabilities and values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "left", "seat", "expected"),
    [
        ("random", 7, 0, (1 / 3, 1 / 3, 1 / 3)),
        ("random", 2, 1, (1 / 2, 1 / 2, 0)),  # of two sticks nobody takes three
        ("first", 7, 0, (1, 0, 0)),
        ("first(epsilon=0.6)", 7, 0, (0.6, 0.2, 0.2)),
        ("first(epsilon=0.6)", 2, 1, (0.7, 0.3, 0)),  # random moves are legal too
        (policy(), 7, 0, (1 / 6, 2 / 6, 3 / 6)),
        (policy(0.5), 7, 0, (1 / 14, 4 / 14, 9 / 14)),
        (policy(), 2, 0, (1 / 3, 2 / 3, 0)),
        (policy(0.5, 2), 7, 0, (0, 4 / 13, 9 / 13)),
        (policy(1.0, 2), 2, 0, (1 / 3, 2 / 3, 0)),  # the two of the legal ones
        (policy(1.0, 2), 7, 1, (9 / 17, 8 / 17, 0)),
        (policy(1.0, 2), 7, 2, (1 / 2, 1 / 2, 0)),  # of equal ones the first
        (policy(1.0, 2), 1, 0, (1, 0, 0)),  # fewer legal ones than two
        (policy(1.0, 9), 7, 0, (1 / 6, 2 / 6, 3 / 6)),  # more than there are
        (with_epsilon(STICKS, policy(), 0.3), 7, 0, (0.7 / 6 + 0.1, 1.4 / 6 + 0.1, 2.1 / 6 + 0.1)),
        (with_epsilon(STICKS, policy(), 0.3), 2, 0, (0.7 / 3 + 0.15, 1.4 / 3 + 0.15, 0)),
        (policy(0.0), 7, 0, (0, 0, 1)),
        (policy(0.0), 7, 1, (1, 0, 0)),
        (policy(1e-30), 7, 0, (0, 0, 1)),
        # only logits of minus infinity are legal: they have equal probabilities, and the first one is the best
        (policy(0.5, None, MINUS_INFINITY), 2, 0, (1 / 2, 1 / 2, 0)),
        (policy(0.5, 1, MINUS_INFINITY), 2, 0, (1, 0, 0)),
        (policy(0.0, None, MINUS_INFINITY), 2, 0, (1, 0, 0)),
    ],
)
def test_actions_have_the_probabilities_of_the_analysis(
    agent: Any, left: int, seat: int, expected: tuple[float, ...]
) -> None:
    """Seat 0 has the logits log 1, log 2, log 3. Frequencies differ by at most five standard deviations."""
    made = agents.make(agent, STICKS) if isinstance(agent, str) else agent
    states = sticks(left, seat)
    found = np.asarray(analyse(made, states).probabilities)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=1e-6)

    actions = act(made, KEY, states)
    assert actions.dtype == np.int32
    frequencies = np.bincount(actions, minlength=3) / NUM_SAMPLES
    deviation = np.sqrt(np.multiply(expected, np.subtract(1, expected)) / NUM_SAMPLES)
    assert (np.abs(frequencies - expected) <= 5 * deviation + 1e-12).all()  # exact where the probability is 0 or 1


def test_values_are_by_seat_and_in_the_unit_of_the_rewards() -> None:
    """The largest reward is 2, so the policy's values are of half the rewards. Seat 1 is to move, then 2, then 0."""
    values = analyse(policy(), sticks(7, 1)).values
    np.testing.assert_allclose(values[:2], [[2 * 13, 2 * 11, 2 * 12]] * 2)
    values = analyse(PolicyAgent(LOGITS, STICKS, MoverTable()), sticks(7, 1)).values
    np.testing.assert_allclose(values[:2], [[np.nan, 2 * 11, np.nan]] * 2, err_msg="of three seats only the mover's")
    assert analyse(RandomAgent(STICKS), sticks(7, 1)).values is None


@pytest.mark.parametrize("agent", ["random", "first", "first(epsilon=0.6)", policy(), policy(0.0)])
def test_finished_board_has_no_probabilities_and_no_value(agent: Any) -> None:
    made = agents.make(agent, STICKS) if isinstance(agent, str) else agent
    probabilities, values = analyse(made, sticks(0, 1))
    assert not np.any(probabilities)
    assert values is None or not np.any(values)


def test_first_agent_plays_the_lowest_legal_action() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    states = read_all(env, [f"{bits} . 0" for bits in ("0000", "1010", "1110")])
    assert act(agents.make("first", env), KEY, states).tolist() == [0, 1, 3]


def test_agent_on_the_host_is_mixed_with_random_moves_and_needs_no_analysis() -> None:
    """It cannot be traced, because it reads the boards. It takes one stick."""
    one = HostAgent(lambda key, states: np.zeros(len(states.left), int) if states.left[0] > 0 else None)
    agent = with_epsilon(STICKS, one, 0.5)
    assert not agent.on_device
    assert agents.make("first(epsilon=0.5)", STICKS).on_device
    states = repeated(STICKS.at(7, 0), 400)
    actions = np.asarray(agent.act(KEY, states))
    assert abs((actions == 0).mean() - 2 / 3) < 0.12  # five standard deviations
    for each in (one, agent, Constant(jnp.int32(0))):
        assert agents.analyse(each, states) is None


@pytest.mark.parametrize("text", ["random", "greedy", "first(epsilon=0.5)"])
def test_agents_play_auto_reset_and_finished_boards(text: str) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    finished, live = env.from_string("1111 0 0"), env.from_string("1011 . 0")
    assert act(agents.make(text, env), KEY, stacked([finished, live]))[1] == 1
    wrapped = jaxgames.auto_reset(env)
    states = read_all(wrapped, ["1011 . 0", "1110 . 1"])
    assert act(agents.make(text, wrapped), KEY, states).tolist() == [1, 3]


# -- agents as arguments of a compiled function --------------------------------------------------------------------


def test_other_parameters_temperatures_and_epsilons_share_a_program() -> None:
    states, traces = sticks(7, 0), list[int]()
    for logits, temperature, epsilon in ((LOGITS, 1.0, 0.1), (LOGITS + 1, 0.5, 1), (-LOGITS, 3, 0.3)):
        agent = policy(temperature, None, logits)
        act(agent, KEY, states)
        act(with_epsilon(STICKS, agent, epsilon), KEY, states)
        traces.append(len(TRACES))
    assert traces == [traces[0]] * 3
    structures = {jax.tree.structure(agents.make(f"first(epsilon={epsilon})", STICKS)) for epsilon in (0, 0.5)}
    assert len(structures) == 1


def test_agents_of_two_classes_or_games_never_share_a_program() -> None:
    """The structures themselves differ: `jax.jit` compares them when only a few bits of their hashes agree."""
    made = [kind(STICKS) for kind in (FirstAgent, GreedyAgent, RandomAgent)]
    other = RandomAgent(jaxgames.make("dots_and_boxes"))
    assert len({jax.tree.structure(agent) for agent in (*made, other, RandomAgent(Sticks()))}) == 4
    for agent in made:
        assert [jax.tree.structure(agent) == jax.tree.structure(each) for each in made].count(True) == 1


@pytest.mark.parametrize("number", [int, float, np.float16, np.asarray, jnp.bfloat16, jnp.int8])
def test_temperature_of_any_type_is_that_number(number: Any) -> None:
    """0 plays the best action, and 1 shares the program of other temperatures above 0."""
    states = sticks(7, 0)
    best = policy(number(0))
    np.testing.assert_array_equal(analyse(best, states).probabilities[0], [0, 0, 1])
    assert set(act(best, KEY, states).tolist()) == {2}
    for found, expected in zip(*map(jax.tree.leaves, (policy(number(1)), policy(1.0))), strict=True):
        assert (found.dtype, found.weak_type if isinstance(found, jax.Array) else False) == (expected.dtype, False)
        np.testing.assert_array_equal(found, expected)


def test_leaves_in_place_of_arrays_are_not_checked() -> None:
    """JAX puts shapes, axes and other things there; a traced temperature is divided by, as any number above 0."""
    agent = policy(0.5)
    for leaf in (-1, object(), jax.ShapeDtypeStruct((), jnp.float32)):
        assert jax.tree.leaves(jax.tree.map(lambda _, leaf=leaf: leaf, agent)) == [leaf, leaf]
    states = sticks(7, 0)
    traced = jax.jit(lambda t: policy(t).analyse(states).probabilities)(0.5)
    np.testing.assert_allclose(traced[0], [1 / 14, 4 / 14, 9 / 14], rtol=1e-5)


@agents.pytree
@dataclass(frozen=True)
class Constant:
    """An agent with one number as its parameter."""

    on_device: ClassVar[bool] = True
    action: jax.Array  # int32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        return jnp.full(states.current_player.shape, self.action)


# -- agents by name ------------------------------------------------------------------------------------------------


SET = "simulations=7, rollouts=2, max_rollout_steps=3, uct_c=0.1, slots=4, seats='paranoid', playout={}, epsilon=0.3"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("random", "random"),
        ("first(epsilon=0.1)", "first(epsilon=0.1)"),
        ("greedy(epsilon=1)", "greedy(epsilon=1.0)"),
        ("mcts(slots=None, seats=max_n)", "mcts(simulations=1000)"),  # the defaults are left out
        (f"mcts({SET.format('greedy')})", f"mcts({SET.format(repr('greedy'))})"),
    ],
)
def test_agent_is_made_by_its_text(text: str, written: str) -> None:
    """The text of an agent names it and what is set; the agent of this text is the same."""
    agent, again = (agents.make(each, jaxgames.make("checkers")) for each in (text, written))
    assert (str(agent), agent) == (written, again)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first(epsilon=1.5)", "epsilon .* from 0 to 1, not 1.5"),
        ("first(0.1)", r"not 'first\(0.1\)'; the agents are alphabeta, baseline, deep, exported, first"),
        ("runs/first", "expected an agent such as .* a training run, .*, not 'runs/first'; the agents are alphabeta"),
        ("mymodule:first", "'first' is an agent of jaxgames: write it without 'mymodule:'"),
        ("deep", r"deep needs depth: write deep\(depth=...\), not 'deep'"),
    ],
)
def test_wrong_text_is_refused_with_what_is_allowed(text: Any, message: str) -> None:
    agents.register("deep", lambda env, depth: Constant(jnp.int32(depth)))
    with pytest.raises(jaxgames.ParameterError, match=message):
        agents.make(text, jaxgames.make("checkers"))


def test_registered_agents_are_listed_and_have_epsilon_unless_they_have_their_own() -> None:
    agents.register("constant", lambda env: Constant(jnp.int32(env.num_players)))
    agents.register("own", lambda env, epsilon: Constant(jnp.int32(epsilon)))
    assert {"constant", "own", "random"} <= {*agents.list_agents()}
    assert agents.make("constant", STICKS) == Constant(jnp.int32(3))
    mixed = agents.make("constant(epsilon=0.25)", STICKS)
    assert isinstance(mixed, agents.EpsilonAgent)
    assert mixed.epsilon == 0.25
    assert agents.make("own(epsilon=2)", STICKS) == Constant(jnp.int32(2))


@pytest.mark.parametrize(
    ("on_device", "message"),
    [
        (True, "'mine' makes an agent that is not a pytree of arrays, .* decorate .* or set on_device = False"),
        (None, r"'mine' must make an agent, with a method act\(key, states\) and on_device = True or False"),
    ],
)
def test_constructor_that_returns_no_agent_is_refused(on_device: bool | None, message: str) -> None:
    made: Any = SimpleNamespace(act=lambda key, states: states, on_device=on_device)  # pyright: ignore[reportUnknownLambdaType]
    agents.register("mine", lambda env: made)
    with pytest.raises(jaxgames.ParameterError, match=message):
        agents.make("mine", STICKS)


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
        policy(temperature, top)
    assert all(needle in str(caught.value) for needle in needles), caught.value


def test_random_agent_has_equal_probabilities_for_one_legal_action_and_none_on_a_finished_board() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    boards = stacked([env.from_string(text) for text in ("0000 . 0", "1110 . 0", "1111 0 0")])
    found = RandomAgent(env).analyse(boards).probabilities
    np.testing.assert_array_equal(found, [[0.25] * 4, [0, 0, 0, 1], [0] * 4])
