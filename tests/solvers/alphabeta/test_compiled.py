"""Machine code on disk: it is used while the sources are the same."""

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
from jaxgames.solvers.alphabeta.compiled import compiled, function_for

def make(called):
    @compiled
    def total(number):
        return called(number) if number < 1 else 1 + total(number - 1)

    return total

TOTAL = make(callee)

def caller(number):
    return TOTAL(number)

if __name__ == "__main__":
    function = function_for(True)(caller)
    print(function(10), sum(function.stats.cache_hits.values()))
"""

pytestmark = pytest.mark.skipif(not HAS_NUMBA, reason="needs numba")


@pytest.mark.slow  # two processes with numba
def test_stored_code_of_other_sources_or_of_a_damaged_index_is_compiled_again(tmp_path: Path) -> None:
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

    (index,) = (tmp_path / "cache").rglob("*.nbi")
    index.write_bytes(index.read_bytes().replace(b"caller", b"missed"))  # names what is gone, as after an update
    assert run() == [12, 0]
    index.write_bytes(index.read_bytes()[:-5])
    assert run() == [12, 0]
    assert run() == [12, 1]
