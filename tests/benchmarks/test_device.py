"""benchmarks.device: the rows of its parts, and what becomes of those that fail, that lack a package or the time."""

import json
from pathlib import Path
from typing import Any

import jax
import pytest

from benchmarks import device
from benchmarks.device import Groups, Rows, Sizes, Task, compare
from tests.benchmarks.conftest import RunCommand

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
