"""The frame of the experiments: files, the short form, results computed once; statistics whose answers are known."""

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from examples.papers._experiment import Experiment, Report, run_experiment, shortened
from examples.papers._intervals import Interval, difference, draw_band, exact_p, format_interval, interval
from tests.helpers.commands import error_of, run_command

QUICK = {"games": 2, "seeds": 1}
FILES = {"tables.md", "figure_1.png", "figure_1.svg"}
FIRST, SECOND = ({"board": board, "games": 400} for board in ("3x3", "5x5"))


@dataclass(frozen=True)
class Arguments(Experiment):
    data: str
    games: int = 1000
    seeds: int = 3
    output: Path = Path("runs/figure")


def report(arguments: Arguments) -> Report:
    return Report({"games": arguments.games}, "| a |\n|---|", {"figure_1": Figure()})


def test_command_prints_the_tables_before_its_result_and_writes_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = functools.partial(run_experiment, Arguments, QUICK, report)
    assert run_command(main, "--data", "pairs.npz", "--quick", "--output", tmp_path / "new") is None
    assert capsys.readouterr().out.splitlines() == ["| a |", "|---|", '{"games": 2}']
    assert {path.name for path in (tmp_path / "new").iterdir()} == FILES
    message = error_of(main, "--data", "pairs.npz", "--games", 0)
    assert message == "tests.examples.papers.test_experiment: games must be from 1 to 10000000, not 0"


def test_short_form_has_small_values_and_another_folder() -> None:
    expected = Arguments("pairs.npz", 2, 1, Path("runs/figure_quick"), quick=True)
    assert shortened(Arguments("pairs.npz", quick=True), QUICK) == expected


def test_typed_values_stay_in_the_short_form() -> None:
    typed = Arguments("pairs.npz", games=7, output=Path("elsewhere"), quick=True)
    assert shortened(typed, QUICK) == Arguments("pairs.npz", 7, 1, Path("elsewhere"), quick=True)
    assert shortened(Arguments("pairs.npz"), QUICK) == Arguments("pairs.npz")


def test_result_is_computed_once_and_equal_when_it_is_read(tmp_path: Path) -> None:
    arguments, calls = Arguments("pairs.npz", output=tmp_path / "new"), list[str]()

    def compute(name: str) -> dict[str, Any]:
        calls.append(name)
        return {"name": name, "interval": (0.25, 0.1 + 0.2), "games": 400}

    first = arguments.once(FIRST, lambda: compute("first"))
    assert first == {"name": "first", "interval": [0.25, 0.1 + 0.2]}
    assert arguments.once(FIRST, lambda: compute("again")) == first
    assert arguments.once(SECOND, lambda: compute("second"))["name"] == "second"
    assert calls == ["first", "second"]


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


def test_median_with_a_run_that_never_reached_the_rate_has_an_open_end() -> None:
    found = interval([1.0, 2.0, math.inf])
    assert found == (2, 1, math.inf)
    assert format_interval(found) == "2.0 (1.0 to never)"


def test_permutation_test_counts_the_splits() -> None:
    assert exact_p([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == pytest.approx(2 / 20)
    assert exact_p([1.0, 1.0], [1.0, 1.0]) == 1
    assert exact_p([1.0, 2.0], [2.0, math.inf]) == pytest.approx(4 / 6)


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
