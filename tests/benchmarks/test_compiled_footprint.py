"""benchmarks.compiled footprint: limits worked out by hand from stored rows."""

import json
from pathlib import Path

import pytest

from benchmarks import targets
from benchmarks.compiled_footprint import FootprintArguments, compute_footprint
from benchmarks.targets import Target

ROW = {"target": "h200", "game": "checkers", "part": "random play", "kernels": 10, "bytes_per_board": 500.0}


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device of 10^12 bytes and 10^13 operations per second; steps of 10 kernels, 500 bytes, 2,000 operations."""
    monkeypatch.setitem(targets.TARGETS, "h200", Target("", "", bandwidth=1e12, operations=1e13, kernel_microseconds=1))
    file = tmp_path / "compiled.json"
    rows = [ROW, ROW | {"part": "mask", "kernels": 1}, ROW | {"target": "v6e"}]
    file.write_text(json.dumps({"rows": rows, "operations": {"h200": {"checkers": 2000.0}}}))
    return file


def test_lowest_limit_is_the_speed(stored: Path) -> None:
    """Two devices of 1,000 boards: 10 kernels take 20 us, so 2 * 50 M steps/s; 2 * 2,000 M by bytes, 2 * 5,000 M."""
    arguments = FootprintArguments(h200=2, v5e=0, boards=1000, gpu_microseconds=2.0, file=stored)
    (row,) = compute_footprint(arguments)["rows"]
    assert row["by_kernels"] == pytest.approx(100)
    assert row["by_bytes"] == pytest.approx(4000)
    assert row["by_operations"] == pytest.approx(10_000)
    assert (row["millions"], row["limit"]) == (row["by_kernels"], "kernels")


def test_more_boards_leave_the_limit_to_the_memory(stored: Path) -> None:
    arguments = FootprintArguments(h200=2, v5e=0, boards=100_000, gpu_microseconds=2.0, file=stored)
    (row,) = compute_footprint(arguments)["rows"]
    assert row["by_kernels"] == pytest.approx(10_000)
    assert row["limit"] == "bytes"


@pytest.mark.parametrize("devices", [0, -1])
def test_no_devices_are_refused(devices: int, stored: Path) -> None:
    with pytest.raises(ValueError, match="numbers of devices must be positive"):
        compute_footprint(FootprintArguments(h200=devices, v5e=0, file=stored))
