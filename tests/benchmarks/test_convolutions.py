"""benchmarks.convolutions measures both kinds of convolution."""

import json

import pytest

from benchmarks import convolutions
from benchmarks.convolutions import Arguments, measure_convolutions


@pytest.mark.usefixtures("programs")
def test_command_measures_both_kinds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--boards", "4", "--channels", "2", "--steps", "1", "--repeats", "1"]
    monkeypatch.setattr("sys.argv", ["convolutions", *sizes, "--env", "dots_and_boxes(rows=1, cols=1)"])
    convolutions.main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["milliseconds"]
    assert set(rows) == {"matrix products", "flax.linen.Conv"}
    assert all(row["forward"] > 0 and row["gradient"] > 0 for row in rows.values())


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        measure_convolutions(Arguments(repeats=0))
    with pytest.raises(ValueError, match="the games are"):
        measure_convolutions(Arguments(env="chess"))
