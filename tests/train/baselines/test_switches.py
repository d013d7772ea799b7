"""train.baselines.switches stores matches between an agent with a switch of its search and the same agent without."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import tyro

import jaxgames
from jaxgames import agents
from tests.helpers.commands import run_command
from train import match as match_command
from train.baselines import switches
from train.baselines.recorded_commands import Record, RecordedCommands

RESULT: dict[str, Any] = {"games": 200, "agents": [{"wins": 110}, {"wins": 50}]}


def test_file_has_scores_and_costs_and_its_table_shows_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    ran: list[str] = []

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        ran.append(text)
        return Record(True, 1.5, RESULT)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(RecordedCommands, "run", run)
    monkeypatch.setattr(switches, "cpu_milliseconds", lambda env, agent: 2.0 if agent.config.proofs else 1.0)
    assert run_command(switches.main, "--output", tmp_path) is None
    file = tmp_path / "search_switches.json"
    stored = json.loads(file.read_text())
    assert {"commit", "processor", "cores", "jax", "date"} <= stored.keys()
    assert [row["command"] for row in stored["rows"]] == [f"python -m {text}" for text in ran]
    first = stored["rows"][0]
    assert (first["wins"], first["draws"], first["losses"], first["score"]) == (110, 40, 50, 0.65)
    assert list(first["cpu_ms"].values()) == [2.0, 1.0]
    assert "| 200 | 110 | 40 | 50 | 0.650 (0.582-0.713) | +108 (+57 to +158) | 2.00 / 1.00 |" in switches.table(file)


@pytest.mark.parametrize("match", switches.MATCHES, ids=str)
def test_command_plays_agents_that_exist_from_both_sides(match: switches.Match) -> None:
    arguments = tyro.cli(match_command.Arguments, args=shlex.split(match.command)[1:])
    assert (arguments.openings, arguments.seating) == (arguments.games / 2, "alternating")
    for text in arguments.agents:
        assert str(agents.make(text, jaxgames.make(match.env))) == text
