"""benchmarks.checkers_search measures the moves of alpha-beta in checkers by depth."""

import json
from pathlib import Path

import pytest

from benchmarks import checkers_search
from benchmarks.checkers_search import Arguments, measure_checkers_search, positions
from jaxgames.games.checkers import Checkers
from jaxgames.solvers.alphabeta import deepening


@pytest.fixture(autouse=True)
def plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled."""
    for module in (checkers_search, deepening):
        monkeypatch.setattr(module, "HAS_NUMBA", False)


def test_every_depth_is_measured_with_and_without_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.json"
    arguments = Arguments(depths=(1, 3), positions=8, plain_depth=1, output=file)
    rows = measure_checkers_search(arguments)["rows"]
    assert [(row["depth"], row["table"]) for row in rows] == [(1, True), (1, False), (3, True), (3, False)]
    assert json.loads(file.read_text())["rows"] == rows
    assert rows[0]["nodes"] == rows[1]["nodes"] < rows[2]["nodes"] < rows[3]["nodes"]
    assert all(row["mean_milliseconds"] <= row["max_milliseconds"] for row in rows)
    assert [row["plain_milliseconds"] is None for row in rows] == [False, False, True, True]
    assert "| 3 | no table |" in capsys.readouterr().err


def test_positions_have_a_choice_and_are_the_same_for_a_seed() -> None:
    env = Checkers()
    found = positions(env, 30, seed=1)
    assert all(env.legal_action_mask(state).sum() > 1 for state in found)
    assert [env.to_string(state) for state in found] == [env.to_string(state) for state in positions(env, 30, seed=1)]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="positions must be at least 1"):
        measure_checkers_search(Arguments(positions=0))
