"""The demo ends with an error if the agent that it trained wins too few games."""

from pathlib import Path
from typing import Any

import pytest

from examples import demo
from train import evaluate, plot
from train.driver import compilation, loop


@pytest.fixture
def run_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The demo without its training and its games: the rate of wins is given."""

    def run(win_rate: float) -> None:
        monkeypatch.setattr(demo, "FOLDER", tmp_path / "demo")
        monkeypatch.setattr(compilation, "keep_programs", lambda: None)
        monkeypatch.setattr(loop, "run_training", lambda *_: {"finished": True})
        monkeypatch.setattr(plot, "plot", lambda arguments: ["curve.png"])
        monkeypatch.setattr(demo, "animate_shortest_win", lambda run: "game.svg")
        monkeypatch.setattr(evaluate, "evaluate", lambda arguments: {"win_rate": win_rate})
        monkeypatch.setattr(evaluate, "table", lambda result: "a table")
        demo.main()

    return run


def test_demo_ends_with_its_result_if_the_agent_wins(run_demo: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run_demo(0.9)
    assert capsys.readouterr().out.splitlines() == ["a table", '{"win_rate": 0.9}']


@pytest.mark.parametrize("win_rate", [0.899, 0.17, float("nan")])
def test_demo_fails_if_the_agent_wins_fewer_than_nine_games_of_ten(run_demo: Any, win_rate: float) -> None:
    with pytest.raises(SystemExit) as ended:  # with status 1, since its code is a text
        run_demo(win_rate)
    assert ended.value.code == f"the agent won {win_rate:.3f} of its games; at least 0.9 were expected"
