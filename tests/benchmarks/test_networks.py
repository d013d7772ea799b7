"""benchmarks.networks measures every network that can play a game."""

import json

import pytest

from benchmarks import networks
from benchmarks.networks import Arguments, measure_networks


@pytest.mark.usefixtures("programs")
def test_command_measures_the_networks_that_can_play(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = ["--boards", "2", "--rollout-length", "2", "--repeats", "1"]
    compared = ["mlp(hidden_sizes=[2])", "alpha_mini", "mlp(hidden_sizes=[3])"]
    game = "dots_and_boxes(rows=1, cols=1)"  # too small for alpha_mini
    monkeypatch.setattr("sys.argv", ["networks", *sizes, "--games", game, "--networks", *compared])
    networks.main()
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["networks"]
    assert [row["network"] for row in rows] == [compared[0], compared[2]]
    assert [row["weights"] for row in rows] == [
        6 * 2 + 2 + 2 * 5 + 5,
        6 * 3 + 3 + 3 * 5 + 5,
    ]  # 6 inputs, 4 logits and a value
    assert rows[0]["relative"] == 1
    assert all(row["microseconds"] > 0 for row in rows)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        measure_networks(Arguments(boards=0))
