"""train.baselines.self_play_switches trains each way of self-play once, and stores its matches."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import tyro

from jaxgames import arena
from tests.helpers.commands import run_command
from train import match as match_command
from train.agents import learner_type
from train.alphazero import config_for
from train.baselines import self_play_switches as switches
from train.baselines.recorded_commands import Record, RecordedCommands
from train.driver import cli


def test_file_has_seconds_of_both_trainings_and_the_score(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    ran: list[str] = []
    played: dict[str, Any] = {"games": 200, "agents": [{"wins": 110}, {"wins": 50}]}

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        ran.append(text)
        return Record(True, 80.0 if "puct" in text else 90.0, played | {"steps": 1000})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RecordedCommands, "run", run)
    run_command(switches.main, "boxes_3_3", "--output", tmp_path)
    file = tmp_path / "self_play_switches_boxes_3_3.json"
    stored = json.loads(file.read_text())
    assert {"commit", "processor", "cores", "jax", "date", "env"} <= stored.keys()
    assert stored["commands"] == [f"python -m {text}" for text in ran]
    assert [tuple(row["ways"]) for row in stored["rows"]] == list(switches.PAIRS)
    assert stored["rows"][0]["score_interval"] == pytest.approx(arena.wilson(130, 200))
    line = "| forced playouts | puct | 1,000 / 1,000 | 80 / 80 | 200 | 110 | 40 | 50 | 0.650 (0.582-0.713) |"
    assert line in switches.table([file])


@pytest.mark.parametrize("name", switches.GAMES)
def test_commands_exist_and_differ_in_the_way_alone(name: str) -> None:
    game = switches.GAMES[name]
    for way in switches.WAYS:
        cli.parse(learner_type("alphazero"), config_for, shlex.split(game.training(name, way))[1:])
    arguments = tyro.cli(match_command.Arguments, args=shlex.split(game.match(name, "puct", "gumbel"))[1:])
    assert arguments.openings == arguments.games / 2
