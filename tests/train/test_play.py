"""`python -m train.play`: a run as the agent of a game in the terminal."""

import io
import sys

import pytest

from tests.train.conftest import Runs
from train.play import main


def test_run_plays_and_its_thoughts_are_shown(
    untrained: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nh(0,0)\nq\n"))
    main([str(untrained.first), "--terminal", "--seed", "1"])
    out = capsys.readouterr().out
    assert f"{untrained.first} would play\n" in out
    assert "your chance to win: " in out
    assert f"Blue ({untrained.first}) plays " in out
    assert "plies: 2" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random"], "random is not a run"),
        (["no/run"], "no/run"),
        (["FIRST", "--seats", "human"], "expected --seats human,alphabeta, not human"),
        (["FIRST", "--seats", "human,OTHER"], "was trained on"),
    ],
)
def test_command_ends_with_the_reason(untrained: Runs, arguments: list[str], message: str) -> None:
    paths = {"FIRST": str(untrained.first), "OTHER": str(untrained.other_game)}
    texts = [text.replace("FIRST", paths["FIRST"]).replace("OTHER", paths["OTHER"]) for text in arguments]
    with pytest.raises(SystemExit) as ended:
        main([*texts, "--terminal"])
    assert message in str(ended.value)
