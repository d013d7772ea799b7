"""The lines of a run on standard error."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import last_json, run_command
from train.driver.messages import format_row
from train.driver.metrics import to_floats

CONFIG = toy_learner.Config(total_steps=40)
EVALUATED: dict[str, Any] = {
    "steps": 20,
    "steps_per_second": 4.0,
    "win_rate": 0.46,
    "mean_turns": 4.89,
    "evaluation_games": 100,
    "evaluation_opponent": "greedy",
}


def test_line_has_the_opponent_the_games_and_the_interval() -> None:
    line = format_row(EVALUATED, CONFIG, shown=("win_rate",))
    assert line.split("   ")[-5:] == [
        "won 46 of 100 against greedy (37-56 %)",
        "4.9 turns to win",
        "win_rate 0.4600",
        "4 steps/s",
        "5 s left",
    ]
    without_a_win = EVALUATED | {"win_rate": 0.0, "mean_turns": math.nan}
    assert "won 0 of 100 against greedy (0-4 %)   4 steps/s" in format_row(without_a_win, CONFIG, shown=["mean_turns"])


def test_line_of_many_runs_has_their_mean_and_all_of_their_games() -> None:
    rates = np.array([0.5, 0.25, 0.75])
    of_runs = EVALUATED | {"win_rate": rates, "draw_rate": rates / 2}
    line = format_row(of_runs, CONFIG, num_runs=3)
    assert "   won 150, drawn 75 of 300 against greedy (44-56 %)   4.9 turns" in line


def test_line_has_draws_and_the_next_opponent() -> None:
    row = EVALUATED | {"win_rate": 0.96, "draw_rate": 0.03, "evaluation_opponent": "random"}
    row |= {"win_rate/greedy": 0.41, "draw_rate/greedy": 0.37}
    assert format_row(row, CONFIG).split("   ")[-5:-3] == [
        "won 96, drawn 3 of 100 against random (90-98 %)",
        "won 41, drawn 37 of 100 against greedy (32-51 %)",
    ]


def test_finished_run_ends_with_commands_that_continue_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my run"
    assert run_command(toy_learner.main, "--run-dir", folder, "--evaluate-every", 0) == 0
    module = "--import tests.helpers.toy_learner"
    commands = f"next: python -m train.match '{folder}' greedy {module}; python -m train.play '{folder}' {module}\n"
    assert commands in capsys.readouterr().err


@pytest.mark.parametrize("total_steps", [9, 12])
def test_run_says_what_it_will_do(total_steps: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--evaluate-every", 1, "--evaluation-games", 4, "--total-steps", total_steps)
    assert run_command(toy_learner.main, "--run-dir", tmp_path / "run", *options) == 0
    printed = capsys.readouterr()
    rounded = "total_steps 9 is rounded up to whole iterations: 12 steps\n" in printed.err
    assert rounded == (total_steps == 9)
    assert "evaluations: 4 games against random, on one of " in printed.err
    assert "seats, drawn for each game; equal players win " in printed.err
    assert " of 4 against random (" in printed.err


def test_result_names_the_opponent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(toy_learner.main, "--run-dir", tmp_path / "run", "--evaluation-games", 4) == 0
    result = last_json(capsys)
    assert (result["evaluation_opponent"], result["evaluation_games"]) == ("random", 4)


def test_metrics_in_single_precision_have_six_digits_and_whole_numbers_are_exact() -> None:
    metrics = {"rate": np.float32(0.67), "games": np.float32(2_000_001), "runs": np.array([0.1, np.nan], np.float32)}
    numbers = to_floats(metrics)
    assert (numbers["rate"], numbers["games"], numbers["runs"][0]) == (0.67, 2_000_001, 0.1)
    assert np.isnan(numbers["runs"][1])
    assert to_floats({"exact": np.float64(1 / 3)})["exact"] == 1 / 3
