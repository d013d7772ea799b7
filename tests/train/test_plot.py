"""The command train.plot: which runs are a line, what is a point of it, and the files that are written."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import arena
from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.toy_learner import ToyLearner
from tests.train.conftest import Runs
from train import agents, plot
from train.driver import stored_config
from train.driver.run_folder import RunFolder
from train.plot import By, Curve, chance_of, curves, open_runs

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
    (folder / "config.json").write_text(json.dumps(stored_config.to_json(learner)))
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


def test_seeds_without_a_common_x_have_no_line(tmp_path: Path) -> None:
    early = run_of(tmp_path / "early", rows_of({1: 0.0, 2: 1.0}), seed=0)
    late = run_of(tmp_path / "late", rows_of({3: 0.0, 4: 1.0}), seed=1)
    curve = one_curve(early, late)
    assert curve.x.size == 0
    plot.draw({"length": [curve]})


def test_run_without_the_column_has_an_empty_line(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / "a", ROWS, num_envs=2), run_of(tmp_path / "b", ROWS[1:2])]
    assert [line.x.size for line in curves(runs, ["win_rate"])["win_rate"]] == [2, 0]


def test_labels_are_the_settings_that_differ(tmp_path: Path) -> None:
    rows = rows_of({1: 0.0})
    settings: list[dict[str, Any]] = [
        {"learning_rate": 0.25, "sizes": (3, 2)},
        {"learning_rate": 1e-5, "sizes": (3, 2)},
        {"learning_rate": 0.25, "sizes": (4,)},
    ]
    runs = [run_of(tmp_path / f"{i}-{seed}", rows, seed=seed, **s) for i, s in enumerate(settings) for seed in (0, 1)]
    lines = curves(runs, ["length"])["length"]
    assert [line.label for line in lines] == [
        "learning_rate=0.25, sizes=3,2",
        "learning_rate=1e-05, sizes=3,2",
        "learning_rate=0.25, sizes=4",
    ]
    assert [line.values.shape for line in lines] == [(2, 1)] * 3


# -- the picture ---------------------------------------------------------------------------------------------------


def curve(label: str, x: Sequence[float], *values: Sequence[float]) -> Curve:
    return Curve(label, np.array(x, np.float64), np.array(values, np.float64))


def test_panel_shows_the_median_of_the_seeds() -> None:
    seeds = curve("a=1", [1, 2], [0, 5], [2, 4], [9, 3])
    figure: Any = plot.draw({"length": [seeds, curve("a=2", [1, 2], [7, 7])], "other": [curve("", [], [])] * 2})
    panel, _ = figure.axes
    assert [line.get_xydata().tolist() for line in panel.lines] == [[[1, 2], [2, 4]], [[1, 7], [2, 7]]]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [label.partition(",")[0] for label in labels] == ["a=1", "a=2"]


@pytest.mark.parametrize(
    ("last", "x_scale", "scale"),
    [(100, "auto", "linear"), (101, "auto", "log"), (100, "log", "log")],
)
def test_x_axis_is_logarithmic_on_request_or_over_a_hundredfold_range(
    last: float, x_scale: plot.Scale, scale: str
) -> None:
    figure: Any = plot.draw({"length": [curve("", [1, last], [0, 1])]}, x_scale=x_scale)
    assert figure.axes[0].get_xscale() == scale
    assert figure.legends == []


def test_rates_of_one_run_have_intervals_and_rates_of_seeds_have_not(tmp_path: Path) -> None:
    rows = [row | GAMES if "win_rate" in row else row for row in ROWS]
    runs = [run_of(tmp_path / str(seed), rows, seed=seed) for seed in (0, 1)]
    interval = one_curve(runs[0], column="win_rate").interval
    assert interval is not None
    assert interval.T.tolist() == [list(arena.wilson(wins, 100)) for wins in (0, 50)]
    assert one_curve(runs[0], column="mean_turns").interval is None
    assert one_curve(*runs, column="win_rate").interval is None
    assert one_curve(run_of(tmp_path / "unknown", ROWS), column="win_rate").interval is None


def test_picture_says_against_whom_and_where_chance_lies(tmp_path: Path) -> None:
    rows = [row | GAMES if "win_rate" in row else row for row in ROWS]
    run = run_of(tmp_path / "run", rows)
    columns = curves([run], ["win_rate"])
    assert plot.title_of([run], columns) == "sticks\neach point: 100 games against greedy; band: 95 % interval"
    figure: Any = plot.draw(columns, chance=chance_of([run]))
    (panel,) = figure.axes
    assert panel.lines[-1].get_ydata()[0] == 1 / run.learner.env.num_players


# -- the command ---------------------------------------------------------------------------------------------------


def test_picture_of_a_run_lies_in_its_folder(
    untrained: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    run = RunFolder.create(folder, agents.open_run(untrained.first).learner)
    for row in ROWS:
        run.log({name: math.nan if value is None else value for name, value in row.items()})
    run.close()
    assert run_command(plot.main, folder) is None
    png, svg = folder / "learning_curve.png", folder / "learning_curve.svg"
    assert last_json(capsys) == [str(png), str(svg)]
    assert png.read_bytes().startswith(b"\x89PNG")
    before = svg.read_bytes()
    assert b"<svg" in before
    run_command(plot.main, folder)
    assert svg.read_bytes() == before  # no dates, no random names


@pytest.fixture
def ppo_config(untrained: Runs) -> str:
    return (untrained.first / "config.json").read_text()


def test_folder_of_a_sweep_stands_for_its_runs(
    ppo_config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for gamma in ("0.3", "0.5"):
        for seed in ("0", "1"):
            folder = tmp_path / "sweep" / f"gamma={gamma}" / f"seed={seed}"
            folder.mkdir(parents=True)
            settings = json.loads(ppo_config)
            settings["settings"] |= {"gamma": float(gamma), "seed": int(seed)}
            (folder / "config.json").write_text(json.dumps(settings))
            (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[: 1 + 2 * int(seed)]))
    sweep = tmp_path / "sweep"
    runs = open_runs([sweep, sweep / "gamma=0.3", sweep / "gamma=0.3" / "seed=0"])
    assert [str(run.folder.relative_to(sweep)) for run in runs] == [
        *("gamma=0.3/seed=0", "gamma=0.3/seed=1", "gamma=0.5/seed=0", "gamma=0.5/seed=1")
    ]
    lines = curves(runs, ["win_rate"])["win_rate"]
    assert [(line.label, line.values.shape[0]) for line in lines] == [("gamma=0.3", 2), ("gamma=0.5", 2)]
    run_command(plot.main, sweep, "--columns", "win_rate", "--output", tmp_path / "new" / "gamma=0.3.svg")
    files = [tmp_path / "new" / f"gamma=0.3{ending}" for ending in (".png", ".svg")]
    assert last_json(capsys) == [str(path) for path in files if path.exists()]


FIRST = ROWS[0]


@pytest.mark.parametrize(
    ("rows", "arguments", "names"),
    [
        ([FIRST], ["--columns", "win_rat"], ["'win_rat'", "steps, seconds, win_rate"]),
        ([FIRST], ["--output", "curve.pdf"], ["output", ".png or .svg"]),
        ([FIRST], ["RUN"], ["2 folders", "--output"]),
        ([], [], ["no metrics yet"]),
        (ROWS[1:2], [], ["win_rate", "--evaluate-every"]),
        ([FIRST, {"win_rate": 0.5}], [], ["metrics.jsonl, iteration 4", "steps", "number", "None"]),
        ([FIRST, {"steps": 400, "win_rate": "x"}], [], ["iteration 4", "win_rate", "number", "'x'"]),
        ([FIRST, {"steps": 100, "win_rate": 0.5}], [], ["iteration 4", "steps", "more than 100"]),
        ([FIRST, ["x"]], [], ["line 2 is not a row of metrics"]),
    ],
)
def test_wrong_input_is_named(
    rows: list[Any], arguments: list[str], names: list[str], ppo_config: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(ppo_config)
    lines = [row | {"iteration": 4, "mean_turns": 3.0} if isinstance(row, dict) else row for row in rows]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    message = error_of(plot.main, tmp_path, *(str(tmp_path) if word == "RUN" else word for word in arguments))
    assert [name for name in names if name not in message] == [], message
