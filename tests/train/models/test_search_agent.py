"""Agents that search on the network of a run: their moves and settings, and tables in place of networks."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.chinese_checkers_diamond.positions import num_positions
from jaxgames.games.chinese_checkers_diamond.solution import index_of_observations, states_of_indices
from jaxgames.mcts import SearchAgent, SearchConfig
from jaxgames.policies.agent import PolicyAgent
from jaxgames.policies.policy import PolicyEvaluate
from jaxgames.wrappers import auto_reset
from tests.helpers.networks import random_leaves
from tests.helpers.positions import batched, random_actions
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from train import agents
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.models.policy import Policy
from train.models.tabulated import TabulatedPolicy, table_pays, with_table
from train.ppo import PPO, Config

# -- agents of runs ----------------------------------------------------------------------------------------------------

STICKS = Sticks(num_players=2, sticks=9)
SIZES: dict[str, Any] = {"env": "sticks(num_players=2, sticks=9)", "hidden_sizes": (8,)}
pytestmark = pytest.mark.usefixtures("sticks")


def ppo(**settings: Any) -> PPO:
    return PPO(Config(**SIZES, num_envs=2, rollout_length=4, num_minibatches=1, **settings))


def test_search_in_a_game_of_three_needs_a_value_for_every_seat() -> None:
    game = Sticks()
    policy = Policy.of(game, "shared", hidden_sizes=(8,))
    boards = jax.eval_shape(jax.vmap(game.at), jnp.array([7, 6, 5]), jnp.array([0, 1, 2]))
    params = jax.eval_shape(policy.init, jax.random.key(0))
    with pytest.raises(ValueError, match=r"a search in sticks.* needs a value for every seat.*train\.alphazero"):
        jax.eval_shape(PolicyEvaluate(game, policy), params, boards)


def test_agents_have_the_settings_of_their_run_where_no_others_are_given() -> None:
    config = AlphaZeroConfig(**SIZES, evaluation_simulations=4, search="puct", gamma=0.5)
    default, other = AlphaZero(config).agent(None), AlphaZero(config).agent(None, simulations=8, search="gumbel")
    assert isinstance(default, SearchAgent)
    assert isinstance(other, SearchAgent)
    c = default.config
    assert (c.simulations, c.search, c.gamma, c.seats, default.temperature) == (4, "puct", 0.5, "paranoid", None)
    assert (other.config.simulations, other.config.search) == (8, "gumbel")
    max_n: Any = AlphaZero(config).agent(None, seats="max_n", temperature=0.5, top=2)
    assert (max_n.config.seats, max_n.temperature, max_n.top) == ("max_n", 0.5, 2)
    assert isinstance(AlphaZero(config).agent(None, simulations=0), PolicyAgent)
    without_tree = AlphaZero(AlphaZeroConfig(**SIZES, search="two_calls"))  # in self-play
    rules = [without_tree.agent(None, simulations=4, search=rule).config.search for rule in (None, "two_calls")]  # pyright: ignore[reportAttributeAccessIssue]
    assert rules == ["gumbel", "two_calls"]
    of_ppo: Any = ppo(temperature=0.25).agent(None, top=3)
    assert (of_ppo.temperature, of_ppo.top) == (0.25, 3)


def test_text_of_a_run_takes_the_rule_of_the_search_and_the_game_of_the_run(tmp_path: Path) -> None:
    """The search is on the parameters of the checkpoint. Its discount is of a turn; two turns are a round."""
    learner = ppo(gamma=0.81)
    folder = str(store(tmp_path / "run", learner))
    puct: Any = agents.make(f"{folder}(simulations=16, search=puct, seats=max_n)", STICKS)
    assert puct.config == SearchConfig(16, "puct", gamma=0.9, seats="max_n")
    assert puct.evaluate == PolicyEvaluate(STICKS, learner.policy)
    jax.tree.map(np.testing.assert_array_equal, puct.params, random_train_state(learner).params)
    assert isinstance(agents.make(f"{folder}(simulations=0)", STICKS), PolicyAgent)
    for text, env, message in (
        ("(simulations=4)", auto_reset(STICKS), r"was trained on sticks\(.*\), not on auto_reset\(sticks"),
        ("(simulations=16, search=minimax)", STICKS, r"search must be .*'gumbel', 'puct'.*, not 'minimax'"),
    ):
        with pytest.raises(ValueError, match=message):
            agents.make(f"{folder}{text}", env)


# -- tables of a policy's outputs --------------------------------------------------------------------------------------

GAME = "chinese_checkers_diamond(size=3, pieces=3)"
ENV: Any = jaxgames.make(GAME)
POLICY = Policy.of(ENV, "shared", "mlp", hidden_sizes=(8,))
POSITIONS = 84 * 20  # C(9, 3) * C(6, 3)
SLOTS = 4


@pytest.fixture(scope="module")
def params() -> Any:
    return random_leaves(jax.eval_shape(POLICY.init, jax.random.key(0)))


@pytest.fixture(scope="module")
def boards() -> Any:
    """Boards of random games after 0 to 6 moves, with either seat to move."""
    rng = np.random.default_rng(1)
    states = jax.jit(jax.vmap(ENV.init))(jax.random.split(jax.random.key(0), 32))
    batches = [states]
    for _ in range(6):
        states = batched(ENV).step(states, random_actions(rng, np.asarray(batched(ENV).mask(states))))
        batches.append(states)
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *batches)


def test_observations_have_the_indices_of_their_states() -> None:
    """36 cells are two words."""
    env: Any = jaxgames.make("chinese_checkers_diamond(size=6, pieces=1)")
    indices = np.random.default_rng(0).integers(0, num_positions(env), 64).astype(np.uint32)
    observations = jax.vmap(env.observe)(states_of_indices(env, indices))
    np.testing.assert_array_equal(index_of_observations(env, observations), indices)


@pytest.mark.parametrize("slots", [SLOTS, pytest.param(None, marks=pytest.mark.slow)])
def test_agent_with_a_table_plays_as_without(params: Any, boards: Any, slots: int | None) -> None:
    agent = PolicyAgent(params, ENV, POLICY, 0.0).with_search(SearchConfig(simulations=8, slots=slots))
    with_it = with_table(agent, POSITIONS // 8 + 1)
    assert isinstance(with_it, SearchAgent)
    assert isinstance(with_it.evaluate, PolicyEvaluate)
    assert with_it.evaluate.policy == TabulatedPolicy(ENV)
    act = jax.jit(lambda agent: agent.act(jax.random.key(0), boards))
    num_legal = np.asarray(batched(ENV).mask(boards)).sum(1)
    assert (num_legal > SLOTS).any()
    assert (num_legal < SLOTS).any()
    np.testing.assert_array_equal(act(with_it), act(agent))
    assert with_table(agent, POSITIONS // 8) is agent  # too few boards
    alone = PolicyAgent(params, ENV, POLICY)
    assert with_table(alone, 10**9) is alone


@pytest.mark.parametrize(
    ("game", "sharing", "evaluations", "slots", "expected"),
    [
        (GAME, "shared", POSITIONS + 1, 64, True),
        (GAME, "independent", 10**9, 64, False),  # the outputs depend on the seat
        ("chinese_checkers_diamond(size=5, pieces=3)", "shared", 10**9, 24, True),
        ("chinese_checkers_diamond(size=5, pieces=3)", "shared", 10**9, 25, False),  # too large
        ("dots_and_boxes(rows=2, cols=2)", "shared", 10**9, 12, False),
    ],
)
def test_where_a_table_pays(game: str, sharing: Any, evaluations: int, slots: int, expected: bool) -> None:
    env = jaxgames.make(game)
    assert table_pays(env, Policy.of(env, sharing, "mlp", hidden_sizes=(8,)), evaluations, slots) is expected
