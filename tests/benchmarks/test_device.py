"""benchmarks.device: the rows of its parts, and what becomes of those that fail, that lack a package or the time."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from benchmarks import device, search
from benchmarks.device import Groups, Rows, Sizes, Task, attempt, compare, profile
from tests.benchmarks.conftest import RunCommand, blank_positions

BOXES = "dots_and_boxes(rows=1, cols=1)"  # 4 edges: a game has 4 steps
TINY = Sizes(
    games=(BOXES,),
    peers=("tic_tac_toe",),
    compared=(2, 5),
    checked=(2, 5),
    iterations=1,
    copied_bytes=4096,
    boards=(2,),
    steps=64,
    ppo_games=(BOXES,),
    ppo_boards=(4,),
    hidden_sizes=((5,),),
    searched=(BOXES,),
    searched_of_pgx=("tic_tac_toe",),
    simulations=(2,),
    roots=2,
)
TIMING = {"spread", "compile_seconds", "memory_bytes"}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "SHORT", TINY)


@pytest.mark.usefixtures("tiny")
def test_random_play_and_training_have_rows_with_their_figures(
    programs: str, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "PRECISIONS", {"bfloat16": device.PRECISIONS["bfloat16"]})
    file = tmp_path / "device.json"
    result = run_command(f"device --parts 'random play' ppo --budget 1000 --repeats 2 --output {file}")
    assert json.loads(file.read_text()) == result
    assert result["is_short"]
    copy, ours, pgx, trained = result["rows"]
    assert copy.keys() == {"part", "what", "bytes_per_second"} | TIMING
    play = {"part", "library", "game", "boards", "steps_per_second"} | TIMING
    assert ours.keys() == play | {"min_bytes", "of_copy"}
    assert ours["of_copy"] == pytest.approx(ours["min_bytes"] * ours["steps_per_second"] / copy["bytes_per_second"])
    assert (pgx["library"], pgx.keys()) == ("Pgx", play)
    assert trained.keys() == play - {"library"} | {"hidden_sizes", "precision"}


@pytest.mark.slow  # the searches are traced for seconds
@pytest.mark.usefixtures("tiny")
def test_searches_have_rows_with_their_figures(
    programs: str, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if programs == "traced":
        monkeypatch.setattr(search, "positions", blank_positions)
    rows = run_command(f"device --parts search --budget 1000 --repeats 2 --output {tmp_path}/device.json")["rows"]
    assert [row["library"] for row in rows] == ["jaxgames", "mctx", "Pgx + mctx"]
    assert all("simulations_per_second" in row for row in rows)


def test_replayed_games_are_equal_on_the_device() -> None:
    assert compare(BOXES, TINY)() == {"boards": 2, "steps": 5, "finished": 2, "different": []}


def test_part_of_a_game_that_differs_on_the_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(env: Any, boards: int, key: jax.Array, actions: jax.Array, replay: jax.Array) -> Any:
        same = {"random_action": actions, "random_legal_action": actions, "finished": actions[0] > 0}
        return same | {"mask": actions > 0, "state": {"edges": replay}}

    monkeypatch.setattr(device, "play_recorded", play)
    different = compare(BOXES, TINY)()["different"]
    assert different == ["['state']['edges']"]
    assert "something is wrong" in (device.failure({"rows": [{"different": different}]}) or "")


def test_trace_of_the_slowest_game_has_its_kernels() -> None:
    """The game of the row with the fewest steps per second is traced."""
    speeds = {"checkers": 2.0, BOXES: 1.0}
    rows: Rows = [
        {"library": "jaxgames", "game": game, "boards": 2, "steps_per_second": speed} for game, speed in speeds.items()
    ]
    ((task,),) = profile(TINY, 1, rows)
    assert task.labels == {"game": BOXES, "boards": 2}
    row = task.prepare()()
    shares = [kernel["share"] for kernel in row["kernels"]]
    assert shares == sorted(shares, reverse=True)
    assert 0 < sum(shares) <= 1.01  # each is rounded
    times = [kernel["microseconds_per_step"] for kernel in row["kernels"]]
    np.testing.assert_allclose(np.divide(times, row["microseconds_per_step"]), shares, atol=0.0006)  # 3 digits


def fails() -> Any:
    raise ValueError("no such form\nand more")


def lacks_pgx() -> Any:
    raise ModuleNotFoundError("No module named 'pgx'", name="pgx")


def test_failures_are_rows_and_do_not_stop_other_parts(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
        yield [Task({"what": "a"}, fails), Task({"what": "b"}, lacks_pgx), Task({"what": "c"}, lambda: fails)]

    def whole(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
        yield [Task({"what": "d"}, lambda: lambda: {"figure": len(rows)})]

    monkeypatch.setattr(device, "PARTS", {"broken": (broken, 0.5), "whole": (whole, 1.0)})
    file = tmp_path / "device.json"
    with pytest.raises(SystemExit, match=r"2 rows of the result say that something is wrong:\n.*what: a, error"):
        run_command(f"device --parts broken whole --output {file}")
    error = "ValueError: no such form"
    assert json.loads(file.read_text())["rows"] == [
        {"part": "broken", "what": "a", "error": error},
        {"part": "broken", "what": "b", "missing": "pgx"},
        {"part": "broken", "what": "c", "error": error},
        {"part": "whole", "what": "d", "figure": 3},
    ]


def test_groups_without_time_are_named_as_skipped(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Seconds pass only in the tasks: the second group of 4 does not fit into the 6 of its part, the next part does."""
    now = [0.0]
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def wait() -> Any:
        now[0] += 4
        return lambda: {"done": True}

    def part(sizes: Sizes, repeats: int, rows: Rows) -> Groups:
        for number in range(2):
            yield [Task({"group": number}, wait)]

    monkeypatch.setattr(device, "PARTS", {"a": (part, 0.6), "b": (part, 1.0)})
    result = run_command(f"device --parts a b --budget 10 --output {tmp_path}/device.json")
    assert [(row["part"], row["group"], row.get("skipped", False)) for row in result["rows"]] == [
        ("a", 0, False),
        ("a", 1, True),
        ("b", 0, False),
        ("b", 1, True),
    ]
    assert result["seconds"] == 8


def test_batch_that_does_not_fit_into_memory_is_no_failure() -> None:
    def run_out_of_memory() -> None:
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory")

    row = attempt(run_out_of_memory)[1]
    assert row == {"out_of_memory": True}
    assert device.failure({"rows": [row]}) is None


def test_error_without_a_text_has_its_type() -> None:
    def refuse() -> None:
        raise AssertionError

    assert attempt(refuse) == (None, {"error": "AssertionError: "})


@pytest.mark.slow  # PPO is compiled and learns; a solution is computed
@pytest.mark.usefixtures("tiny")
def test_rules_and_a_learner_are_checked_on_the_device(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "SHORT", TINY._replace(iterations=50))
    forms, contract, solved = run_command(f"device --parts forms --output {tmp_path}/device.json")["rows"]
    assert forms["different"] == []
    assert contract["steps"] == 5
    assert solved["weak_solved"]
