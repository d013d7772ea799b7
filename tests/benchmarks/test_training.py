"""benchmarks.training: its programs compute what the names of its parts say."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import pytest

from benchmarks import training
from train import alphazero
from train.alphazero import AlphaZero
from train.ppo import PPO, Config, TrainState

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


@pytest.mark.parametrize("game", training.GAMES["ppo"])
def test_every_setting_is_valid_for_every_game(game: str) -> None:
    for setting, changes in training.SETTINGS.items():
        config = training.learner_of("ppo", game, setting).config
        assert all(getattr(config, name) == value for name, value in changes.items())


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


class Collected(NamedTuple):
    """The arguments of an update."""

    learner: PPO
    train_state: TrainState
    batch: Any  # steps, advantages, targets


@pytest.fixture(scope="module")
def collected() -> Collected:
    learner = PPO(CONFIG)
    train_state = jax.jit(learner.init)(jax.random.key(0))
    batch, (train_state, _) = jax.jit(functools.partial(training.collect_for_update, learner))(train_state)
    return Collected(learner, train_state, batch)


@pytest.mark.slow  # compiles an update
def test_timed_epochs_end_with_the_parameters_of_an_update(collected: Collected) -> None:
    """With the gradient of the loss and the optimiser, they give the parameters of `PPO.update`."""
    learner, (params, opt_state) = collected.learner, collected.train_state[:2]
    expected, _ = jax.jit(learner.update)(collected.train_state, *collected.batch[:2])
    gradient = jax.grad(functools.partial(learner.loss, collected.train_state), has_aux=True)
    epochs = jax.jit(training.make_epochs(learner, gradient, learner.optimizer()))
    _, key = jax.random.split(collected.train_state.key)
    after, *_ = epochs(
        collected.train_state._replace(key=key),
        (params, opt_state),
        training.group_minibatches(CONFIG, collected.batch),
    )
    assert jax.tree.all(jax.tree.map(lambda a, b: jnp.allclose(a, b, rtol=1e-5, atol=1e-6), after, expected.params))
    assert not jax.tree.all(jax.tree.map(jnp.array_equal, after, params))


@pytest.mark.slow  # compiles for three seconds
def test_epochs_without_a_gradient_keep_the_parameters_and_write_out_the_minibatches(collected: Collected) -> None:
    plain, params = optax.scale(-1e-9), collected.train_state.params
    epochs = jax.jit(training.make_epochs(collected.learner, training.no_gradient, plain))
    batch = training.group_minibatches(CONFIG, collected.batch)
    after, _, minibatch, _ = epochs(collected.train_state, (params, plain.init(params)), batch)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, after, params))
    env = collected.learner.env
    shapes = {name: jnp.shape(leaf)[1:] for name, leaf in minibatch._asdict().items() if leaf is not None}
    expected = {
        "observation": env.observation_shape,
        "mask": (env.num_actions,),
        "seat": (),
        "action": (),
        "log_prob": (),
        "advantage": (),
        "target": (),
    }
    assert shapes == expected
    assert {len(leaf) for leaf in jax.tree.leaves(minibatch)} == {CONFIG.minibatch_size}
