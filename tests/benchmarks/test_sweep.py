"""benchmarks.sweep measures every point and draws both pictures."""

import json
from pathlib import Path

import pytest

import jaxgames
from benchmarks import sweep
from benchmarks.harness import save_picture
from benchmarks.sweep import Arguments, draw_by_batch, draw_by_cells, fit, measure_sweep, star_cells


@pytest.mark.slow  # traces for seconds; test_throughput.py has a whole command that is fast
@pytest.mark.usefixtures("programs")
def test_every_point_is_measured_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sweep, "GAMES", {"small": "dots_and_boxes(rows=1, cols=1)"})
    monkeypatch.setattr(sweep, "STAR", "chinese_checkers(size={}, num_players=2, max_rounds=3)")
    sizes = ["--games", "small", "--batch-sizes", "1", "4", "--sizes", "1", "2", "--boards", "1", "2", "--steps", "1"]
    monkeypatch.setattr("sys.argv", ["sweep", *sizes, "--repeats", "1", "--pictures", str(tmp_path / "pictures")])
    sweep.main()
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert [(row["game"], row["boards"]) for row in result["by_batch"]] == [("small", 1), ("small", 4)]
    points = [(row["boards"], row["size"], row["cells"]) for row in result["by_size"]]
    assert points == [(1, 1, 13), (1, 2, 37), (2, 1, 13), (2, 2, 37)]
    assert [line["boards"] for line in result["fits"]] == [1, 2]
    assert all(row["steps_per_second"] > 0 for row in result["by_batch"] + result["by_size"])
    assert {"date", "jax", "processor", "devices_used"} <= result.keys()
    for name in ("throughput_by_batch.svg", "step_by_cells.svg"):
        assert "<svg" in (tmp_path / "pictures" / name).read_text()


def test_pictures_of_the_same_data_are_the_same_bytes(tmp_path: Path) -> None:
    rows = [{"boards": 1, "size": n, "cells": star_cells(n), "microseconds": n / 10} for n in (2, 3)]
    fits = [fit(1, rows)]
    batches = [{"game": "checkers", "boards": n, "steps_per_second": 1e6} for n in (1, 4)]
    for name in ("first", "second"):
        save_picture(draw_by_cells(rows, fits), tmp_path / f"{name}_cells.svg")
        save_picture(draw_by_batch(batches), tmp_path / f"{name}_batch.svg")
    for kind in ("cells", "batch"):
        assert (tmp_path / f"first_{kind}.svg").read_bytes() == (tmp_path / f"second_{kind}.svg").read_bytes()


def test_fit_of_points_on_a_line_is_that_line() -> None:
    line = fit(64, [{"cells": cells, "microseconds": 0.5 + 0.01 * cells} for cells in (37, 73, 121)])
    assert line == pytest.approx({"boards": 64, "microseconds_per_cell": 0.01, "microseconds_at_zero": 0.5})


@pytest.mark.parametrize("size", range(1, 9))
def test_star_has_as_many_cells_as_the_game(size: int) -> None:
    assert 6 * star_cells(size) + 1 == jaxgames.make("chinese_checkers", size=size).num_actions


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(games=("chess",)), "games must be among checkers; .*not chess"),
        (Arguments(batch_sizes=(0,)), "must be positive"),
        (Arguments(boards=()), "must each name at least one"),
        (Arguments(sizes=(2,)), "two or more different ones from 1 to 8"),
        (Arguments(sizes=(2, 9)), "two or more different ones from 1 to 8"),
        (Arguments(devices=0), "devices must be positive"),
        (Arguments(devices=2, one_core=True), "one core is one device"),
    ],
)
def test_bad_input_is_refused_with_the_allowed_values(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_sweep(arguments)
