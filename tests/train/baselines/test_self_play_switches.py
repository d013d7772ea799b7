"""train.baselines.self_play_switches trains each way of self-play once, and stores its matches."""

import dataclasses
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import tyro

from tests.helpers.commands import run_command
from train import match
from train.agents import learner_type
from train.baselines import self_play_switches as switches
from train.baselines.recorded_commands import Record, RecordedCommands
from train.driver import cli


def test_file_has_seconds_of_both_trainings_and_the_score(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    ran: list[str] = []

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        ran.append(text)
        named = [each for each in WAYS if f"boxes_3_3_{each}" in text]
        way = min(named, key=lambda each: text.index(f"boxes_3_3_{each}"))  # of a match: the first agent's
        wins, losses = (110, 50) if way == "forced_playouts" else (20, 180)
        played = {"games": 200, "agents": [{"wins": wins}, {"wins": losses}]}
        return Record(True, 80.0 + WAYS.index(way), played | {"steps": 1000 + WAYS.index(way)})

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RecordedCommands, "run", run)
    run_command(switches.main, "boxes_3_3", "--output", tmp_path)
    file = tmp_path / "self_play_switches_boxes_3_3.json"
    stored = json.loads(file.read_text())
    assert {"commit", "processor", "cores", "jax", "date", "env"} <= stored.keys()
    assert stored["commands"] == [f"python -m {text}" for text in ran]
    assert [tuple(row["ways"]) for row in stored["rows"]] == list(switches.PAIRS)
    line = "| forced playouts | puct | 1,004 / 1,003 | 84 / 83 | 200 | 110 | 40 | 50 | 0.650 (0.582-0.713) | +108 "
    assert line in switches.table([file])
    assert "| growing | gumbel | 1,002 / 1,000 | 82 / 80 | 200 | 20 | 0 | 180 | 0.100 " in switches.table([file])


WAYS = ["gumbel", "playout_caps", "growing", "puct", "forced_playouts"]


@pytest.mark.parametrize("name", switches.GAMES)
def test_trainings_differ_in_the_way_alone_and_the_matches_are_between_them(name: str) -> None:
    game = switches.GAMES[name]
    runs: dict[str, Any] = {}
    for way in WAYS:
        parsed = cli.parse(learner_type("alphazero"), shlex.split(game.training(name, way))[1:])
        runs[str(parsed.settings.run_dir)] = dataclasses.asdict(parsed.config)
    first = next(iter(runs.values()))
    differ = {name for run in runs.values() for name in run if run[name] != first[name]}
    search = {"search", "simulations", "first_simulations", "fast_searches", "forced_playouts"}
    assert differ == {"total_steps", *search}
    for pair in switches.PAIRS:
        arguments = tyro.cli(match.Arguments, args=shlex.split(game.match(name, *pair))[1:])
        assert arguments.openings == arguments.games / 2
        agent, opponent = (text.removesuffix("(simulations=16)") for text in arguments.agents)
        assert {agent, opponent} <= runs.keys()
        assert agent.endswith(pair[0])
        assert opponent.endswith(pair[1])
