"""The changes that `tests.mutation` tries: each is of one place, in code that still has the form of Python."""

import ast
import re
from pathlib import Path

import pytest

from tests.mutation import ROOT, pytest_arguments, sample

SOURCE = '''
def f(x: int = 3, *, y=-1):
    """A docstring of 7 words."""
    if x < 2 and not y:
        raise ValueError(f"x must be {2 + x}")
    a[0] = np.where(x, y, x + 1)
    return a
'''


def test_changes_of_a_file_leave_out_hints_and_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.ROOT", tmp_path)
    (tmp_path / "module.py").write_text(SOURCE)
    changes = sample("module", seed=0)
    for change in changes:
        ast.parse(change.source)
        assert sum(a != b for a, b in zip(SOURCE.splitlines(), change.source.splitlines(), strict=True)) == 1
    assert sorted(change.text for change in changes) == sorted(
        [
            *("3 -> (4)", "3 -> (2)", "-1 -> (1)", "1 -> (2)", "1 -> (0)", "2 -> (3)", "2 -> (1)", "not y -> (y)"),
            *("x < 2 -> (x <= 2)", "x < 2 and not y -> (x < 2 or not y)", "0 -> (1)", "0 -> (-1)"),
            "x < 2 and not y -> (not (x < 2 and (not y)))",
            'raise ValueError(f"x must be {2 + x}") -> pass',
            "a[0] = np.where(x, y, x + 1) -> pass",
            "np.where(x, y, x + 1) -> (np.where(x, x + 1, y))",
            *("x + 1 -> (x - 1)", "1 -> (2)", "1 -> (0)"),
        ]
    )


MODULES = re.findall(r"[\w.]+", re.findall(r"^MUTATED := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0])


@pytest.mark.parametrize("module", MODULES)
def test_every_file_of_a_module_has_tests(module: str) -> None:
    path = ROOT / module.replace(".", "/")
    for file in path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]:
        tests = pytest_arguments(str(file.relative_to(ROOT)))
        assert all((ROOT / test).exists() for test in tests if test.startswith("tests/"))
        assert tests, file


def test_searches_of_a_game_are_changed_under_the_tests_of_solvers() -> None:
    tests = pytest_arguments("jaxgames/games/checkers/search.py")
    assert "tests/solvers/test_checkers.py" in tests
    rules = pytest_arguments("jaxgames/games/checkers/rules.py")
    assert not [test for test in rules if test.startswith("tests/games/minichess/")]
    assert "-k" in rules
