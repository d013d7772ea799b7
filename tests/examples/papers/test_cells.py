"""Cells in a file: lines that are whole are kept, and a line that is cut short is replaced."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.papers._cells import computed_once, store, stored


class Cell(NamedTuple):
    board: str
    games: int


FIRST, SECOND = Cell("3x3", 400), Cell("5x5", 400)


def test_unfinished_last_line_is_left_out_and_a_wrong_line_is_refused(tmp_path: Path) -> None:
    path, row = tmp_path / "cells.jsonl", json.dumps(FIRST._asdict() | {"win_rate": 0.5})
    assert stored(path, Cell) == {}
    path.write_text(f"{row}\n{row[:20]}")
    assert stored(path, Cell) == {FIRST: {"win_rate": 0.5}}
    path.write_text(f"{row}\n{{}}\n")
    with pytest.raises(ValueError, match=r"cells\.jsonl, line 2 is no cell: remove the line or the file"):
        stored(path, Cell)


def test_next_cell_replaces_an_unfinished_last_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "cells.jsonl"
    store(path, FIRST, {"win_rate": 0.5})
    path.write_text(path.read_text() + path.read_text()[:20])
    store(path, SECOND, {"win_rate": 0.75})
    assert stored(path, Cell) == {FIRST: {"win_rate": 0.5}, SECOND: {"win_rate": 0.75}}


def test_cell_is_computed_once_and_has_the_same_results_when_it_is_read(tmp_path: Path) -> None:
    path, calls = tmp_path / "cells.jsonl", list[str]()

    def compute(name: str) -> dict[str, object]:
        calls.append(name)
        return {"name": name, "interval": (0.25, 0.1 + 0.2), "games": 400}

    first = computed_once(path, FIRST, lambda: compute("first"))
    assert (
        computed_once(path, FIRST, lambda: compute("again"))
        == first
        == {"name": "first", "interval": [0.25, 0.1 + 0.2]}
    )
    assert computed_once(path, SECOND, lambda: compute("second"))["name"] == "second"
    assert calls == ["first", "second"]
