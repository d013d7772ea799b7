"""train.baselines.solved stores measures by teacher, search and seed, and its table has their medians."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tyro

from tests.helpers.commands import error_of, run_command
from train.alphazero import AlphaZero
from train.baselines import solved
from train.baselines.recorded_commands import Record, RecordedCommands
from train.baselines.stored_results import stored_rows
from train.driver import cli
from train.strength import __main__ as strength_command


def measured(agent: str, search: str, weak_solved: bool, strong_action: float) -> dict[str, Any]:
    measures = {"ultra_weak": 1.0, "weak_states": 0.5, "agent_states": 12_345, "sure_fraction": 0.25}
    strong = {"strong_action": strong_action, "strong_decisive": 0.75}
    return {**of_agent(agent, search), "weak_solved": weak_solved, **measures, **strong}


def of_agent(agent: str, search: str) -> dict[str, Any]:
    return {"agent": agent, "search": search, "simulations": int(search.partition(" ")[0] or 0)}


def at_iteration(agent: str) -> str:
    """Returns an agent's text as the rows of train.strength have it."""
    run, bracket, parameters = agent.partition("(")
    return f"{run}@62{bracket}{parameters}"


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run, each in 10 CPU seconds."""
    texts: list[str] = []

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        texts.append(text)
        words, seed = shlex.split(text), text.count("_1 ") / 10  # the second seed is better by 0.1
        if words[0] != "train.strength":
            return Record(True, 10.0, {})
        own, *taught = (at_iteration(agent) for agent in words[1 : words.index("--solution")])
        if "--no-weak" in words:
            searches = ("", "64 simulations", "256 simulations")
            rows = [{**of_agent(own, search), "strong_action": 0.9} for search in searches]
            return Record(True, 10.0, {"rows": rows})
        rows = [measured(own, "", False, 0.5 + seed), *(measured(agent, "", True, 1.0) for agent in taught)]
        if "(search=puct)" in own:
            rows += [measured(own, "64 simulations", True, 0.7), measured(own, "256 simulations", True, 0.8)]
        elif "--simulations" in words:
            rows.append(measured(own, "64 simulations", seed > 0, 0.6 + seed))
        return Record(True, 10.0, {"rows": rows})

    monkeypatch.setattr(RecordedCommands, "run", run)
    return texts


def test_table_has_the_medians_of_the_seeds_by_teacher_and_search(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(solved.BOARDS, "diamond_4_6", replace(solved.BOARDS["diamond_4_6"], seeds=2))
    assert run_command(solved.main, "diamond_4_6", "--output", tmp_path) is None
    file = tmp_path / "solved_diamond_4_6.json"
    stored = json.loads(file.read_text())
    assert stored["commands"] == [f"python -m {text}" for text in dict.fromkeys(ran)]
    assert {"commit", "processor", "cores", "jax", "date", "env"} <= stored.keys()
    assert [row["seed"] for row in stored["rows"]] == [0] * 6 + [1] * 6
    own, taught, searching, with_puct, more_puct, strong = solved.table(stored_rows(file)).splitlines()[2:]
    assert own.startswith("| self-play | 0 | 10 | 0 of 2 | 1.00000 | 0.50000 | 12,345 | 0.25000 | 0.55000 |")
    assert searching.startswith("| self-play | 64 | 10 | 1 of 2 |")
    assert "| 0.65000 |" in searching  # of the first command that measures it
    assert with_puct.startswith("| self-play | 64, PUCT | 10 | 2 of 2 |")
    assert more_puct.startswith("| self-play | 256, PUCT | 10 | 2 of 2 |")
    assert taught.startswith("| then the exact solution | 0 | 30 | 2 of 2 |")  # self-play, labels and imitation
    assert strong.startswith("| self-play | 256 | 10 |  |  |  |  |  | 0.90000 |")
    assert "diamond_4_6" in error_of(solved.main, "chess")


@pytest.mark.parametrize("name", solved.BOARDS)
def test_commands_have_arguments_that_their_modules_accept(name: str) -> None:
    commands = solved.BOARDS[name].commands(name, seed=0)
    for what in {"measures", "of_self_play", "with_puct", "searched"} & {*commands}:
        arguments = tyro.cli(strength_command.Arguments, args=shlex.split(commands[what])[1:])
        assert len(arguments.agents) == (1 if what in ("of_self_play", "with_puct") else 2)
    words = shlex.split(commands[solved.SELF_PLAY])
    assert words[0] == "train.alphazero"
    assert cli.parse(AlphaZero, words[1:]).config.env == solved.BOARDS[name].env
