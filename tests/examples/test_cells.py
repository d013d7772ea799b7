"""Cells in a file: lines that are whole are kept, and a line that is cut short is replaced."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from examples.cells import store, stored


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
