"""benchmarks.adapters plays every adapter; benchmarks.peers measures them beside the env's own loop."""

import json
from pathlib import Path

import pytest

import jaxgames
from benchmarks import adapters
from benchmarks.adapters import ADAPTERS, PUBLISHED, make_play
from benchmarks.peers import AdaptersArguments, measure_adapters

BOXES = "dots_and_boxes(rows=1, cols=1)"
FAST = ("host", "pettingzoo", "openspiel", "openspiel_own")


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in ("jaxgames", *ADAPTERS)]
)
def test_every_adapter_plays_and_counts_its_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "STEPS_PER_CALL", 9)  # more than one game
    play = make_play(name, jaxgames.make(BOXES), 2, "")
    assert play() in (9, 2 * adapters.VECTOR_STEPS_PER_CALL, 2 * 32)


def test_published_environment_is_refused_for_another_game(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is for chinese_checkers\(num_players=6\)"):
        make_play(PUBLISHED, jaxgames.make(BOXES), 2, str(tmp_path))


@pytest.mark.slow  # a process for each side
def test_adapters_are_measured_beside_the_own_loop(tmp_path: Path) -> None:
    arguments = AdaptersArguments(
        games=(BOXES,), adapters=("host",), boards=2, rounds=2, seconds=0.01, published=tmp_path
    )
    host, published = json.loads(json.dumps(measure_adapters(arguments)))["rows"]
    assert host["peer"] == "host"
    assert host["ratio"] > 0
    assert "is for chinese_checkers(num_players=6)" in published["error"]
