"""Agents from runs: a policy plays by its logits and temperature, and a folder names the agent of a run."""

from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agents import RandomAgent
from tests.helpers.sticks import Sticks
from tests.train.conftest import Runs
from train import agents
from train.models.policy import Policy
from train.models.policy_agent import PolicyAgent
from train.ppo import PPO, Config

STICKS = Sticks()
ENV = jaxgames.make("dots_and_boxes(rows=2, cols=2)")


class TableOfLogits:
    """A policy whose parameters are the logits of each seat, float32[num_players, num_actions]."""

    def apply(self, params: jax.Array, observation: jax.Array, seat: jax.Array) -> tuple[jax.Array, jax.Array]:
        assert observation.shape[1:] == STICKS.observation_shape
        return params[seat], jnp.zeros(seat.shape)


TABLE = cast(Policy, TableOfLogits())
LOGITS = jnp.log(jnp.array([[1.0, 2.0, 3.0], [9.0, 8.0, 7.0], [1.0, 1.0, 1.0]]))

act: Any = jax.jit(lambda agent, key, states: agent.act(key, states))


def sticks(left: int, seat: int, count: int) -> Any:
    """The same board `count` times."""
    return jax.tree.map(lambda x: jnp.repeat(x[None], count, 0), STICKS.at(left, seat))


# -- a policy as an agent ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperature", "left", "weights"),
    [(1.0, 7, (1, 2, 3)), (0.5, 7, (1, 4, 9)), (1.0, 2, (1, 2, 0))],
)
def test_temperature_divides_the_logits_of_legal_actions(
    temperature: float, left: int, weights: tuple[float, ...]
) -> None:
    """Frequencies of seat 0's actions, for the logits log 1, log 2, log 3; of two sticks nobody takes three."""
    agent = PolicyAgent(LOGITS, STICKS, TABLE, temperature)
    actions = np.asarray(act(agent, jax.random.key(0), sticks(left, 0, 4000)))
    frequencies = np.bincount(actions, minlength=3) / 4000
    np.testing.assert_allclose(frequencies, np.array(weights) / sum(weights), atol=0.04)  # five standard deviations
    assert frequencies[2] > 0 or weights[2] == 0


def test_temperature_0_plays_the_most_probable_legal_action_of_the_movers_seat() -> None:
    agent = PolicyAgent(LOGITS, STICKS, TABLE, 0.0)
    for key in (jax.random.key(0), jax.random.key(1)):
        assert set(act(agent, key, sticks(7, 0, 20)).tolist()) == {2}
        assert set(act(agent, key, sticks(2, 0, 20)).tolist()) == {1}
        assert set(act(agent, key, sticks(7, 1, 20)).tolist()) == {0}


@pytest.mark.parametrize("temperature", [-1, float("nan")])
def test_temperature_below_0_is_refused(temperature: float) -> None:
    with pytest.raises(ValueError, match=f"temperature must be 0 or more, not {temperature}"):
        PolicyAgent(LOGITS, STICKS, TABLE, temperature)


def test_parameters_and_temperature_are_the_leaves_of_a_policy_agent() -> None:
    """So other values of them need no compilation; greedy play is another program."""
    leaves, structure = jax.tree.flatten(PolicyAgent(LOGITS, STICKS, TABLE))
    assert len(leaves) == 2
    assert leaves[0] is LOGITS
    assert structure == jax.tree.structure(PolicyAgent(LOGITS + 1, STICKS, TABLE, 0.5))
    assert structure != jax.tree.structure(PolicyAgent(LOGITS, STICKS, TABLE, 0.0))


# -- agents by name ------------------------------------------------------------------------------------------------


def test_folder_of_a_run_names_the_agent_of_its_last_checkpoint(untrained: Runs) -> None:
    agent = agents.make(str(untrained.second), ENV)
    run = agents.open_run(untrained.second)
    assert jax.tree.structure(agent) == jax.tree.structure(run.learner.agent(run.params()))
    assert isinstance(agent, PolicyAgent)
    for a, b in zip(jax.tree.leaves(agent.params), jax.tree.leaves(run.params()), strict=True):
        np.testing.assert_array_equal(a, b)


def test_two_runs_of_one_network_share_a_program(untrained: Runs) -> None:
    first, second = (agents.make(str(folder), ENV) for folder in (untrained.first, untrained.second))
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert not all(map(np.array_equal, jax.tree.leaves(first), jax.tree.leaves(second)))


def test_agent_of_a_run_has_the_temperature_of_the_run_by_default() -> None:
    learner = PPO(Config(env=str(ENV), temperature=0.25))
    for given, expected in ((None, 0.25), (0.0, None), (2.0, 2.0)):
        agent = learner.agent(None, given)
        assert isinstance(agent, PolicyAgent)
        assert agent.temperature == expected


def test_name_of_a_library_agent_makes_that_agent() -> None:
    assert agents.make("random", ENV) == RandomAgent(ENV)


def test_unknown_name_is_refused_with_the_agents_and_the_expected_folder(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError, match=r"missing holds no run.* or one of the agents first, greedy, .*random"):
        agents.make(missing, ENV)
    assert not Path(missing).exists()


def test_run_on_another_game_is_refused(untrained: Runs) -> None:
    with pytest.raises(ValueError, match=r"was trained on dots_and_boxes\(rows=2, cols=3.*, not on .*cols=2"):
        agents.make(str(untrained.other_game), ENV)


def test_run_without_a_checkpoint_is_refused(untrained: Runs) -> None:
    with pytest.raises(FileNotFoundError, match="other_game has no checkpoint yet"):
        agents.make(str(untrained.other_game), agents.open_run(untrained.other_game).learner.env)
