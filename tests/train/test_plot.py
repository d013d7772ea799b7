"""The command train.plot: the points of the curve, and the file it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import error_of, run_command
from tests.train.conftest import Runs
from train import agents, plot
from train.driver.run_folder import RunFolder

ROWS = [
    {"iteration": 1, "steps": 100, "win_rate": 0.0, "mean_turns": None},
    {"iteration": 2, "steps": 200},  # an iteration without an evaluation
    {"iteration": 3, "steps": 300, "win_rate": 0.5, "mean_turns": 12.5},
]


def test_curve_shows_the_evaluations_and_turns_only_where_games_were_won() -> None:
    figure = plot.draw([ROWS[0], ROWS[2]], "a title")
    left, right = figure.axes
    assert left.get_title() == "a title"
    assert left.lines[0].get_xydata().tolist() == [[100, 0], [300, 0.5]]  # pyright: ignore  # matplotlib is loosely typed
    assert right.lines[0].get_xydata().tolist() == [[300, 12.5]]  # pyright: ignore  # matplotlib is loosely typed


def test_picture_lies_in_the_folder_of_the_run_and_its_path_is_printed(
    untrained: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    run = RunFolder.create(folder, agents.open_run(untrained.first).learner)
    for row in ROWS:
        run.log({name: float("nan") if value is None else value for name, value in row.items()})
    run.close()
    run_command(plot.main, folder)
    assert capsys.readouterr().out.strip() == str(folder / "learning_curve.png")
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"win_rate": 0.5, "mean_turns": 3.0}, "iteration 4: steps must be a number, not 'nothing'"),
        ({"steps": 400, "win_rate": "x", "mean_turns": 3.0}, "iteration 4: win_rate must be a number, not 'x'"),
        ({"steps": 400, "win_rate": 0.5}, "iteration 4: mean_turns must be a number, not 'nothing'"),
    ],
)
def test_evaluation_without_a_number_is_named(
    row: dict[str, Any], message: str, untrained: Runs, tmp_path: Path
) -> None:
    config = (untrained.first / "config.json").read_text()
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "metrics.jsonl").write_text(json.dumps({"iteration": 4} | row) + "\n")
    assert f"{tmp_path / 'metrics.jsonl'}, {message}" in error_of(plot.main, tmp_path)


def test_run_without_evaluations_is_refused(untrained: Runs) -> None:
    assert "has no evaluations to draw: train with --evaluate-every" in error_of(plot.main, untrained.first)
