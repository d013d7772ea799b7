"""The command train.plot: which runs are a line, what is a point of it, and the files that are written."""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import arena
from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.toy_learner import ToyLearner
from train import plot
from train.driver.learner import to_json
from train.driver.run_folder import RunFolder
from train.plot import By, Curve, curves, open_runs

ROWS = [
    {"iteration": 1, "steps": 100, "seconds": 2.5, "win_rate": 0.0, "mean_turns": None},
    {"iteration": 2, "steps": 200, "seconds": 5.0},  # an iteration without an evaluation
    {"iteration": 3, "steps": 300, "seconds": 7.0, "win_rate": 0.5, "mean_turns": 12.5},
]
GAMES = {"evaluation_games": 100, "evaluation_opponent": "greedy"}


def run_of(folder: Path, rows: Sequence[Mapping[str, Any]], **settings: Any) -> RunFolder:
    """A run with these settings and metrics."""
    folder.mkdir(parents=True)
    learner = ToyLearner(toy_learner.Config(**settings))
    (folder / "config.json").write_text(json.dumps(to_json(learner)))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RunFolder(folder, learner)


def rows_of(numbers: Mapping[int, float | None]) -> list[dict[str, Any]]:
    """Rows whose column "length" has these values, by steps."""
    return [{"iteration": step, "steps": step, "length": value} for step, value in numbers.items()]


def one_curve(*runs: RunFolder, column: str = "length", by: By = "steps") -> Curve:
    (curve,) = curves(runs, [column], by)[column]
    return curve


@pytest.mark.parametrize(("by", "x"), [("steps", [100, 300]), ("seconds", [2.5, 7.0]), ("iterations", [1, 3])])
def test_line_has_the_rows_with_a_number_by_each_x(by: By, x: list[float], tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", ROWS)
    curve = one_curve(run, column="win_rate", by=by)
    assert (curve.x.tolist(), curve.values.tolist(), curve.label) == (x, [[0, 0.5]], "")
    assert one_curve(run, column="mean_turns", by=by).x.tolist() == x[1:]  # null where no game was won


def test_seeds_with_other_x_are_interpolated_where_all_have_values(tmp_path: Path) -> None:
    """Between 2, where the later seed begins, and 4, where the shorter one ends."""
    long = run_of(tmp_path / "long", rows_of({1: 0.0, 2: 10.0, 4: 30.0, 5: 99.0}), seed=0)
    short = run_of(tmp_path / "short", rows_of({1: None, 2: 1.0, 3: 2.0, 4: 3.0}), seed=1)
    curve = one_curve(long, short)
    assert curve.x.tolist() == [2, 3, 4]
    assert curve.values.tolist() == [[10, 20, 30], [1, 2, 3]]


def test_line_is_empty_without_the_column_or_a_common_x(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "a", ROWS, num_envs=2), run_of(tmp_path / "b", ROWS[1:2])]
    assert [line.x.size for line in curves(runs, ["win_rate"])["win_rate"]] == [2, 0]
    early = run_of(tmp_path / "early", rows_of({1: 0.0, 2: 1.0}), seed=0)
    late = run_of(tmp_path / "late", rows_of({3: 0.0, 4: 1.0}), seed=1)
    curve = one_curve(early, late)
    assert curve.x.size == 0
    plot.draw({"length": [curve]})


def test_rates_of_one_run_have_intervals_and_rates_of_seeds_have_not(tmp_path: Path) -> None:
    rows = [row | GAMES if "win_rate" in row else row for row in ROWS]
    runs = [run_of(tmp_path / str(seed), rows, seed=seed) for seed in (0, 1)]
    interval = one_curve(runs[0], column="win_rate").interval
    assert interval is not None
    assert interval.T.tolist() == [list(arena.wilson(wins, 100)) for wins in (0, 50)]
    assert one_curve(runs[0], column="mean_turns").interval is None
    assert one_curve(*runs, column="win_rate").interval is None
    assert one_curve(run_of(tmp_path / "unknown", ROWS), column="win_rate").interval is None


def test_chance_is_known_where_no_game_is_drawn(tmp_path: Path) -> None:
    run, drawn = run_of(tmp_path / "run", ROWS), run_of(tmp_path / "drawn", [ROWS[0] | {"draw_rate": 0.1}])
    assert plot.chance_of([run]) == Fraction(1, run.learner.env.num_players)
    assert plot.chance_of([run, drawn]) is None


def test_panel_has_the_median_of_the_seeds_and_equal_players_on_a_logarithmic_axis(tmp_path: Path) -> None:
    rows = {rate: [{"iteration": step, "steps": step, "win_rate": rate} for step in (1, 10**6)] for rate in (0, 0.2, 1)}
    runs = [run_of(tmp_path / str(seed), rows[rate], seed=seed) for seed, rate in enumerate(rows)]
    (panel,) = plot.draw(curves(runs, ["win_rate"]), chance=Fraction(1, 4)).axes
    assert [np.asarray(line.get_ydata()).tolist() for line in panel.lines] == [[0.2, 0.2], [0.25, 0.25]]
    assert panel.get_xscale() == "log"


# -- the command ---------------------------------------------------------------------------------------------------


def test_picture_of_a_run_lies_in_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run_of(tmp_path / "run", ROWS).folder
    png, svg = folder / "learning_curve.png", folder / "learning_curve.svg"
    pictures: list[bytes] = []
    for _ in range(2):
        assert run_command(plot.main, folder) is None
        assert last_json(capsys) == [str(png), str(svg)]
        assert png.read_bytes().startswith(b"\x89PNG")
        pictures.append(svg.read_bytes())
    assert b"<svg" in pictures[0] == pictures[1]  # no dates, no random names


def test_folder_of_a_sweep_stands_for_its_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep, names = tmp_path / "sweep", [f"rate={rate}/seed={seed}" for rate in (0.3, 0.5) for seed in (0, 1)]
    for name in names:
        rate, seed = float(name[5:8]), int(name[-1])
        run_of(sweep / name, ROWS[: 1 + 2 * seed], learning_rate=rate, seed=seed)
    runs = open_runs([sweep, sweep / "rate=0.3", sweep / names[0]])
    assert [str(run.folder.relative_to(sweep)) for run in runs] == names
    lines = curves(runs, ["win_rate"])["win_rate"]
    assert [(line.label, len(line.values)) for line in lines] == [("learning_rate=0.3", 2), ("learning_rate=0.5", 2)]
    run_command(plot.main, sweep, "--columns", "win_rate", "--output", tmp_path / "new" / "rate=0.3.svg")
    files = [tmp_path / "new" / f"rate=0.3{ending}" for ending in (".png", ".svg")]
    assert last_json(capsys) == [str(path) for path in files if path.exists()]


FIRST = ROWS[0]


@pytest.mark.parametrize(
    ("rows", "arguments", "needles"),
    [
        ([FIRST], ["--columns", "win_rat"], ["'win_rat'", "steps, seconds, win_rate"]),
        ([FIRST], ["--output", "curve.pdf"], ["output", ".png or .svg"]),
        ([FIRST], ["RUN"], ["2 folders", "--output"]),
        ([], [], ["no metrics yet"]),
        (ROWS[1:2], [], ["win_rate", "--evaluate-every"]),
        ([FIRST, {"steps": 400, "win_rate": "x"}], [], ["metrics.jsonl, iteration 4", "win_rate", "number", "'x'"]),
        ([FIRST, {"steps": 100, "win_rate": 0.5}], [], ["iteration 4", "steps", "more than 100"]),
        ([FIRST, ["x"]], [], ["line 2 is not a row of metrics"]),
    ],
)
def test_wrong_input_is_named(rows: list[Any], arguments: list[str], needles: list[str], tmp_path: Path) -> None:
    lines = [row | {"iteration": 4, "mean_turns": 3.0} if isinstance(row, dict) else row for row in rows]
    folder = run_of(tmp_path / "run", lines).folder
    message = error_of(plot.main, folder, *(word.replace("RUN", str(folder)) for word in arguments))
    assert [needle for needle in needles if needle not in message] == [], message
