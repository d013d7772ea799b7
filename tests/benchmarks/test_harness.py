"""The ground floor: figures, results on disk, progress, tables, and the end of a command with bad input."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from benchmarks import harness
from benchmarks.harness import BenchmarkArguments, Command


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


@pytest.mark.parametrize("error", [ValueError("rounds must be positive"), FileNotFoundError("no such file")])
def test_command_ends_with_the_message_when_its_input_is_refused(error: Exception) -> None:
    def measure(arguments: Any) -> dict[str, Any]:
        raise error

    with pytest.raises(SystemExit, match=f"^benchmarks.sweep: {error}$"):
        harness.run_command(command(measure), Arguments())


def test_command_fails_after_its_result_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^benchmarks.sweep: lost minichess$"):
        harness.run_command(command(lambda _: {"a": 1}, failure=lambda result: "lost minichess"), Arguments())
    assert capsys.readouterr().out == '{"a": 1}\n'


@pytest.mark.parametrize(
    ("words", "name", "env"),
    [
        ([], "first", Arguments.env),
        (["--env", "go"], "first", "go"),
        (["second", "--env", "go"], "second", "go"),
    ],
)
def test_word_of_the_command_line_names_the_command(
    words: list[str], name: str, env: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["file", *words])
    first = Command("file", Arguments, lambda arguments: {"first": arguments.env})
    harness.run(first, Command("file second", Arguments, lambda arguments: {"second": arguments.env}))
    assert json.loads(capsys.readouterr().out) == {name: env}


@pytest.mark.parametrize(
    ("devices", "message"), [(0, "devices must be positive, not 0"), (1000, "devices must be at most")]
)
def test_devices_that_jax_does_not_have_are_refused(devices: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        harness.provide_devices(devices)
