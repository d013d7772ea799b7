"""train.baselines.entries: commands that their modules accept, and rows and tables of records that are given."""

import shlex
from dataclasses import replace
from typing import Any

import pytest
import tyro

import jaxgames
from jaxgames import agents, baselines
from jaxgames.baselines.cards import Rating, WinRate
from tests.helpers.commands import error_of
from train import match
from train.agents import learner_type
from train.baselines import entries, tables
from train.baselines.entries import ENTRIES, WAYS, rows_of
from train.baselines.recorded_commands import Record
from train.driver import cli
from train.driver.tables import table_of
from train.ladder import __main__ as ladder_command
from train.strength import __main__ as strength_command

MEASURES = ("ultra_weak", "weak_states", "agent_states", "sure_fraction", "strong_action", "strong_decisive")


def test_ladder_has_the_ratings_with_the_cost_of_a_move() -> None:
    row = {"agent": "solver(x.npz)", "elo": 1234.4, "elo_interval": [900.0, None]}
    played = Record(True, 1.0, {"agents": [row], "cpu_ms": {"solver(x.npz)": 0.1234}})
    ratings = tables.ratings_of(rows_of("ladder_boxes_solved", {"train.ladder": played}))
    assert ratings == (Rating("solver(x.npz)", 1234.4, (900.0, None), 0.1234),)
    assert tables.ladder(ratings).splitlines()[2:] == ["| `solver(x.npz)` | 1,234 | 900 to ? | 0.12 |"]
    assert "ladder_boxes_solved" in error_of(entries.main, "chess")


def test_switches_have_the_seconds_of_both_trainings_and_the_score() -> None:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    trainings = {way: Record(True, 80.0 + n, {"steps": 1000 + n}) for n, way in enumerate(WAYS)}
    played = Record(True, 1.0, {"games": 200, "agents": [{"wins": 110}, {"wins": 50}]})
    rows = rows_of("self_play_switches_minichess", {**trainings, "train.match": played})
    line = "| forced playouts | puct | 1,000 / 1,001 | 80 / 81 | 200 | 110 | 40 | 50 | 0.650 (0.582-0.713) | +108 "
    assert line in table_of(rows, tables.SWITCHES)


def measures(agent: str, simulations: int, strong_action: float, weak_solved: bool | None = None) -> dict[str, Any]:
    """A row of `train.strength`; without `weak_solved` it has the strong measures only."""
    values = dict(zip(MEASURES, (1.0, 0.5, 12_345, 0.25, strong_action, 0.75), strict=True))
    kept = values | {"weak_solved": weak_solved} if weak_solved is not None else {"strong_action": strong_action}
    return {"agent": agent, "search": f"{simulations} sims" if simulations else "", "simulations": simulations, **kept}


def test_solved_board_has_the_medians_of_the_seeds_by_teacher_and_search() -> None:
    records: dict[str, Record] = {"jaxgames.solvers": Record(True, 1000.0, {})}
    for seed in (0, 1):
        run = f"runs/board_{seed}"
        for text in (f"train.alphazero --run-dir {run}", "train.data --output runs/board_labels.npz"):
            records[text] = Record(True, 10.0, {})
        records[f"train.imitation --init-from {run} --run-dir {run}_taught"] = Record(True, 10.0, {})
        first = [measures(run, 0, 0.5 + seed / 10, False), measures(f"{run}_taught", 0, 1.0, True)]
        searching = [measures(f"{run}@62", 64, 0.6 + seed / 10, seed > 0), measures(run, 256, 0.9)]
        of_puct = [measures(f"{run}@62(search=puct)", 64, 0.7, True)]
        for number, rows in enumerate((first, searching, of_puct)):
            words = f"'{run}(search=puct)'" if rows is of_puct else run
            records[f"train.strength {words} {number}"] = Record(True, 1.0, {"rows": rows})
        records[f"train.strength {run} again"] = Record(True, 1.0, {"rows": [measures(run, 64, 0.1)]})
    rows = rows_of("solved_board", records)
    assert [row["seed"] for row in rows] == [0] * 5 + [1] * 5
    own, taught, searching, wide, of_puct = tables.solved(rows).splitlines()[2:]
    assert own.startswith("| self-play | 0 | 10 | 0 of 2 | 1.00000 | 0.50000 | 12,345 | 0.25000 | 0.55000 |")
    assert taught.startswith("| then the exact solution | 0 | 30 | 2 of 2 |")  # self-play, labels and imitation
    assert searching.startswith("| self-play | 64 | 10 | 1 of 2 |")
    assert "| 0.65000 |" in searching  # of the first command that measures it
    assert wide.startswith("| self-play | 256 | 10 |  |  |  |  |  | 0.90000 |")
    assert of_puct.startswith("| self-play | 64, PUCT | 10 | 2 of 2 |")


@pytest.mark.parametrize("name", ENTRIES)
def test_commands_have_arguments_that_their_modules_accept(name: str) -> None:
    """Trainings with switches differ in the search alone."""
    configs: list[dict[str, Any]] = []
    for text in ENTRIES[name]["commands"].splitlines():
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
            assert jaxgames.make(config.env) == jaxgames.make(ENTRIES[name]["env"])
            configs.append(vars(config))
    if name.startswith("self_play_switches"):
        first, second = configs
        assert [field for field in first if first[field] != second[field]] == ["forced_playouts"]


def test_draws_are_half_points_in_the_table_of_games() -> None:
    rate = WinRate("greedy", 100, 40, 20, 0.4, (0.3, 0.5), "train.match", "baseline(simulations=2)")
    games = tables.games([replace(baselines.card("checkers"), win_rates=(rate, rate, rate))])
    assert games.splitlines()[2:] == [
        "| `checkers` | `baseline(simulations=2)` | `greedy` | 100 | 40 | 20 | 40 | 0.500 (0.404-0.596) |"
    ]
