"""The convolution benchmark measures both ways of convolving."""

import json

import pytest

from benchmarks import convolutions


def test_both_ways_are_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "--boards",
        "4",
        "--channels",
        "2",
        "--steps",
        "1",
        "--repeats",
        "1",
        "--env",
        "dots_and_boxes(rows=1, cols=1)",
    ]
    monkeypatch.setattr("sys.argv", ["convolutions", *words])
    convolutions.main()
    measured = json.loads(capsys.readouterr().out.splitlines()[-1])["milliseconds"]
    assert set(measured) == {"matrix products", "flax.linen.Conv"}
    assert all(row["forward"] > 0 and row["gradient"] > 0 for row in measured.values())
