"""Commands of benchmarks, called in this process."""

import importlib
import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks import harness

RunCommand = Callable[[str], dict[str, Any]]


@pytest.fixture
def run_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Runs a command line without its `python -m benchmarks.`, and returns the JSON that it prints."""

    def run(line: str) -> dict[str, Any]:
        name, *words = shlex.split(line)
        monkeypatch.setattr("sys.argv", [name, *words])
        harness.run(*importlib.import_module(f"benchmarks.{name}").COMMANDS)
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    return run
