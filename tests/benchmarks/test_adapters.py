"""benchmarks.adapters measures every adapter beside the env's own loop."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import adapters
from benchmarks.adapters import ADAPTERS, Arguments, measure_adapters
from train.driver.machine import stamp

BOXES = "dots_and_boxes(rows=1, cols=1)"


@pytest.fixture(autouse=True)
def short_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "STEPS_PER_CALL", 9)  # more than one game


def rows_of(arguments: Arguments) -> dict[str, dict[str, Any]]:
    """The rows of the only game, by the names of the sides."""
    result = json.loads(json.dumps(measure_adapters(arguments)))
    assert result.keys() == {"games", "boards", "rounds", "seconds", "async_dispatch", *stamp()}
    (game,) = result["games"]
    return {row["adapter"]: row for row in game["rows"]}


FAST = ("host", "pettingzoo", "openspiel", "openspiel_own")


@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("names", [FAST, pytest.param(tuple(ADAPTERS), marks=pytest.mark.slow)])
def test_every_adapter_is_measured_or_says_why_not(names: tuple[str, ...]) -> None:
    rows = rows_of(Arguments(games=(BOXES,), adapters=names, boards=2, rounds=2, seconds=0))
    assert [*rows] == ["jaxgames", *names]
    for row in rows.values():
        assert min(row["steps_per_second"], row["steps_per_cpu_second"], row["native_is_faster"]) > 0
    assert rows["jaxgames"]["native_is_faster"] == 1


@pytest.mark.usefixtures("programs")
def test_folder_without_the_published_environment_is_named_in_its_row(tmp_path: Path) -> None:
    rows = rows_of(Arguments(games=(BOXES,), adapters=(), boards=2, rounds=1, seconds=0, published=tmp_path))
    assert "is for chinese_checkers(num_players=6)" in rows["published environment"]["error"]
