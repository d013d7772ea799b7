"""The loop of random play makes the steps that single calls make, and reads everything that it writes out."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.harness import cores
from benchmarks.loops import (
    GAMES,
    MIN_STEPS_PER_CALL,
    pgx_env,
    play_loop,
    probe,
    steps_per_call,
)
from jaxgames import auto_reset, list_games, make

BOXES = "dots_and_boxes(rows=1, cols=1)"


def test_loop_makes_the_steps_of_single_calls_and_reads_its_outputs() -> None:
    """With the same keys. The last observation and mask are of the boards before the last step."""
    env, batch, length = auto_reset(make(BOXES)), 4, 40
    key, start = jax.random.key(7), jax.random.split(jax.random.key(0), batch)
    loop = jax.jit(play_loop(env, batch, length))
    boards, (observation, mask), checksum = loop(key, jax.vmap(env.init)(start), None)

    @jax.jit
    def single(boards: Any, key: jax.Array) -> Any:
        action_key, step_key = jax.random.split(key)
        outputs = jax.vmap(env.observe)(boards), jax.vmap(env.legal_action_mask)(boards)
        action = jax.vmap(env.random_legal_action)(boards, jax.random.split(action_key, batch))
        after = jax.vmap(env.step)(boards, action, jax.random.split(step_key, batch))
        read = sum((probe(array, action) for array in outputs), start=jnp.float32(0))
        return after, outputs, read, boards.rewards.sum()

    outputs: Any = ()
    expected = jax.vmap(env.init)(start)
    reads: list[float] = []
    paid, ends = 0.0, 0
    for step_key in jax.random.split(key, length):
        expected, outputs, read, rewards = single(expected, step_key)
        reads.append(float(read))
        paid += float(rewards)
        ends += int((expected.terminated | expected.truncated).sum())
    assert ends > batch
    jax.tree.map(np.testing.assert_array_equal, boards.board, expected.board)
    np.testing.assert_array_equal(boards.rewards, expected.rewards)
    np.testing.assert_array_equal(observation, outputs[0])
    np.testing.assert_array_equal(mask, outputs[1])
    assert sum(reads) > length  # a legal action and more in each
    assert float(checksum) == pytest.approx(paid + sum(reads[:-1]), rel=1e-4)  # the loop ends before the last read


def test_calls_are_long_enough_that_new_memory_does_not_count() -> None:
    assert [steps_per_call(8_192, batch) for batch in (1, 64, 4096)] == [1000, 128, MIN_STEPS_PER_CALL]


def test_every_game_is_among_those_that_are_measured() -> None:
    assert {game.partition("(")[0] for game in GAMES} == set(list_games())


@pytest.mark.slow  # compiles a game of Pgx
def test_pgx_env_has_the_functions_of_ours() -> None:
    """Mask and observation belong to the state that the step returns, and finished boards restart."""
    bare, playing = pgx_env("tic_tac_toe")
    state = jax.jit(bare.init)(jax.random.key(0))
    step, rng = jax.jit(playing.step), random.Random(0)
    ends = 0
    for number in range(30):
        mask = playing.legal_action_mask(state)
        assert mask.shape == (9,)
        assert bare.observe(state).shape == (3, 3, 2)
        action = rng.choice(jnp.flatnonzero(mask).tolist())
        state = step(state, jnp.int32(action), jax.random.key(number))
        if state.terminated:
            ends += 1
            assert playing.legal_action_mask(state).all()
    assert ends >= 3


DIVIDED = f"""
import jax
from benchmarks.harness import provide_devices
from benchmarks.loops import REPLICATED, SHARDED, over_devices, play_loop
from jaxgames import auto_reset, make

provide_devices(2)
playing = auto_reset(make({BOXES!r}))
boards = jax.vmap(playing.init)(jax.random.split(jax.random.key(0), 6))
loop = play_loop(playing, 3, 5)
program, arguments = over_devices(loop, (boards, None), (SHARDED, REPLICATED), 2)
ended, *_ = jax.jit(program)(jax.random.key(1), *arguments)
assert len(ended.rewards.sharding.device_set) == 2
assert (ended.board.edges[:3] != ended.board.edges[3:]).any()
"""


@pytest.mark.slow  # starts a process
@pytest.mark.skipif(cores() < 2, reason="needs two cores")
def test_every_device_plays_different_games() -> None:
    """From the same positions; in a new process, because virtual devices must be requested before JAX starts."""
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", DIVIDED], cwd=root, env=environment, check=True)
