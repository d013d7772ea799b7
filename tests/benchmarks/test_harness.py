"""What all benchmarks share: timed programs, exit statuses, the loop of random play; and games that became slow.

The speed of a game is tested as its ratio to a reference in the same process.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import harness, loops, regression
from benchmarks.harness import BenchmarkArguments, Command
from benchmarks.loops import play_loop, probe
from jaxgames import auto_reset, make
from tests.benchmarks.conftest import RunCommand

ROOT = Path(__file__).parents[2]
BOXES = "dots_and_boxes(rows=1, cols=1)"
SMALL, OTHER = "dots_and_boxes(rows=2, cols=2)", "dots_and_boxes(rows=1, cols=2)"


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
    assert harness.median_and_spread([8.0, 10.0, 13.0]) == (10.0, 0.5)  # the range over the median


def test_output_is_a_file_or_a_folder_with_a_file_named_by_command_and_game(tmp_path: Path) -> None:
    result = {"rows": [1]}
    for output, file in (
        ("new/result.json", "new/result.json"),
        ("new", "new/sweep_chinese_checkers_size_2_num_players_6.json"),
    ):
        harness.run_command(command(lambda arguments: result), Arguments(output=tmp_path / output))
        assert json.loads((tmp_path / file).read_text()) == result
    with pytest.raises(SystemExit, match=r"^benchmarks.sweep: .*result"):  # before anything is measured
        harness.run_command(command(pytest.fail), Arguments(output=tmp_path / "new/result.json/file"))


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


# -- games that have become slow --------------------------------------------------------------------------------------


def test_command_records_ratios_and_names_games_that_have_lost(
    tmp_path: Path, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run's ratios are made up: SMALL has lost half of its own in all attempts, OTHER in the first only."""
    monkeypatch.setattr(harness, "keep_to_one_core", lambda: None)  # this process runs the other tests too
    file = tmp_path / "regression.json"
    recorded = run_command(f"regression --file {file} --games '{OTHER}' --rounds 3 --length 8 --write")
    assert json.loads(file.read_text())["ratios"] == recorded["ratios"]

    file.write_text(json.dumps({"ratios": {SMALL: 2.0, OTHER: 1.0}}))
    ratios = iter([*[1.0] * regression.ATTEMPTS, 0.5, 0.8])
    monkeypatch.setattr(regression, "measure_ratio", lambda *_: next(ratios))
    monkeypatch.setattr(regression, "reference_loop", lambda length: lambda: sum(range(1000)))
    monkeypatch.setattr(loops, "rollout", lambda *_: pytest.fail)
    with pytest.raises(SystemExit, match=r"lost more than 25% .*: dots_and_boxes\(rows=2, cols=2\)$"):
        run_command(f"regression --file {file} --games '{SMALL}' '{OTHER}'")
    result = json.loads(capsys.readouterr().out)
    assert result["ratios"] == {SMALL: 1.0, OTHER: 0.8}
    assert next(ratios, None) is None  # every attempt was made, and no more


def test_ratio_is_the_median_over_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference takes 2 s, 3 s and 8 s of CPU time, the game 1 s each."""
    seconds = iter([2.0, 1.0, 3.0, 1.0, 8.0, 1.0])
    monkeypatch.setattr(regression, "cpu_seconds", lambda work: next(seconds))
    assert regression.measure_ratio(lambda: None, lambda: None, rounds=3) == 3.0
