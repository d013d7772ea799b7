"""A rollout that ends in the middle of a game bootstraps with the value of the network."""

from typing import Any

import jax
import numpy as np
import pytest

from train import ppo
from train.ops.episodes import EpisodeStats
from train.ppo import PPO, Config

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=2)",
    num_envs=2,
    rollout_length=1,
    num_minibatches=1,
    update_epochs=1,
    total_steps=2,
    sharing="shared",
    hidden_sizes=(4,),
    gamma=0.9,
)
VALUE = 0.5  # of every position, for the mover


def test_network_of_constant_value_gives_its_value_to_the_last_board() -> None:
    """The first board's mover closes a box and moves again; the second board's does not. Nothing is paid."""
    learner = PPO(CONFIG)
    env = learner.env
    shapes = jax.eval_shape(learner.init_params, jax.random.key(0))
    params = jax.tree.map(lambda leaf: np.full(leaf.shape, VALUE if leaf.shape == (1,) else 0, np.float32), shapes)
    board = env.from_string("1010100 .. 1")  # three edges of the first box
    boards: Any = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (1, 2, *leaf.shape)), jax.device_get(board))
    action = np.array([[env.action_from_string(board, edge) for edge in ("v(0,1)", "h(0,1)")]], np.int32)
    never, nothing = np.zeros((1, 2), bool), np.zeros((1, 2, 2), np.float32)
    transition: Any = ppo.Transition  # of arrays of numpy
    stats: Any = EpisodeStats
    steps = transition(
        state=boards,
        action=action,
        log_prob=np.zeros((1, 2), np.float32),
        value=np.full((1, 2), VALUE, np.float32),
        rewards=nothing,
        terminated=never,
        truncated=never,
        episode_stats=stats(np.full((1, 2), 4), nothing),
    )
    estimate = jax.jit(learner.advantages)
    again, other = np.asarray(estimate(params, steps)[1])[0]
    assert again == pytest.approx(CONFIG.gamma * VALUE - VALUE)
    assert other == pytest.approx(-CONFIG.gamma * VALUE - VALUE)
