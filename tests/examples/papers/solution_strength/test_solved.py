"""The table of solved diamonds."""

from pathlib import Path

import pytest

from examples.papers.solution_strength.solved import Arguments, facts_of, report
from tests.helpers.solved import solved_boxes, solved_diamond


def test_row_has_the_value_of_the_start_and_the_checksum(tmp_path: Path) -> None:
    file = tmp_path / "33.npz"
    solved_diamond(3, 3).save(file)
    text = report(Arguments(solutions=(file,), output=tmp_path)).tables
    assert "| n = 3, k = 3 | 1,680 | 720 | 580 | 0 | 380 | 7 | won in 7 | 2 of 6 |" in text
    assert solved_diamond(3, 3).facts()["sha256"] in text


def test_solution_of_another_game_is_an_error(tmp_path: Path) -> None:
    solved_boxes(1, 2).save(tmp_path / "boxes.npz")
    with pytest.raises(ValueError, match="expected a solution of chinese_checkers_diamond"):
        facts_of(tmp_path / "boxes.npz")
