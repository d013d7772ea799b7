"""What the studies share: tables of stored results, the frame of an experiment, statistics whose answers are known."""

import functools
import itertools
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from examples.papers import tables
from examples.papers._experiment import Experiment, Report, run_experiment, shortened
from examples.papers._intervals import Interval, difference, exact_p, format_interval, interval
from tests.helpers.blocks import ROOT
from tests.helpers.commands import error_of, run_command
from train.driver.tables import markdown, tables_in


def run(*, check: bool) -> int:
    with pytest.raises(SystemExit) as status:
        tables.update(tables.Arguments(check=check))
    return int(str(status.value.code))


def test_changed_digit_is_found_and_written_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "docs/training/ppo.md"
    text = (ROOT / page).read_text()
    table = text.index("|---|", text.index("<!-- table: "))
    at = table + re.search(r"\d", text[table:]).start()  # pyright: ignore[reportOptionalMemberAccess]
    copy = tmp_path / page
    copy.parent.mkdir(parents=True)
    copy.write_text(text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    assert run(check=True) == 1
    assert f"{copy.name} differs: type python -m examples.papers.tables" in capsys.readouterr().out
    assert run(check=False) == 0
    assert copy.read_text() == text
    assert run(check=True) == 0


def test_results_of_any_commands_are_stored_and_make_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("ROOT", "RESULTS"):
        monkeypatch.setattr(tables, folder, tmp_path)
    monkeypatch.setattr(tables, "RECORDS", tmp_path / "commands.jsonl")
    monkeypatch.setattr(tables, "COLUMNS", {"ones": {"a": "{a}"}})
    monkeypatch.setattr(tables, "appendix", lambda made: {})  # its pages name the project's results
    for number in (1, 2):
        (tmp_path / f"{number}.txt").write_text(f'{{"a": {number}}}')
    commands = [f"python -m json.tool --compact {tmp_path}/{number}.txt" for number in (1, 2)]
    assert run_command(tables.main, "--name", "ones", "--run", *commands) == 0
    stored = json.loads((tmp_path / "ones.json").read_text())
    assert stored["commands"] == commands
    assert None not in [stored[origin] for origin in ("commit", "date", "processor", "cpu_seconds")]
    assert [*stored["results"][0]] == ["a", "cpu_seconds"]
    assert tables.of_results()["ones"] == "| a |\n|---|\n| 1 |\n| 2 |"
    monkeypatch.chdir(tmp_path)
    Path("prints.py").write_text('print("| b |\\n|---|\\n| 3 |\\n[]")')
    assert run_command(tables.main, "--name", "printed", "--run", "python -m prints") == 0
    assert tables.of_results()["printed"] == "| b |\n|---|\n| 3 |"
    assert "--name and --run need each other" in error_of(tables.main, "--name", "ones")
    failing = f"python -m json.tool {tmp_path}/commands"
    assert "this command failed" in error_of(tables.main, "--name", "ones", "--run", failing)


def test_tables_in_a_text_are_read_as_their_cells() -> None:
    columns, rows = ["a", "", "|r|"], [["1 | 2", "", "x"], ["", "3.0 (1.0-5.0)", "y"]]
    expected = {"columns": columns, "rows": rows}
    assert tables_in(markdown(columns, rows)) == [expected]
    assert tables_in(f"text\n\n{markdown(columns, rows, padded=True)}\n\n| a |\n|---|\n| b |\ntext") == [
        expected,
        {"columns": ["a"], "rows": [["b"]]},
    ]


QUICK = {"games": 2, "seeds": 1}


@dataclass(frozen=True)
class Arguments(Experiment):
    data: str
    games: int = 1000
    seeds: int = 3
    output: Path = Path("runs/figure")


def report(arguments: Arguments) -> Report:
    return Report({"games": arguments.games}, "| a |\n|---|", {"figure_1": Figure()})


def test_experiment_prints_its_tables_before_its_result_and_writes_its_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = functools.partial(run_experiment, Arguments, QUICK, report)
    assert run_command(main, "--data", "pairs.npz", "--quick", "--output", tmp_path / "new") is None
    assert capsys.readouterr().out.splitlines() == ["| a |", "|---|", '{"games": 2}']
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"tables.md", "figure_1.png", "figure_1.svg"}
    message = error_of(main, "--data", "pairs.npz", "--games", 0)
    assert message == "test_tables: games must be from 1 to 10000000, not 0"


def test_short_form_has_small_values_and_another_folder_unless_they_are_typed() -> None:
    expected = Arguments("pairs.npz", 2, 1, Path("runs/figure_quick"), quick=True)
    assert shortened(Arguments("pairs.npz", quick=True), QUICK) == expected
    typed = Arguments("pairs.npz", games=7, output=Path("elsewhere"), quick=True)
    assert shortened(typed, QUICK) == Arguments("pairs.npz", 7, 1, Path("elsewhere"), quick=True)
    assert shortened(Arguments("pairs.npz"), QUICK) == Arguments("pairs.npz")


def test_result_is_computed_once_and_equal_when_it_is_read(tmp_path: Path) -> None:
    arguments, numbers = Arguments("pairs.npz", output=tmp_path / "new"), itertools.count()

    def compute() -> dict[str, Any]:
        return {"call": next(numbers), "interval": (0.25, 0.1 + 0.2), "games": 400}

    keys = [{"board": board, "games": 400} for board in ("3x3", "5x5", "3x3", "5x5")]
    found = [arguments.once(key, compute) for key in keys]
    assert found == [{"call": call, "interval": [0.25, 0.1 + 0.2]} for call in (0, 1, 0, 1)]


def test_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    runs = np.random.default_rng(0).normal(10, 3, 400)
    found = interval(runs.tolist(), np.mean)
    half_width = 1.96 * runs.std() / math.sqrt(runs.size)
    assert found == pytest.approx((runs.mean(), runs.mean() - half_width, runs.mean() + half_width), abs=0.03)
    assert difference([5.0, 5.0], [3.0, 3.0]) == (2, 2, 2)


def test_median_with_a_run_that_never_reached_the_rate_has_an_open_end() -> None:
    found = interval([1.0, 2.0, math.inf])
    assert found == (2, 1, math.inf)
    assert format_interval(found) == "2.0 (1.0 to never)"
    assert format_interval(Interval(-1e-9, -0.5, 0.5), "{:.2f}") == "0.00 (-0.50 to 0.50)"


def test_permutation_test_counts_the_splits() -> None:
    assert exact_p([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]) == pytest.approx(2 / 20)
    assert exact_p([1.0, 1.0], [1.0, 1.0]) == 1
    assert exact_p([1.0, 2.0], [2.0, math.inf]) == pytest.approx(4 / 6)
