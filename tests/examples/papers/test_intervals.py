"""Bootstrap intervals, the permutation test and the band of a picture, on numbers whose answers are known."""

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from examples.papers._intervals import Interval, difference, draw_band, exact_p, format_interval, interval

INFINITY = float("inf")


def test_interval_of_equal_runs_is_a_point() -> None:
    assert interval([5.0, 5.0, 5.0]) == (5, 5, 5)
    assert difference([5.0, 5.0], [3.0, 3.0]) == (2, 2, 2)


def test_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    runs = np.random.default_rng(0).normal(10, 3, 400)
    found = interval(runs.tolist(), np.mean)
    half_width = 1.96 * runs.std() / math.sqrt(runs.size)
    assert found.value == pytest.approx(runs.mean())
    assert found.low == pytest.approx(runs.mean() - half_width, abs=0.03)
    assert found.high == pytest.approx(runs.mean() + half_width, abs=0.03)


def test_interval_of_a_difference_of_means_is_that_of_the_normal_distribution() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.normal(1, 3, 400), generator.normal(0, 3, 400)
    found = difference(first.tolist(), second.tolist(), np.mean)
    half_width = 1.96 * math.sqrt((first.var() + second.var()) / 400)
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert found.low == pytest.approx(found.value - half_width, abs=0.04)
    assert found.high == pytest.approx(found.value + half_width, abs=0.04)


def test_median_with_a_run_that_never_reached_the_rate_has_an_open_end() -> None:
    found = interval([1.0, 2.0, INFINITY])
    assert found == (2, 1, INFINITY)
    assert format_interval(found) == "2.0 (1.0 to never)"


def test_difference_of_two_rates_that_were_never_reached_is_unknown() -> None:
    found = difference([INFINITY] * 3, [INFINITY] * 3)
    assert all(math.isnan(x) for x in found)
    assert format_interval(found) == "? (? to ?)"


def test_permutation_test_counts_the_splits() -> None:
    assert exact_p([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == pytest.approx(2 / 20)
    assert exact_p([1.0, 1.0], [1.0, 1.0]) == 1
    assert exact_p([1.0, 2.0], [2.0, INFINITY]) == pytest.approx(4 / 6)


def test_permutation_test_of_many_runs_draws_splits() -> None:
    low, high = [float(x) for x in range(15)], [float(x) for x in range(100, 115)]
    assert exact_p(low, high) < 0.001
    assert exact_p(low, [x + 0.5 for x in low]) > 0.5


@pytest.mark.parametrize("values", [[], [[1.0]]])
def test_wrong_shapes_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="one number for each of one or more runs"):
        interval(values)


def test_interval_has_the_form_of_its_numbers() -> None:
    assert format_interval(Interval(1234.5, 1000, 2000), "{:,.0f}") == "1,234 (1,000 to 2,000)"
    assert format_interval(Interval(-1e-9, -0.5, 0.5), "{:.2f}") == "0.00 (-0.50 to 0.50)"


def test_curve_is_the_median_in_a_band_where_every_run_has_a_number() -> None:
    axes: Any = Figure().subplots()
    draw_band(axes, [1, 2, 3], [[0.0, 5.0, np.inf], [1.0, 6.0, 0.0], [4.0, 9.0, 0.0]], 0, "ours", marker="o")
    [line] = axes.get_lines()
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 2], [1, 6])
    [band] = axes.collections
    assert {(float(x), float(y)) for x, y in band.get_paths()[0].vertices} == {(1, 0), (1, 4), (2, 5), (2, 9)}
