"""benchmarks.boxes_search measures the work that each improvement of the exact search saves."""

import json
from pathlib import Path

import pytest

from benchmarks import boxes_search, harness
from benchmarks.boxes_search import Arguments, factors_of, measure_boxes_search, nodes_by_formula, points_of


@pytest.fixture(autouse=True)
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled."""
    monkeypatch.setattr(boxes_search, "HAS_NUMBA", False)


def test_every_improvement_is_measured_on_every_board(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    arguments = Arguments(boards=("1x1", "1x2"), max_nodes=10_000, output=file)
    result = json.loads(json.dumps(measure_boxes_search(arguments)))
    rows = result["rows"]
    steps = ["naive", "table", "symmetries", "chains", "alphabeta", "centre_first", "corners"]
    assert [(row["board"], row["step"]) for row in rows] == [
        (board, step) for board in ("1x1", "1x2") for step in steps
    ]
    assert [row["value"] for row in rows] == [-1] * 7 + [None] + [0] * 6
    assert [row["keys"] for row in rows[8:]] == [127, 47, 30, 27, 13, 7]
    assert all(row["plain_seconds"] > 0 for row in rows if row["value"] is not None)
    assert json.loads(file.read_text())["rows"] == rows
    shown = capsys.readouterr().err
    assert "| 1 x 2 | naive |  |  | 13,700 |  | by the formula, not run |  |  |" in shown
    assert "| table | 30.51 | yes |" in shown
    picture = tmp_path / "boxes.svg"
    harness.save_picture(boxes_search.draw(rows), picture)
    assert "keys in the table" in picture.read_text()


def test_formulas_count_the_orders_and_the_moves_of_all_sets() -> None:
    assert [nodes_by_formula("naive", edges) for edges in (4, 7, 10)] == [65, 13_700, 9_864_101]
    assert nodes_by_formula("table", 24) == 201_326_593
    assert nodes_by_formula("symmetries", 24) is None


def test_larger_board_is_searched_in_two_windows_and_stops_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert [point.window for point in points_of("4x4")] == [(0, 1), (-1, 0)]
    assert [point.window for point in points_of("3x4")] == [None] * 7
    rows = measure_boxes_search(Arguments(boards=("4x4",), table_size=64, minutes=1e-9))["rows"]
    assert [row["value"] for row in rows] == [None, None]
    assert all(row["nodes"] > 0 and row["keys"] == 64 for row in rows)
    assert "stopped after" in capsys.readouterr().err


def test_factors_say_whether_an_improvement_halves_the_work() -> None:
    rows = [{"step": step, "nodes": nodes} for step, nodes in (("naive", 1000), ("table", 400), ("symmetries", 300))]
    assert factors_of(rows).splitlines()[2:] == ["| table | 2.50 | yes |", "| symmetries | 1.33 | no |"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (Arguments(boards=("2-2",)), "boards must be texts such as 2x3"),
        (Arguments(boards=()), "boards must not be empty"),
        (Arguments(boards=("0x2",)), "rows must be an integer from 1"),
        (Arguments(boards=("5x6",)), "at most 62 edges"),
        (Arguments(table_size=3), "table_size must be"),
        (Arguments(minutes=0), "minutes must be positive"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_boxes_search(arguments)
