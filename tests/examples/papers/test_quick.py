"""Every experiment of `examples.papers` runs as a command in a short form, and computes nothing twice."""

import importlib
import json
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import papers
from examples.papers._experiment import shortened
from train.driver.commands import children_cpu_seconds

ROOT = Path(__file__).parents[3]
CPU_SECONDS = 120  # of a short form: a minute on the machines of the docs, and as much again for slower ones
NEED_DATA = {  # files of positions, runs or solutions; have tests of their own
    "examples.papers.alpha_mini.sampling",
    "examples.papers.checkers_imitation.*",
    "examples.papers.solution_strength.lost_positions",
}
NEED_AGENTS = {  # arguments in place of --quick
    "examples.papers.dots_and_boxes.board_sizes": "first --boards 2x2 --opponents random --games 4",
}
WITHOUT_CACHE = {"examples.papers.matrix_games.__main__"}  # takes a minute as a whole
# A repeated command writes tables and pictures again, and locks its runs. All other files hold results.
WRITTEN_AGAIN = {".json", ".md", ".png", ".svg"}
NOT_RESULTS = {"lock", "1.npz"}  # the weights of the turn search are fitted again from its games


def experiments() -> Iterator[str]:
    """The modules of the studies that are commands and need no data, by their dotted names."""
    for module in pkgutil.walk_packages(papers.__path__, "examples.papers."):
        needs_data = {module.name, f"{module.name.rpartition('.')[0]}.*"} & NEED_DATA
        in_study = module.name.count(".") > papers.__name__.count(".") + 1
        if in_study and not needs_data and hasattr(importlib.import_module(module.name), "report"):
            yield module.name


EXPERIMENTS = [*experiments()]


def test_every_experiment_has_a_short_form() -> None:
    for name in {*EXPERIMENTS} - NEED_AGENTS.keys():
        module: Any = importlib.import_module(name)
        short = shortened(module.Arguments(quick=True), module.QUICK)
        assert {field: getattr(short, field) for field in module.QUICK} == module.QUICK, name


@pytest.mark.slow  # trains and plays games for up to a minute, each
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_short_form_ends_within_its_time_and_computes_nothing_twice(name: str, tmp_path: Path) -> None:
    before = children_cpu_seconds()
    first = run(name, tmp_path)
    seconds = children_cpu_seconds() - before
    assert seconds < CPU_SECONDS, f"python -m {name} --quick takes {seconds:.0f} CPU seconds, not {CPU_SECONDS}"
    assert any(path.suffix in WRITTEN_AGAIN for path in tmp_path.rglob("*.*")), f"{name} has no table"
    if name in WITHOUT_CACHE:
        return
    results = results_in(tmp_path)
    assert results, f"{name} stores no results, so a command that was stopped cannot continue"
    assert run(name, tmp_path) == first
    changed = [str(path) for path, stamp in results_in(tmp_path).items() if results.get(path) != stamp]
    assert changed == [], "the repeated command has computed this again, or stored it anew"


def run(name: str, output: Path) -> Any:
    """Runs an experiment in its short form; returns the last line that it prints, read as JSON."""
    arguments = NEED_AGENTS.get(name, "--quick").split()
    command = [sys.executable, "-m", name.removesuffix(".__main__"), *arguments, "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def results_in(folder: Path) -> dict[Path, tuple[int, int]]:
    """The files below a folder that hold results, with their times of change and their sizes."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in WRITTEN_AGAIN)
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path.name not in NOT_RESULTS}
