"""The parts that all benchmarks share: timed programs, stored results, exit statuses, and the loop of random play."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import harness
from benchmarks.harness import BenchmarkArguments, Command, cores
from benchmarks.loops import pgx_env, play_loop, probe
from jaxgames import auto_reset, make

BOXES = "dots_and_boxes(rows=1, cols=1)"


@dataclass(frozen=True)
class Arguments(BenchmarkArguments):
    env: str = "chinese_checkers(size=2, num_players=6)"


def command(measure: Callable[[Any], dict[str, Any]], **options: Any) -> Command:
    return Command("sweep", Arguments, measure, **options)


def test_time_program_gives_each_repeat_another_key_and_warms_up_first() -> None:
    keys: list[list[int]] = []

    def program(key: jax.Array, x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda data: keys.append(data.tolist()), jax.random.key_data(key), ordered=True)
        return x + 1

    figure = harness.time_program(program, (jnp.zeros(3),), steps=10, repeats=2)
    assert len(keys) == 3
    assert keys[1] != keys[2]
    assert figure.steps_per_second > 0
    assert figure.compile_seconds > 0
    assert figure.memory_bytes >= 2 * 3 * 4  # the argument and the result


def test_spread_is_the_range_over_the_median() -> None:
    assert harness.median_and_spread([8.0, 10.0, 13.0]) == (10.0, 0.5)


@pytest.mark.parametrize(
    ("output", "file"),
    [
        ("new/result.json", "new/result.json"),
        ("new", "new/sweep_chinese_checkers_size_2_num_players_6.json"),
    ],
)
def test_output_is_a_file_or_a_folder_with_a_file_named_by_command_and_game(
    output: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {"rows": [1]}
    harness.run_command(command(lambda arguments: result), Arguments(output=tmp_path / output))
    assert json.loads((tmp_path / file).read_text()) == result
    assert json.loads(capsys.readouterr().out) == result


def test_output_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match=r"^benchmarks.sweep: .*file"):
        harness.run_command(command(pytest.fail), Arguments(output=tmp_path / "file"))


def test_command_fails_after_its_result_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^benchmarks.sweep: lost minichess$"):
        harness.run_command(command(lambda _: {"a": 1}, failure=lambda result: "lost minichess"), Arguments())
    assert capsys.readouterr().out == '{"a": 1}\n'


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
