"""The command train.evaluate: what it prints and what it refuses."""

from pathlib import Path

import pytest

from tests.helpers.commands import error_of, last_json, run_command
from tests.train.conftest import Runs
from train import evaluate


def test_evaluate_prints_its_results_as_json(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(evaluate.main, untrained.first, "--opponents", "random", "--games", 200)
    result = last_json(capsys)
    assert [*result] == ["games", "win_rate", "draw_rate", "truncated_rate", "mean_turns", "mean_reward"]
    assert result["games"] == 200
    assert abs(result["win_rate"] - (1 - result["draw_rate"]) / 2) < 0.18  # untrained, it is as good as a random player
    assert result["draw_rate"] > 0
    assert result["truncated_rate"] == 0


def test_same_seed_gives_the_same_games(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (1, 1, 2):
        run_command(evaluate.main, untrained.first, "--games", 200, "--seed", seed)
    first, again, other = capsys.readouterr().out.splitlines()
    assert first == again != other


def test_opponents_can_be_another_run(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(evaluate.main, untrained.first, "--opponents", untrained.second, "--games", 20)
    assert last_json(capsys)["games"] == 20


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--games", 0, "games must be from 1 to 10000000, not 0"),
        ("--games", 10**11, "games must be from 1 to 10000000, not 100000000000"),
        ("--seed", 2**70, "seed must be from 0 to 4294967295"),
        ("--temperature", -1, "temperature must be 0 or more, not -1"),
        ("--seat", 2, "seat must be from 0 to 1, not 2"),
        ("--seat", -1, "seat must be from 0 to 1, not -1"),
        ("--opponents", "nobody", "nobody holds no run"),
    ],
)
def test_evaluate_refuses_a_wrong_value(option: str, value: object, message: str, untrained: Runs) -> None:
    error = error_of(evaluate.main, untrained.first, option, value)
    assert error.startswith("train.evaluate: ")
    assert message in error


def test_folder_without_a_run_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    assert f"{missing} holds no run" in error_of(evaluate.main, missing)
    assert not missing.exists()


def test_run_without_a_checkpoint_is_named(untrained: Runs) -> None:
    assert f"{untrained.other_game} has no checkpoint yet" in error_of(evaluate.main, untrained.other_game)


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(evaluate.main, "--help") == 0
    assert "--opponents" in capsys.readouterr().out
