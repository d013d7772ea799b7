"""Agents: legal actions for a batch of boards, agents as arguments of a compiled function, agents by name."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames import agents
from jaxgames.agents import RandomAgent
from tests.helpers.sticks import Sticks

STICKS = Sticks()


act: Any = jax.jit(lambda agent, key, states: agent.act(key, states))


def boards(*states: Any) -> Any:
    """A batch of boards."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


# -- the random agent ----------------------------------------------------------------------------------------------


def test_random_agent_plays_every_legal_action_equally_often_and_no_other() -> None:
    count = 3000
    states = jax.tree.map(lambda x: jnp.repeat(x[None], count, 0), STICKS.at(2, 1))
    actions = np.asarray(act(RandomAgent(STICKS), jax.random.key(0), states))
    assert set(actions) == {0, 1}  # two sticks are left: three cannot be taken
    assert abs((actions == 0).mean() - 1 / 2) < 0.046  # five standard deviations


def test_random_agent_plays_the_only_legal_action_of_each_board() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=1)")
    almost_drawn = [env.from_string(f"{'1' * edge}0{'1' * (3 - edge)} . 0") for edge in range(4)]
    actions = act(RandomAgent(env), jax.random.key(0), boards(*almost_drawn))
    assert actions.tolist() == [0, 1, 2, 3]
    assert actions.dtype == jnp.int32


def test_random_agent_accepts_finished_boards() -> None:
    finished, live = STICKS.at(0, 1), STICKS.at(1, 0)
    assert act(RandomAgent(STICKS), jax.random.key(0), boards(finished, live))[1] == 0


# -- agents as arguments of a compiled function --------------------------------------------------------------------


@jax.tree_util.register_dataclass
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
    states = boards(STICKS.at(7, 0))
    actions = [act(Constant(jnp.int32(action)), jax.random.key(0), states).tolist() for action in (0, 1, 2)]
    assert actions == [[0], [1], [2]]
    assert len(Constant.traces) == 1


def test_random_agents_of_one_game_share_a_program() -> None:
    leaves, structure = jax.tree.flatten(RandomAgent(STICKS))
    assert not leaves
    assert structure == jax.tree.structure(RandomAgent(Sticks()))
    assert structure != jax.tree.structure(RandomAgent(jaxgames.make("dots_and_boxes")))


# -- agents by name ------------------------------------------------------------------------------------------------


def test_name_random_makes_the_random_agent() -> None:
    assert "random" in agents.list_agents()
    assert agents.make("random", STICKS) == RandomAgent(STICKS)


@pytest.mark.parametrize("text", ["rndom", "rndom(size=2)"])
def test_unknown_agent_is_refused_with_the_names_that_there_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"unknown agent 'rndom'; the agents are .*random"):
        agents.make(text, STICKS)


def test_registered_agent_is_made_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registered = vars(agents)["_agents"]
    monkeypatch.setattr(registered, "_constructors", dict(vars(registered)["_constructors"]))
    agents.register("constant", lambda env: Constant(jnp.int32(env.num_players)))
    assert agents.list_agents() == ["constant", "first", "greedy", "openspiel", "random"]
    made = agents.make("constant", STICKS)
    assert isinstance(made, Constant)
    assert made.action == 3


def test_register_refuses_names_that_are_taken_or_no_identifiers() -> None:
    with pytest.raises(ValueError, match="'random' is registered already"):
        agents.register("random", RandomAgent)
    with pytest.raises(ValueError, match="must be a Python identifier such as 'my_agent', not 'runs/first'"):
        agents.register("runs/first", RandomAgent)
    with pytest.raises(TypeError, match="must be callable, not 3"):
        agents.register("three", 3)  # pyright: ignore[reportArgumentType]  # on purpose
