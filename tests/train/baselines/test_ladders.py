"""train.baselines.ladders stores what a ladder has measured, and its table and those of the cards show it."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tyro

import jaxgames
from jaxgames import agents, baselines
from jaxgames.baselines.cards import Rating, WinRate
from tests.helpers.commands import error_of, run_command
from train.baselines import ladders, tables
from train.baselines.recorded_commands import Record, RecordedCommands
from train.ladder import __main__ as ladder_command

ROWS = [
    {"agent": "solver(x.npz)", "elo": 1234.4, "elo_interval": [900.0, None]},
    {"agent": "random", "elo": 0.0, "elo_interval": [0.0, 0.0]},
]
RESULT: dict[str, Any] = {"env": "a game", "seed": 0, "games": 100, "agents": ROWS}
RESULT["cpu_ms"] = {"solver(x.npz)": 0.1234, "random": 12.3}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run, each in 1.5 CPU seconds."""
    texts: list[str] = []

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        texts.append(text)
        return Record(True, 1.5, RESULT)

    monkeypatch.setattr(RecordedCommands, "run", run)
    return texts


def test_file_has_the_ratings_with_the_commands_and_the_machine(ran: list[str], tmp_path: Path) -> None:
    assert run_command(ladders.main, "boxes_solved", "--output", tmp_path) is None
    file = tmp_path / "ladder_boxes_solved.json"
    stored = json.loads(file.read_text())
    assert stored["commands"] == [f"python -m {text}" for text in ran]
    assert ran[-1].startswith('train.ladder "dots_and_boxes(rows=3, cols=3, reward=margin)" "greedy"')
    assert stored["cpu_seconds"] == 1.5 * len(ran)
    assert {"commit", "processor", "cores", "jax", "date", "seed"} <= stored.keys()
    first, second = ladders.ratings(file)
    assert first == Rating("solver(x.npz)", 1234.4, (900.0, None), 0.1234)
    assert second.agent == "random"
    assert "boxes_solved" in error_of(ladders.main, "chess")


@pytest.mark.parametrize("name", ladders.LADDERS)
def test_commands_have_arguments_that_their_modules_accept(name: str) -> None:
    ladder = ladders.LADDERS[name]
    words = shlex.split(ladder.command(name))
    arguments = tyro.cli(ladder_command.Arguments, args=words[1:])
    assert arguments.cost
    assert arguments.agents == ladder.agents
    env = jaxgames.make(arguments.env)
    for agent in arguments.agents:
        if "runs/" not in agent:
            agents.make(agent, env)


def test_tables_show_ends_that_are_not_bound_and_draws_as_half_points() -> None:
    unbound = tables.ladder([Rating("solver(x.npz)", 1234.4, (900.0, None), 0.1234), Rating("random", 0, (0, 0))])
    assert unbound.splitlines()[2:] == ["| `solver(x.npz)` | 1,234 | 900 to ? | 0.12 |", "| `random` | 0 | 0 to 0 |  |"]
    rate = WinRate("greedy", 100, 40, 20, 0.4, (0.3, 0.5), "train.match", "baseline(simulations=2)")
    games = tables.games([replace(baselines.card("checkers"), win_rates=(rate, rate, rate))])
    assert games.splitlines()[2:] == [
        "| `checkers` | `baseline(simulations=2)` | `greedy` | 100 | 40 | 20 | 40 | 0.500 (0.404-0.596) |"
    ]
