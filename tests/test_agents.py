"""Agents: legal actions for a batch of boards, agents as arguments of a compiled function, agents by name."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jaxgames
from jaxgames import agents
from jaxgames.agents import FirstAgent, GreedyAgent, RandomAgent
from tests.helpers.positions import read_all, repeated, stacked
from tests.helpers.sticks import Sticks

STICKS = Sticks()


act: Any = jax.jit(lambda agent, key, states: agent.act(key, states))


# -- the random agent ----------------------------------------------------------------------------------------------


def test_random_agent_plays_every_legal_action_equally_often_and_no_other() -> None:
    count = 3000
    states = repeated(STICKS.at(2, 1), count)
    actions = np.asarray(act(RandomAgent(STICKS), jax.random.key(0), states))
    assert set(actions) == {0, 1}  # two sticks are left: three cannot be taken
    assert abs((actions == 0).mean() - 1 / 2) < 0.046  # five standard deviations


# -- the first legal action, and random moves in between -----------------------------------------------------------


def test_first_agent_plays_the_lowest_legal_action() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    states = read_all(env, [f"{bits} . 0" for bits in ("0000", "1010", "1110")])
    actions = act(agents.make("first", env), jax.random.key(0), states)
    assert actions.tolist() == [0, 1, 3]
    assert actions.dtype == jnp.int32


def test_epsilon_is_the_share_of_random_moves() -> None:
    count = 4000
    states = repeated(STICKS.at(7, 0), count)
    actions = np.asarray(act(agents.make("first(epsilon=0.3)", STICKS), jax.random.key(0), states))
    expected = np.array([0.8, 0.1, 0.1])  # 0.7 + 0.3 / 3, and 0.3 / 3 each
    frequencies = np.bincount(actions, minlength=3) / count
    assert (abs(frequencies - expected) < 5 * np.sqrt(expected * (1 - expected) / count)).all()


@dataclass(frozen=True)
class HostAgent:
    """Takes one stick; cannot be traced, because it reads the boards."""

    on_device: ClassVar[bool] = False

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        assert int(states.left[0]) > 0
        return jnp.zeros(states.left.shape, jnp.int32)


def test_agent_on_the_host_is_mixed_with_random_moves_too() -> None:
    agent = agents.with_epsilon(STICKS, HostAgent(), 0.5)
    assert not agent.on_device
    assert agents.make("first(epsilon=0.5)", STICKS).on_device
    states = repeated(STICKS.at(7, 0), 400)
    actions = np.asarray(agent.act(jax.random.key(0), states))
    assert abs((actions == 0).mean() - 2 / 3) < 0.12  # five standard deviations


@pytest.mark.parametrize("text", ["random", "greedy", "first(epsilon=0.5)"])
def test_agents_play_auto_reset_and_finished_boards(text: str) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    finished, live = env.from_string("1111 0 0"), env.from_string("1011 . 0")
    assert act(agents.make(text, env), jax.random.key(0), stacked([finished, live]))[1] == 1
    wrapped = jaxgames.auto_reset(env)
    states = read_all(wrapped, ["1011 . 0", "1110 . 1"])
    assert act(agents.make(text, wrapped), jax.random.key(0), states).tolist() == [1, 3]


# -- analysis ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "probabilities"),
    [
        ("random", [[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 2, 0], [0, 0, 0]]),
        ("first", [[1, 0, 0], [1, 0, 0], [0, 0, 0]]),
        ("first(epsilon=0.6)", [[0.6, 0.2, 0.2], [0.7, 0.3, 0], [0, 0, 0]]),
    ],
)
def test_analysis_has_the_exact_probabilities(text: str, probabilities: list[list[float]]) -> None:
    states = stacked([STICKS.at(7, 0), STICKS.at(2, 1), STICKS.at(0, 0)])
    analysis = jax.jit(agents.analyse)(agents.make(text, STICKS), states)
    np.testing.assert_allclose(analysis.probabilities, probabilities, rtol=1e-6)
    assert analysis.probabilities.dtype == jnp.float32
    assert analysis.values is None


def test_agent_without_probabilities_has_no_analysis() -> None:
    for agent in (HostAgent(), agents.with_epsilon(STICKS, HostAgent(), 0.5)):
        assert agents.analyse(agent, stacked([STICKS.at(7, 0)])) is None


# -- agents as arguments of a compiled function --------------------------------------------------------------------


@agents.pytree
@dataclass(frozen=True)
class Constant:
    """An agent with one number as its parameter; counts how often it is traced."""

    on_device: ClassVar[bool] = True
    traces: ClassVar[list[int]] = []
    action: jax.Array  # int32[]

    def act(self, key: jax.Array, states: Any) -> jax.Array:
        self.traces.append(1)
        return jnp.full(states.current_player.shape, self.action)


def test_agents_that_differ_only_in_their_arrays_share_a_program() -> None:
    states = stacked([STICKS.at(7, 0)])
    actions = [act(Constant(jnp.int32(action)), jax.random.key(0), states).tolist() for action in (0, 1, 2)]
    assert actions == [[0], [1], [2]]
    assert len(Constant.traces) == 1
    assert jax.tree.structure(agents.make("first(epsilon=0)", STICKS)) == jax.tree.structure(
        agents.make("first(epsilon=0.5)", STICKS)
    )


def test_agents_of_two_classes_or_games_never_share_a_program() -> None:
    """The structures themselves differ: `jax.jit` compares them when only a few bits of their hashes agree."""
    made = [kind(STICKS) for kind in (FirstAgent, GreedyAgent, RandomAgent)]
    other = RandomAgent(jaxgames.make("dots_and_boxes"))
    assert len({jax.tree.structure(agent) for agent in (*made, other, RandomAgent(Sticks()))}) == 4
    for agent in made:
        assert [jax.tree.structure(agent) == jax.tree.structure(each) for each in made].count(True) == 1


# -- agents by name ------------------------------------------------------------------------------------------------


NUMBERS = st.floats(0, 1e6, width=32) | st.integers(0, 10**6)
SETTINGS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "random": {},
    "first": {},
    "greedy": {},
    "mcts": {
        "simulations": st.integers(1, 100_000),
        "rollouts": st.integers(1, 9),
        "max_rollout_steps": st.integers(1, 9),
        "uct_c": NUMBERS,
        "slots": st.integers(1, 9) | st.none(),
        "seats": st.sampled_from(["max_n", "paranoid"]),
        "playout": st.sampled_from(["random", "greedy", "first(epsilon=0.25)", "mcts(simulations=2, seats='max_n')"]),
    },
}


@settings(max_examples=25, deadline=None, database=None)
@given(st.data(), st.sampled_from([*SETTINGS]))
def test_agent_is_made_by_its_text(data: st.DataObject, name: str) -> None:
    """The text of an agent names it and what is set; the agent of this text has the same text and parts."""
    epsilon = {"epsilon": st.floats(0, 1, width=32)}
    values = data.draw(st.fixed_dictionaries({}, optional=SETTINGS[name] | epsilon))
    env = jaxgames.make("checkers")
    agent = agents.make(f"{name}({', '.join(f'{setting}={value!r}' for setting, value in values.items())})", env)
    again = agents.make(str(agent), env)
    assert str(again) == str(agent)
    assert str(agent).startswith(name)
    assert again == agent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first(eps=0.1)", "first has no parameter 'eps'; its parameters are epsilon"),
        ("first(epsilon=1.5)", "epsilon .* from 0 to 1, not 1.5"),
        ("first(epsilon=0.1, epsilon=0.1)", "epsilon given twice"),
        ("first(0.1)", r"not 'first\(0.1\)'; the agents are alphabeta, baseline, deep, exported, first"),
        ("runs/first", "expected an agent such as .* a training run, .*, not 'runs/first'; the agents are alphabeta"),
        ("", "expected an agent such as"),
        (None, "not None; the agents are alphabeta"),
        ("rndom(size=2)", "unknown agent 'rndom'; the agents are .*random"),
        ("no_such_module:mine", "no module 'no_such_module' was found"),
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


def test_register_refuses_names_that_are_taken_or_no_identifiers() -> None:
    with pytest.raises(ValueError, match="'random' is registered already"):
        agents.register("random", RandomAgent)
    with pytest.raises(ValueError, match="must be a Python identifier such as 'my_agent', not 'runs/first'"):
        agents.register("runs/first", RandomAgent)
    with pytest.raises(TypeError, match="must be callable, not 3"):
        agents.register("three", 3)  # pyright: ignore[reportArgumentType]  # on purpose
