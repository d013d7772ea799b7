"""Every command prints a line of JSON with its rows, and refuses wrong input before it measures."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import jax
import pytest

from benchmarks import compiled, device, envs, harness, solvers, training
from benchmarks.device import Groups, Rows, Sizes, Task, compare
from tests.benchmarks.conftest import RunCommand
from train.alphazero import AlphaZero
from train.alphazero import Config as AlphaZeroConfig
from train.ppo import PPO, Config

BOX = "dots_and_boxes(rows=1, cols=1)"  # 4 edges: a game has 4 steps
BOXES = f"'{BOX}'"
TINY = Config(env=BOX, num_envs=2, rollout_length=8, update_epochs=1, num_minibatches=2, hidden_sizes=(5,))
OF_SEARCH: dict[str, Any] = {"simulations": 2, "num_updates": 1, "minibatch_size": 4, "replay_size": 64}
TINY_SEARCH = AlphaZeroConfig(env=BOX, num_envs=2, rollout_length=8, hidden_sizes=(5,), **OF_SEARCH)
SEARCH = "--simulations 2 --slots 4 --batch 2 --curve-batch 2 --budget 2 --peer-slots 4 --hidden-sizes 5"
PEERS = "--boards 2 --rollout-length 2 --search-boards 2 --search-steps 2 --simulations 2 --rounds 1"

LINES = [  # with PICTURE for a file
    f"envs --games {BOXES} --batch-sizes 2 --steps 16 --repeats 2 --picture PICTURE",
    f"search --env {BOXES} --batch-sizes 2 {SEARCH} --repeats 1 --parts simulations --kernels --picture PICTURE",
    "solvers boxes --boards 1x1",
    f"training_peers --env {BOXES} --pgx-env tic_tac_toe {PEERS}",
    "training --games checkers --repeats 1 --picture PICTURE",
    "training --learner alphazero --games checkers --repeats 1",
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small networks and games, and solvers in plain Python."""

    monkeypatch.setattr(compiled, "described_device", lambda target: jax.devices()[0])  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(compiled, "check_package", lambda target: None)  # pyright: ignore[reportUnknownLambdaType]
    monkeypatch.setattr(solvers, "HAS_NUMBA", False)
    monkeypatch.setattr(envs, "config_for", lambda env: TINY)
    learners = {"ppo": PPO(TINY), "alphazero": AlphaZero(TINY_SEARCH)}
    monkeypatch.setattr(training, "learner_of", lambda name, game: learners[name])


def slow(line: str) -> Any:
    """A command line, marked as slow where it compiles for seconds."""
    is_slow = line.startswith(("training", "envs", "search"))
    return pytest.param(line, marks=pytest.mark.slow) if is_slow else line


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("line", [*map(slow, LINES)])
def test_command_prints_its_rows_and_draws_its_picture(line: str, run_command: RunCommand, tmp_path: Path) -> None:
    result = run_command(line.replace("PICTURE", str(tmp_path / "picture.svg")))
    assert result["rows"]
    assert result.keys() >= {"date", "jaxgames", "jax", "python", "devices", "processor", "cores"}
    pictures = [file.read_text() for file in tmp_path.rglob("*.svg") if file.is_file()]
    assert len(pictures) == ("PICTURE" in line)
    assert all(row["kernels"] > 0 for row in result["rows"] if "--kernels" in line)
    assert all("<svg" in picture for picture in pictures)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("peers adapters --published no/such/folder", ("published must be a folder",)),
        ("compiled --target h100", ("target must be among h200, v5e, v6e, not h100",)),
        ("compiled --write --check", ("type one of them",)),
        ("compiled --check --target h200 'dots_and_boxes(rows=1)'", ("has no row of h200, dots_and_boxes(rows=1)",)),
        ("regression --games 'dots_and_boxes(rows=7)'", ("regression.json has checkers", "renew it with --write")),
        ("regression --games minichess --write", ("would lose", "write all games, or another --file")),
        ("search --parts peer --picture x.svg", ("picture needs the part simulations",)),
        ("search --env 'chinese_checkers(num_players=3)'", ("zero-sum game of two seats",)),
        ("solvers boxes --boards 2-2", ("boards must be texts such as 2x3",)),
        ("envs --columns step --picture x.svg", ("picture needs the column random play",)),
        ("training --games checkers chess", ("the games are",)),
    ],
)
def test_wrong_input_is_refused_before_anything_is_measured(
    line: str, words: tuple[str, ...], run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "keep_to_one_core", lambda: None)
    monkeypatch.setattr(harness, "time_program", pytest.fail)
    monkeypatch.setattr(compiled, "measure_row", pytest.fail)
    with pytest.raises(SystemExit) as caught:
        run_command(line)
    message = str(caught.value)
    assert message.startswith(f"benchmarks.{line.split()[0]}")
    assert all(word in message for word in words), message


# -- one GPU ---------------------------------------------------------------------------------------------------------

SIZES = device.SHORT._replace(games=(BOX,), ppo_games=(BOX,), searched=(BOX,), compared=(2, 5), checked=(2, 5))


def test_speed_of_random_play_is_a_share_of_the_speed_of_a_copy() -> None:
    """A step of one box reads and writes a state of 19 bytes, and writes 27 bytes of observation and 4 of mask."""
    row = device.play("jaxgames", BOX, boards=2, steps=64, repeats=1, copy=1e6).prepare()()
    assert row["min_bytes"] == 2 * 19 + 27 + 4
    assert row["of_copy"] == pytest.approx(row["min_bytes"] * row["steps_per_second"] / 1e6)


@pytest.mark.slow  # compiles a game, another of Pgx, and PPO, which learns a solved board
def test_device_is_checked_and_measured(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(device, "SHORT", SIZES)
    monkeypatch.setattr(device, "PRECISIONS", {"bfloat16": device.PRECISIONS["bfloat16"]})
    file = tmp_path / "device.json"
    result = run_command(f"device --parts forms 'random play' ppo --budget 1000 --repeats 2 --output {file}")
    assert json.loads(file.read_text()) == result
    assert result["is_short"]
    forms, contract, solved, copy, ours, pgx, trained = result["rows"]
    assert (forms["different"], contract["steps"]) == ([], 5)
    assert solved["strong_action"] > 0.85
    assert ours["of_copy"] == pytest.approx(ours["min_bytes"] * ours["steps_per_second"] / copy["bytes_per_second"])
    assert (pgx["library"], trained["precision"]) == ("Pgx", "bfloat16")
    assert min(pgx["steps_per_second"], trained["steps_per_second"]) > 0


def test_part_of_a_game_that_differs_on_the_device_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compare(BOX, SIZES)() == {"boards": 2, "steps": 5, "finished": 2, "different": []}

    def play(env: Any, boards: int, key: jax.Array, actions: jax.Array, replay: jax.Array) -> Any:
        same = {"random_action": actions, "random_legal_action": actions, "finished": actions[0] > 0}
        return same | {"mask": actions > 0, "state": {"edges": replay}}

    monkeypatch.setattr(device, "play_recorded", play)
    different = compare(BOX, SIZES)()["different"]
    assert different == ["['state']['edges']"]
    assert "something is wrong" in (device.failure({"rows": [{"different": different}]}) or "")


def test_failures_are_rows_and_do_not_stop_other_parts(
    run_command: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lacks_pgx = Mock(side_effect=ModuleNotFoundError("No module named 'pgx'", name="pgx"))
    fails = Mock(side_effect=ValueError("no such form\nand more"))

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
