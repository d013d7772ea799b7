"""Every experiment of `examples.papers` has a short form that runs as a command and computes nothing twice."""

import dataclasses
import importlib
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples import papers
from examples.papers._quick import shortened

ROOT = Path(__file__).parents[3]
CPU_SECONDS = 120  # of a short form: a minute on the machines of the docs, and as much again for slower ones
WITHOUT_QUICK = {"examples.papers.checkers_imitation": "its games are not part of the project"}
# A repeated command writes tables and pictures again, and locks its runs. All other files hold results.
WRITTEN_AGAIN = {".json", ".md", ".png", ".svg"}
LOCK = "lock"


def experiments() -> Iterator[str]:
    """The modules of `examples.papers` that are commands, by their dotted names."""
    for found in pkgutil.walk_packages(papers.__path__, "examples.papers."):
        if hasattr(importlib.import_module(found.name), "main"):
            yield found.name


EXPERIMENTS = [name for name in experiments() if name not in WITHOUT_QUICK]


def test_every_module_without_a_short_form_is_an_experiment_and_takes_data() -> None:
    assert set(WITHOUT_QUICK) <= set(experiments())
    for name in WITHOUT_QUICK:
        assert "data" in fields_of(name), f"{name} could run without data: give it --quick"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_has_a_short_form(name: str) -> None:
    assert {"quick", "output"} <= fields_of(name), (
        f"the Arguments of {name} must have the fields `quick` and `output` (see examples/papers/_quick.py), "
        "or WITHOUT_QUICK a reason"
    )
    module: Any = importlib.import_module(name)
    short = shortened(module.Arguments(quick=True), module.QUICK)
    assert {name: getattr(short, name) for name in module.QUICK} == module.QUICK


@pytest.mark.slow  # trains and plays games for up to a minute, each
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_short_form_ends_within_its_time_and_computes_nothing_twice(name: str, tmp_path: Path) -> None:
    before = children_cpu_seconds()
    first = run(name, tmp_path)
    seconds = children_cpu_seconds() - before
    assert seconds < CPU_SECONDS, f"python -m {name} --quick takes {seconds:.0f} CPU seconds, not {CPU_SECONDS}"
    results = files(tmp_path, of_results=True)
    assert results, f"{name} stores no results, so a command that was stopped cannot continue"
    assert any(path.suffix in WRITTEN_AGAIN for path in files(tmp_path, of_results=False)), f"{name} has no table"
    assert run(name, tmp_path) == first
    changed = [str(path) for path, stamp in files(tmp_path, of_results=True).items() if results.get(path) != stamp]
    assert changed == [], f"the repeated command has computed again, or stored anew, {changed}"


def fields_of(name: str) -> set[str]:
    """The names of the arguments of an experiment."""
    module: Any = importlib.import_module(name)
    return {field.name for field in dataclasses.fields(module.Arguments)}


def run(name: str, output: Path) -> Any:
    """Runs an experiment in its short form; returns the last line that it prints, read as JSON."""
    command = [sys.executable, "-m", name.removesuffix(".__main__"), "--quick", "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def files(folder: Path, of_results: bool) -> dict[Path, tuple[int, int]]:
    """The files below a folder that hold results, or those that do not, with their times of change and their sizes."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    paths = (path for path in found if (path.suffix in WRITTEN_AGAIN) != of_results)
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}


def children_cpu_seconds() -> float:
    """The CPU time of all processes that this one has started and waited for."""
    times = os.times()
    return times.children_user + times.children_system
