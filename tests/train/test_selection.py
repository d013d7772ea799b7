"""The three ways to select an action: the most probable one, a random one at times, a draw among the best N.

They hold for every agent made of a run: of PPO, AlphaZero and imitation, with the network alone and with a search.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.agents import analyse
from jaxgames.policies.agent import temperature_of
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import random_train_state, store
from train import agents
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.imitation import Config as ImitationConfig
from train.imitation import Imitation
from train.ppo import PPO, Config

GAME = Sticks(num_players=2, sticks=9)  # a mover takes 1, 2 or 3 sticks
TEXT = "sticks(num_players=2, sticks=9)"
NUM_BOARDS = 8
LEARNERS = ("ppo", "alphazero", "imitation")
EVERY = [
    ("ppo", ""),
    ("alphazero", ""),
    pytest.param("imitation", "", marks=pytest.mark.slow),
    *(pytest.param(name, "simulations=8, ", marks=pytest.mark.slow) for name in LEARNERS),  # compiles searches
]


analysed = jax.jit(analyse)
act = jax.jit(lambda agent, keys, boards: jax.vmap(agent.act, in_axes=(0, None))(keys, boards))
legal_action_mask = jax.jit(jax.vmap(GAME.legal_action_mask))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, sticks: None) -> dict[str, Path]:
    """Runs of all learners with the same parameters, whose settings play greedily."""
    size: Any = {"env": TEXT, "hidden_sizes": (8,), "temperature": 0.0}
    boards: Any = {"num_envs": 2, "rollout_length": 4}
    learners: dict[str, Any] = {
        "ppo": PPO(Config(**size, **boards, num_minibatches=1)),
        "alphazero": AlphaZero(AlphaZeroConfig(**size, **boards, replay_size=8, minibatch_size=8)),
        "imitation": Imitation(ImitationConfig(**size, num_minibatches=1)),
    }
    params, parent = random_train_state(learners["ppo"]).params, tmp_path_factory.mktemp("runs")
    return {
        name: store(parent / name, learner, random_train_state(learner)._replace(params=params))
        for name, learner in learners.items()
    }


@pytest.fixture(scope="module")
def boards() -> Any:
    left = np.arange(NUM_BOARDS)
    return jax.jit(jax.vmap(GAME.at))(left + 2, left % 2)


@pytest.mark.parametrize(("learner", "search"), EVERY)
def test_greedy_epsilon_and_the_best_n_are_those_of_the_policy(
    learner: str, search: str, runs: dict[str, Path], boards: Any
) -> None:
    mask = np.asarray(legal_action_mask(boards))

    def probabilities(parameters: str) -> np.ndarray:
        agent: Any = agents.make(f"{runs[learner]}({search}{parameters})", GAME)
        return np.asarray(analysed(agent, boards).probabilities)

    policy, greedy = probabilities("temperature=1"), probabilities("temperature=0")
    np.testing.assert_array_equal(np.sort(greedy, 1)[:, -2:], [[0, 1]] * NUM_BOARDS)
    assert mask[greedy == 1].all()
    if not search:  # a search chooses by other numbers than those that it samples by
        np.testing.assert_array_equal(greedy.argmax(1), policy.argmax(1))

    explored = probabilities("epsilon=0.1")  # the settings have temperature 0
    np.testing.assert_allclose(explored, 0.9 * greedy + 0.1 * mask / mask.sum(1, keepdims=True), atol=1e-6)

    best_two = policy * (policy >= np.sort(policy, 1)[:, -2:-1])
    found = probabilities("top=2")
    np.testing.assert_allclose(found, best_two / best_two.sum(1, keepdims=True), atol=1e-5)
    assert ((found > 0).sum(1) == 2).any()


@pytest.mark.parametrize("learner", LEARNERS)
def test_draw_among_the_best_n_plays_all_of_them_and_no_others(
    learner: str, runs: dict[str, Path], boards: Any
) -> None:
    agent: Any = agents.make(f"{runs[learner]}(top=2)", GAME)
    keys = jax.random.split(jax.random.key(0), 400)
    played = np.asarray(act(agent, keys, boards))
    shares = (played[:, :, None] == np.arange(GAME.num_actions)).mean(0)
    expected = np.asarray(analysed(agent, boards).probabilities)
    np.testing.assert_array_equal(shares[expected == 0], 0)
    np.testing.assert_allclose(shares, expected, atol=4 * 0.5 / np.sqrt(400))


def test_draw_among_the_best_n_has_temperature_1_where_the_settings_are_greedy() -> None:
    assert temperature_of(None, 0.0, None) == 0
    assert temperature_of(None, 0.0, 5) == 1
    assert temperature_of(None, 0.5, 5) == 0.5
    assert temperature_of(0.0, 0.5, 5) == 0
