"""The agents of runs: the values, the moves and the text of the one that searches, and the settings of the others."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.mcts import SearchAgent
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import PolicyEvaluate, reward_scale
from jaxgames.wrappers import auto_reset
from tests.helpers.analysis import analysis_of
from tests.helpers.random_leaves import random_leaves
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from train import agents
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.models.policy import Policy, with_seat_values
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


def test_other_seat_of_a_zero_sum_game_has_the_negated_value_of_the_mover(
    learner: PPO, params: Any, boards: Any
) -> None:
    evaluation = jax.jit(PolicyEvaluate(GAME, learner.policy))(params, boards)
    observation = jax.jit(jax.vmap(GAME.observe))(boards)
    logits, values = jax.jit(learner.policy.apply)(params, observation, boards.current_player)
    np.testing.assert_allclose(evaluation.logits, logits, rtol=1e-5)
    mover = np.asarray(boards.current_player)
    np.testing.assert_allclose(np.asarray(evaluation.values)[np.arange(18), mover], values, rtol=1e-5)
    np.testing.assert_array_equal(*(np.asarray(evaluation.values) * [1, -1]).T)


def test_search_in_a_game_of_three_needs_a_value_for_every_seat() -> None:
    game = Sticks()
    policy = Policy.of(game, "shared", hidden_sizes=(8,))
    boards = jax.eval_shape(jax.vmap(game.at), jnp.array([7, 6, 5]), jnp.array([0, 1, 2]))
    params = jax.eval_shape(policy.init, key(0))
    with pytest.raises(ValueError, match=r"a search in sticks.* needs a value for every seat.*train\.alphazero"):
        jax.eval_shape(PolicyEvaluate(game, policy), params, boards)


@pytest.mark.slow  # test_value_heads.py has the values, tests/policies those of an agent
def test_search_in_a_game_of_three_has_the_values_of_all_seats_from_the_mover() -> None:
    """In the env's unit: the winner is paid 2, which the network learns as 1."""
    game = Sticks()
    boards = jax.vmap(game.at)(jnp.array([7, 6, 5]), jnp.array([0, 1, 2]))
    vector = with_seat_values(game, Policy.of(game, "shared", hidden_sizes=(8,)))
    params = vector.init(key(0))
    _, values = vector.apply(params, jax.vmap(game.observe)(boards), boards.current_player)
    found = np.asarray(PolicyEvaluate(game, vector)(params, boards).values)
    for board in range(3):  # the mover of board i is seat i
        np.testing.assert_allclose(found[board], 2 * np.roll(values[board], board), rtol=1e-5)
    assert reward_scale(game) == 0.5


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


@pytest.mark.slow  # two more searches to compile
def test_temperature_samples_from_the_policy_of_the_search_and_top_limits_it(
    learner: PPO, params: Any, boards: Any
) -> None:
    sampling, of_two = (learner.agent(params, 1.0, top=top, simulations=16) for top in (None, 2))
    probabilities, limited = (np.asarray(analysis_of(agent, boards).probabilities) for agent in (sampling, of_two))
    several = np.asarray(boards.left) >= 3
    assert ((probabilities > 0).sum(-1)[several] == 3).all()
    assert ((limited > 0).sum(-1)[several] == 2).all()
    np.testing.assert_allclose(limited.sum(-1), 1, rtol=1e-5)
    board = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[-1], (18, *leaf.shape[1:])), boards)
    drawn = np.concatenate([np.asarray(sampling.act(key(seed), board)) for seed in range(60)])
    shares = np.bincount(drawn, minlength=3) / drawn.size
    np.testing.assert_allclose(shares, probabilities[-1], atol=0.06)


def test_finished_board_has_no_probabilities_and_values_of_zero(learner: PPO, params: Any, boards: Any) -> None:
    over = jax.tree.map(lambda leaf: leaf, boards)
    over = dataclasses.replace(over, terminated=jnp.ones(18, bool), left=jnp.zeros(18, jnp.int8))
    probabilities, values = analysis_of(learner.agent(params, simulations=16), over)
    assert values is not None
    assert not np.asarray(probabilities).any()
    assert not np.asarray(values).any()


def test_agents_that_differ_in_their_arrays_share_one_program(learner: PPO, params: Any) -> None:
    first, second = (learner.agent(params, temperature, simulations=16) for temperature in (0.5, 2.0))
    assert jax.tree.structure(first) == jax.tree.structure(second)


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
    for text, message in (
        ("simulations=-1", "simulations must be an integer from 1"),
        ("simulations=16, search=minimax", "search must be .*'gumbel', 'puct'.*, not 'minimax'"),
        ("simulations=16, temperature=-1", "temperature must be a finite number from 0 on, not -1"),
        ("simulations=16, top=0", "top must be an integer from 1 "),
        ("sims=16", "no parameter 'sims'; its parameters are temperature, top, simulations, search, seats, epsilon"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.make(f"{folder}({text})", GAME)


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
