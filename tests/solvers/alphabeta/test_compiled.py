"""Machine code on disk: it is used while the sources are the same, and other processes keep theirs."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA

CALLEE = """
from jaxgames.solvers.alphabeta.compiled import compiled

@compiled
def callee(number):
    return number + {}
"""
CALLER = """
from callee import callee
from jaxgames.solvers.alphabeta.compiled import compiled

@compiled
def caller(number):
    return callee(number)

if __name__ == "__main__":
    print(caller(10), sum(caller.stats.cache_hits.values()))
"""

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="needs numba")


def test_stored_code_of_other_processes_stays(tmp_path: Path) -> None:
    path = tmp_path / "callee.py"
    path.write_text(CALLEE.format(1))
    spec = importlib.util.spec_from_file_location("callee", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    index = Path(module.callee.stats.cache_path) / module.callee._cache._cache_file._index_name
    index.parent.mkdir(parents=True, exist_ok=True)
    index.touch()
    os.utime(index, (0, 0))
    spec.loader.exec_module(module)
    assert index.exists()


@pytest.mark.slow  # two processes with numba
def test_change_of_a_called_function_is_compiled_again(tmp_path: Path) -> None:
    def run() -> list[int]:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        }
        command = [sys.executable, str(tmp_path / "caller.py")]
        return [*map(int, subprocess.run(command, env=environment, check=True, capture_output=True).stdout.split())]

    (tmp_path / "caller.py").write_text(CALLER)
    for added, stored in ((1, 0), (1, 1), (2, 0)):
        (tmp_path / "callee.py").write_text(CALLEE.format(added))
        os.utime(tmp_path / "callee.py", (2e9 + added, 2e9 + added))
        assert run() == [10 + added, stored]
