"""Verdicts of judges on moves."""

from pathlib import Path

import pytest

from examples.papers.solution_strength.judged import Arguments, report
from tests.helpers.solved import solved_diamond

GAME = "chinese_checkers_diamond(size=3, pieces=3)"


@pytest.mark.slow
def test_judge_that_knows_the_solution_makes_no_errors(tmp_path: Path) -> None:
    file = tmp_path / "33.npz"
    solved_diamond(3, 3).save(file)
    arguments = Arguments(
        output=tmp_path, env=GAME, solution=file, agents=("first",), judges=(f"solver({file})",), positions=200
    )
    (row,) = report(arguments).result["rows"]
    assert (row["wrongly_bad"], row["wrongly_good"], row["judge_good"]) == (0, 0, 1)
    assert 0 < row["judged_good"] == row["good"] < 1


def test_judge_without_values_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "33.npz"
    solved_diamond(3, 3).save(file)
    arguments = Arguments(output=tmp_path, env=GAME, solution=file, judges=("greedy",), positions=20)
    with pytest.raises(ValueError, match="greedy has no values"):
        report(arguments)
