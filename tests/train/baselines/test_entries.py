"""train.baselines.entries runs the commands of its entries once, and stores rows of which the tables are made."""

import dataclasses
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
from train import match
from train.agents import learner_type
from train.baselines import entries, tables
from train.baselines.entries import ENTRIES, WAYS
from train.baselines.recorded_commands import Record, RecordedCommands
from train.driver import cli
from train.driver.tables import table_of
from train.ladder import __main__ as ladder_command
from train.strength import __main__ as strength_command

ROWS = [
    {"agent": "solver(x.npz)", "elo": 1234.4, "elo_interval": [900.0, None]},
    {"agent": "random", "elo": 0.0, "elo_interval": [0.0, 0.0]},
]
MEASURES = (  # of an entry
    *("both --strong-states 9", "own --simulations 64 --strong-states 9"),
    *("puct --simulations 64 256 --strong-states 9", "both --simulations 64 256 --no-weak"),
)
LADDER = {"agents": ROWS, "cpu_ms": {"solver(x.npz)": 0.1234, "random": 12.3}}


def measured(agent: str, search: str, weak_solved: bool, strong_action: float) -> dict[str, Any]:
    measures = {"ultra_weak": 1.0, "weak_states": 0.5, "agent_states": 12_345, "sure_fraction": 0.25}
    strong = {"strong_action": strong_action, "strong_decisive": 0.75}
    return {**of_agent(agent, search), "weak_solved": weak_solved, **measures, **strong}


def of_agent(agent: str, search: str) -> dict[str, Any]:
    return {"agent": agent, "search": search, "simulations": int(search.partition(" ")[0] or 0)}


def strength(words: list[str], seed: float) -> list[dict[str, Any]]:
    """The rows that `train.strength` prints; a seed is better by its number."""
    own, *taught = (agent.replace("(", "@62(") for agent in words[1 : words.index("--solution")])
    if "--no-weak" in words:
        return [{**of_agent(own, search), "strong_action": 0.9} for search in ("", "64 simulations", "256 simulations")]
    rows = [measured(own, "", False, 0.5 + seed), *(measured(agent, "", True, 1.0) for agent in taught)]
    if "(search=puct)" in words[1]:
        rows += [measured(own, "64 simulations", True, 0.7), measured(own, "256 simulations", True, 0.8)]
    elif "--simulations" in words:
        rows.append(measured(own, "64 simulations", seed > 0, 0.6 + seed))
    return rows


def played(text: str) -> dict[str, Any]:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    wins, losses = (110, 50) if "forced_playouts" in text else (20, 180)
    return {"games": 200, "agents": [{"wins": wins}, {"wins": losses}]}


def way_of(text: str) -> int:
    return next((number for number, way in enumerate(WAYS) if text.endswith(f"boxes_3_3_{way}")), 0)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands that were run, each in 10 CPU seconds; trainings with switches in 80 and 81."""
    texts: list[str] = []

    def run(self: RecordedCommands, text: str, version: str = "") -> Record:
        texts.append(text)
        words, seed = shlex.split(text), text.count("_1 ") / 10  # the second seed is better by 0.1
        if words[0] == "train.alphazero" and "self_play" in text:
            return Record(True, 80.0 + way_of(text), {"steps": 1000 + way_of(text)})
        results = {"train.strength": lambda: {"rows": strength(words, seed)}, "train.match": lambda: played(text)}
        return Record(True, 10.0, results.get(words[0], lambda: LADDER)())

    monkeypatch.setattr(RecordedCommands, "run", run)
    return texts


def rows_of(name: str, ran: list[str], folder: Path) -> list[dict[str, Any]]:
    """The rows of the file of an entry, which has its commands and where they ran."""
    assert run_command(entries.main, name, "--output", folder) is None
    stored = json.loads((folder / f"{name}.json").read_text())
    assert stored["commands"] == [f"python -m {text}" for text in dict.fromkeys(ran)]
    assert {"commit", "processor", "cores", "jax", "date", "env", "seeds", "cpu_seconds"} <= stored.keys()
    return stored["rows"]


def test_ladder_has_the_ratings_with_the_cost_of_a_move(ran: list[str], tmp_path: Path) -> None:
    first, second = tables.ratings_of(rows_of("ladder_boxes_solved", ran, tmp_path))
    assert ran[-1].startswith('train.ladder "dots_and_boxes(rows=3, cols=3, reward=margin)" "greedy"')
    assert first == Rating("solver(x.npz)", 1234.4, (900.0, None), 0.1234)
    assert second.agent == "random"
    assert "ladder_boxes_solved" in error_of(entries.main, "chess")


def test_switches_have_the_seconds_of_both_trainings_and_the_score(ran: list[str], tmp_path: Path) -> None:
    rows = rows_of("self_play_switches_boxes_3_3", ran, tmp_path)
    assert [row["ways"] for row in rows] == [[*WAYS]]
    table = table_of(rows, tables.SWITCHES)
    line = "| forced playouts | puct | 1,000 / 1,001 | 80 / 81 | 200 | 110 | 40 | 50 | 0.650 (0.582-0.713) | +108 "
    assert line in table


def test_solved_board_has_the_medians_of_the_seeds_by_teacher_and_search(
    ran: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_seeds = entries.solved("diamond_4_6", "minichess", "", *MEASURES, labels=9, taught=9, seeds=2)
    monkeypatch.setitem(ENTRIES, "solved_diamond_4_6", two_seeds)
    rows = rows_of("solved_diamond_4_6", ran, tmp_path)
    assert [row["seed"] for row in rows] == [0] * 6 + [1] * 6
    own, taught, searching, with_puct, more_puct, strong = tables.solved(rows).splitlines()[2:]
    assert own.startswith("| self-play | 0 | 10 | 0 of 2 | 1.00000 | 0.50000 | 12,345 | 0.25000 | 0.55000 |")
    assert searching.startswith("| self-play | 64 | 10 | 1 of 2 |")
    assert "| 0.65000 |" in searching  # of the first command that measures it
    assert with_puct.startswith("| self-play | 64, PUCT | 10 | 2 of 2 |")
    assert more_puct.startswith("| self-play | 256, PUCT | 10 | 2 of 2 |")
    assert taught.startswith("| then the exact solution | 0 | 30 | 2 of 2 |")  # self-play, labels and imitation
    assert strong.startswith("| self-play | 256 | 10 |  |  |  |  |  | 0.90000 |")


@pytest.mark.parametrize("name", ENTRIES)
def test_commands_have_arguments_that_their_modules_accept(name: str) -> None:
    """Trainings with switches differ in the search alone."""
    configs: list[dict[str, Any]] = []
    for text in ENTRIES[name].commands:
        module, *words = shlex.split(text)
        if module == "train.ladder":
            arguments = tyro.cli(ladder_command.Arguments, args=words)
            assert arguments.cost
            for agent in (agent for agent in arguments.agents if "runs/" not in agent):
                agents.make(agent, jaxgames.make(arguments.env))
        elif module == "train.match":
            assert len(tyro.cli(match.Arguments, args=words).agents) == 2
        elif module == "train.strength":
            assert len(tyro.cli(strength_command.Arguments, args=words).agents) <= 2
        elif module == "train.alphazero":
            config = cli.parse(learner_type("alphazero"), words).config
            assert jaxgames.make(config.env) == jaxgames.make(ENTRIES[name].env)
            configs.append(dataclasses.asdict(config))
    if name.startswith("self_play_switches"):
        differ = {field for config in configs for field in config if config[field] != configs[0][field]}
        assert differ == {"forced_playouts"}
        assert len(configs) == len(WAYS)


def test_tables_show_ends_that_are_not_bound_and_draws_as_half_points() -> None:
    unbound = tables.ladder([Rating("solver(x.npz)", 1234.4, (900.0, None), 0.1234), Rating("random", 0, (0, 0))])
    assert unbound.splitlines()[2:] == ["| `solver(x.npz)` | 1,234 | 900 to ? | 0.12 |", "| `random` | 0 | 0 to 0 |  |"]
    rate = WinRate("greedy", 100, 40, 20, 0.4, (0.3, 0.5), "train.match", "baseline(simulations=2)")
    games = tables.games([replace(baselines.card("checkers"), win_rates=(rate, rate, rate))])
    assert games.splitlines()[2:] == [
        "| `checkers` | `baseline(simulations=2)` | `greedy` | 100 | 40 | 20 | 40 | 0.500 (0.404-0.596) |"
    ]
