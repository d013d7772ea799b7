"""The agents of runs: the values, the moves and the text of the one that searches, and the settings of the others."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.mcts import SearchAgent
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import PolicyEvaluate
from jaxgames.wrappers import auto_reset
from tests.helpers.networks import random_leaves
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from train import agents
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.models.policy import Policy
from train.ppo import PPO, Config

pytestmark = pytest.mark.usefixtures("sticks")

GAME = Sticks(num_players=2, sticks=9)
TEXT = "sticks(num_players=2, sticks=9)"


@pytest.fixture(scope="module")
def learner(sticks: None) -> PPO:
    return PPO(Config(env=TEXT, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1, temperature=1.0))


@pytest.fixture(scope="module")
def params(learner: PPO) -> Any:
    return random_leaves(jax.eval_shape(learner.init_params, jax.random.key(0)))


@pytest.fixture(scope="module")
def boards() -> Any:
    left, seats = np.divmod(np.arange(18), 2)
    return jax.jit(jax.vmap(GAME.at))(left + 1, seats)


act = jax.jit(lambda agent, key, boards: agent.act(key, boards))


def key(seed: int) -> jax.Array:
    return jax.random.key(seed)


# -- values --------------------------------------------------------------------------------------------------------


def test_search_in_a_game_of_three_needs_a_value_for_every_seat() -> None:
    game = Sticks()
    policy = Policy.of(game, "shared", hidden_sizes=(8,))
    boards = jax.eval_shape(jax.vmap(game.at), jnp.array([7, 6, 5]), jnp.array([0, 1, 2]))
    params = jax.eval_shape(policy.init, key(0))
    with pytest.raises(ValueError, match=r"a search in sticks.* needs a value for every seat.*train\.alphazero"):
        jax.eval_shape(PolicyEvaluate(game, policy), params, boards)


# -- moves ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_search_finds_wins_that_the_network_does_not_find_and_is_deterministic(
    learner: PPO, params: Any, boards: Any
) -> None:
    """With up to three sticks the mover takes them all."""
    agent = learner.agent(params, simulations=16)
    actions = np.asarray(act(agent, key(0), boards))
    np.testing.assert_array_equal(actions[:6], [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(act(agent, key(1), boards), actions)
    assert isinstance(agent, SearchAgent)
    assert agent.config.gamma == pytest.approx(learner.config.gamma**0.5)  # of a turn; two turns are a round
    probabilities, values = analysis_of(agent, boards)
    np.testing.assert_array_equal(np.asarray(probabilities).argmax(-1), actions)
    np.testing.assert_allclose(np.asarray(probabilities).sum(-1), 1, rtol=1e-6)
    assert values is not None
    np.testing.assert_allclose(values[:2], [[1, -1], [-1, 1]], atol=0.1)  # one stick is left


# -- texts ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_text_of_a_run_takes_simulations_and_the_rule_of_the_search(
    learner: PPO, params: Any, boards: Any, tmp_path: Path
) -> None:
    folder = str(store(tmp_path / "run", learner, random_train_state(learner)._replace(params=params)))
    searching = agents.make(f"{folder}(simulations=16)", GAME)
    np.testing.assert_array_equal(
        act(searching, key(0), boards), act(learner.agent(params, simulations=16), key(0), boards)
    )
    puct: Any = agents.make(f"{folder}(simulations=16, search=puct)", GAME)
    assert puct.config.search == "puct"
    for text in (folder, f"{folder}(simulations=0)"):
        assert isinstance(agents.make(text, GAME), PolicyAgent)
    with pytest.raises(ValueError, match=r"was trained on sticks\(.*\), not on auto_reset\(sticks"):
        agents.make(f"{folder}(simulations=4)", auto_reset(GAME))
    with pytest.raises(ValueError, match=r"search must be .*'gumbel', 'puct'.*, not 'minimax'"):
        agents.make(f"{folder}(simulations=16, search=minimax)", GAME)
    with pytest.raises(ValueError, match=r"no parameter 'sims'; .*simulations, search"):
        agents.make(f"{folder}(sims=16)", GAME)


def test_run_of_alphazero_plays_by_its_settings() -> None:
    learner = AlphaZero(
        AlphaZeroConfig(env=TEXT, hidden_sizes=(8,), evaluation_simulations=4, search="puct", gamma=0.5)
    )
    params = jax.eval_shape(learner.init_params, key(0))
    default: Any = learner.agent(params)
    assert (default.config.simulations, default.config.search, default.config.gamma) == (4, "puct", 0.5)
    assert default.temperature is None
    assert default.config.seats == "paranoid"
    other: Any = learner.agent(params, simulations=8, search="gumbel", seats="max_n")
    assert (other.config.simulations, other.config.search) == (8, "gumbel")
    assert other.config.seats == "max_n"
    assert isinstance(learner.agent(params, simulations=0), PolicyAgent)


def test_agent_of_ppo_has_its_settings_by_default() -> None:
    learner = PPO(Config(env="dots_and_boxes(rows=1, cols=1)", temperature=0.25))
    for given, expected in ((None, 0.25), (0.0, None), (2.0, 2.0)):
        agent = learner.agent(None, given)
        assert isinstance(agent, PolicyAgent)  # without random moves, nothing of them is computed
        assert (agent.temperature, agent.top) == (expected, None)
    agent = learner.agent(None, top=3)
    assert isinstance(agent, PolicyAgent)
    assert (agent.temperature, agent.top) == (0.25, 3)
