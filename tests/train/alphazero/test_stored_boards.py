"""AlphaZero on a game whose boards are fewer bytes than the bits of their observations: the buffer has boards."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.sampling import random_action
from tests.helpers.stored_runs import store
from tests.train.alphazero.test_boards import same
from train.alphazero import AlphaZero, Config
from train.alphazero.state import observations_of, sample_shape, samples_of, stores_boards
from train.driver.run_folder import RunFolder
from train.ops import replay
from train.ops.minibatches import take_rows

CONFIG = Config(
    env="chinese_checkers(size=2, num_players=6)",
    total_steps=4 * 24,
    num_envs=4,
    rollout_length=6,
    simulations=2,
    slots=4,
    replay_size=2 * 24,  # of two iterations
    num_updates=1,
    minibatch_size=8,
    hidden_sizes=(8,),
)
LEARNER = AlphaZero(CONFIG)
GAME = LEARNER.env


def samples_with(boards: Any) -> Any:
    """The samples of a rollout that played on these boards; their other entries are zeros."""
    seat = boards.current_player
    zeros = jnp.zeros((*seat.shape, CONFIG.slots or 0))
    steps: Any = SimpleNamespace(state=boards, seat=seat, slots=zeros, weights=zeros)
    return samples_of(GAME, steps, jnp.zeros((*seat.shape, GAME.num_players)))


def test_replay_buffer_gives_the_observations_of_the_boards_that_were_played_on() -> None:
    """Random games over three iterations; the third one replaces the first."""
    assert stores_boards(GAME)

    def step(boards: Any, key: jax.Array) -> Any:
        actions = jax.vmap(random_action)(
            jax.random.split(key, CONFIG.num_envs), jax.vmap(GAME.legal_action_mask)(boards)
        )
        return jax.vmap(GAME.step)(boards, actions), (boards, jax.vmap(GAME.observe)(boards))

    @jax.jit
    def observations(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Of the boards, of the samples, and of the buffer board by board."""
        start = jax.vmap(GAME.init)(jax.random.split(key, CONFIG.num_envs))
        _, (boards, observed) = jax.lax.scan(step, start, jax.random.split(key, 3 * CONFIG.rollout_length))
        samples = samples_with(boards)
        buffer = replay.empty(sample_shape(CONFIG, GAME), CONFIG.num_envs, 2 * CONFIG.rollout_length)
        for iteration in range(3):
            rows = slice(iteration * CONFIG.rollout_length, (iteration + 1) * CONFIG.rollout_length)
            new = jax.tree.map(lambda leaf, rows=rows: leaf[rows], samples)
            buffer = replay.insert(buffer, new, jnp.int32(iteration))
        every = jnp.arange(2 * CONFIG.steps_per_iteration).reshape(2, -1) % CONFIG.steps_per_iteration
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), samples.position)
        drawn = take_rows(replay.grouped(buffer, groups=2), every)
        return observed, observations_of(GAME, flat), observations_of(GAME, drawn.position)

    observed, of_samples, of_buffer = jax.device_get(observations(jax.random.key(0)))
    assert len(np.unique(observed.reshape(72, -1), axis=0)) > 60
    np.testing.assert_array_equal(of_samples.reshape(observed.shape), observed)
    held = np.concatenate([observed[12:], observed[6:12]]).swapaxes(0, 1)  # iterations 2 and 1, board by board
    np.testing.assert_array_equal(of_buffer.reshape(held.shape), held)


@pytest.mark.slow  # compiles an iteration
def test_iteration_of_a_resumed_run_is_that_of_the_run(tmp_path: Path) -> None:
    iterate, train_state = jax.jit(LEARNER.iterate), jax.jit(LEARNER.init)(jax.random.key(0))
    for _ in range(3):
        train_state, _ = iterate(train_state)
    restored = RunFolder.open(store(tmp_path / "run", LEARNER, train_state), AlphaZero).restore()
    assert same(restored, train_state)
    expected, metrics = iterate(train_state)
    assert np.isfinite(metrics["policy_loss"])
    assert same(iterate(restored), (expected, metrics))
    assert not same(expected.params, train_state.params)
