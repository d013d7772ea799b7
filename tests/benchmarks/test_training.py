"""benchmarks.training: its programs compute what the names of its parts say."""

import jax
import pytest

from benchmarks import training
from train import alphazero
from train.alphazero import AlphaZero
from train.ppo import PPO, Config

CONFIG = Config(
    env="dots_and_boxes(rows=1, cols=1)",
    num_envs=4,
    rollout_length=4,
    update_epochs=2,
    num_minibatches=2,
    hidden_sizes=(5,),
)
SEARCHED = alphazero.Config(
    env="dots_and_boxes(rows=1, cols=1)",
    num_envs=4,
    rollout_length=4,
    simulations=2,
    num_updates=1,
    minibatch_size=4,
    replay_size=64,
    hidden_sizes=(5,),
)


@pytest.mark.slow  # compiles every part of an iteration
@pytest.mark.usefixtures("programs")
def test_parts_add_up_to_the_iteration() -> None:
    for learner in (PPO(CONFIG), AlphaZero(SEARCHED)):
        row = training.measure_parts(learner, 1, "demo")
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert row["whole"] > 0


def test_policy_of_zeros_has_the_shapes_of_the_network() -> None:
    learner = AlphaZero(SEARCHED)
    zeros = training.WithoutNetwork(SEARCHED).policy
    params = jax.eval_shape(learner.init_params, jax.random.key(0))
    boards = jax.vmap(learner.env.init)(jax.random.split(jax.random.key(0), 3))
    observations = jax.vmap(learner.env.observe)(boards)
    outputs = zeros.apply(params, observations, boards.current_player)
    expected = jax.eval_shape(learner.policy.apply, params, observations, boards.current_player)
    assert [leaf.shape for leaf in jax.tree.leaves(outputs)] == [leaf.shape for leaf in jax.tree.leaves(expected)]
    assert not any(leaf.any() for leaf in jax.tree.leaves(outputs))
