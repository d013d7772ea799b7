"""The frame of the experiments: its files and errors, the short form, and results that are computed once."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from examples.papers._experiment import Experiment, Report, run_experiment, shortened
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


# -- the frame -----------------------------------------------------------------------------------------------------


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


# -- the short form ------------------------------------------------------------------------------------------------


def test_short_form_has_small_values_and_another_folder() -> None:
    expected = Arguments("pairs.npz", 2, 1, Path("runs/figure_quick"), quick=True)
    assert shortened(Arguments("pairs.npz", quick=True), QUICK) == expected


def test_typed_values_stay_in_the_short_form() -> None:
    typed = Arguments("pairs.npz", games=7, output=Path("elsewhere"), quick=True)
    assert shortened(typed, QUICK) == Arguments("pairs.npz", 7, 1, Path("elsewhere"), quick=True)
    assert shortened(Arguments("pairs.npz"), QUICK) == Arguments("pairs.npz")


# -- results -------------------------------------------------------------------------------------------------------


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
