"""The table of the parameter-sharing experiment, on hand-made curves; and two iterations of the experiment itself."""

import json
from pathlib import Path

import numpy as np
import pytest

from examples.papers import parameter_sharing
from examples.papers.parameter_sharing import MEASURES, PAPER, Arguments, draw, finite, reached, table, train

STEPS = [4000 * (i + 1) for i in range(12)]


def result(*rates: list[float], turns: float | None = 20.0) -> dict[str, object]:
    return {"steps": STEPS, "win_rate": list(rates), "mean_turns": [[turns] * 12 for _ in rates]}


def medians(**curves: object) -> dict[str, float]:
    return {name: values[0] for name, values in reached(curves).items()}


def test_steps_are_those_of_the_first_evaluation_that_reaches_the_rate() -> None:
    found = medians(**result([0.5, 0.9, 0.8, 0.9, 0.9, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0]))
    assert [found[name] for name in MEASURES] == [8000, 16000, 32000, 20.0]


def test_five_in_a_row_need_five_evaluations_before_the_end() -> None:
    found = medians(**result([0.0] * 8 + [0.9] * 4))
    assert found["steps to 0.9"] == 36000
    assert found["steps to 0.9 five times"] == float("inf")
    assert medians(**result([0.0] * 7 + [0.9] * 5))["steps to 0.9 five times"] == 32000


def test_rate_that_is_never_reached_is_infinite_and_null_in_json() -> None:
    values = reached(result([0.0] * 12, turns=None))
    assert {name: finite(v) for name, v in values.items()} == {name: [None, None, None] for name in MEASURES}


def test_median_and_range_are_over_seeds() -> None:
    early, late, never = [1.0] * 12, [0.0] + [1.0] * 11, [0.0] * 12
    assert reached(result(early, late, never))["steps to 1.0"] == (8000, 4000, float("inf"))


def test_turns_average_the_last_ten_evaluations_that_won_a_game() -> None:
    curves = result([1.0] * 12)
    curves["mean_turns"] = [[100.0, 100.0, None, 10.0, 20.0, None, *[15.0] * 6]]
    assert reached(curves)["turns to win"][0] == pytest.approx((10 + 20 + 6 * 15) / 8)


def test_table_has_our_median_and_range_beside_the_paper() -> None:
    text = table({"shared": result([1.0] * 12, turns=30.0)})
    assert "| shared | steps to 0.9 | 4,000 (4,000-4,000) | 48,000 |" in text
    assert "| shared | turns to win | 30.0 (30.0-30.0) | 20.7 |" in text


def test_picture_has_a_dotted_line_of_the_paper_for_each_mode() -> None:
    never_won = result([0.0] * 12, turns=None)
    left, right = draw({"shared": result([1.0] * 12), "independent": never_won}).axes[:2]
    for axes in (left, right):
        assert sum(line.get_linestyle() == ":" for line in axes.get_lines()) == 2


@pytest.mark.slow  # compiles an iteration for two seeds at once
def test_two_iterations_of_two_seeds_give_their_curves(tmp_path: Path) -> None:
    curves = train(Arguments(tmp_path / "sweep", ("shared",), seeds=2, games=2, iterations=2))["shared"]
    assert curves["steps"] == [4000, 8000]
    for name in ("win_rate", "mean_turns"):
        assert np.shape(curves[name]) == (2, 2)


def test_every_mode_has_figures_of_the_paper() -> None:
    assert set(PAPER) == set(parameter_sharing.MODES)
    assert json.dumps(PAPER)
    assert all(len(figures) == len(MEASURES) for figures in PAPER.values())
