"""Recorded commands of baseline agents and results: they are sound, finished ones do not run again, and their rows."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tyro

import jaxgames
from examples.papers.parameter_sharing.turn_search import learning as race_learning
from jaxgames import agents, baselines
from jaxgames.baselines import cards, level_agents
from jaxgames.baselines.cards import Command, Rating, WinRate
from jaxgames.policies import file as exported
from tests.helpers.commands import error_of, last_json, run_command
from train import export, match
from train import ladder as ladder_command
from train import strength as strength_command
from train.agents import LEARNERS, learner_type
from train.baselines import __main__ as command
from train.baselines import entries, levels, tables
from train.baselines.entries import ENTRIES, WAYS, rows_of
from train.baselines.recorded_commands import RUNS, Record, RecordedCommands
from train.data import __main__ as data
from train.driver import cli
from train.driver.tables import table_of

NAMES = baselines.list_baselines()
BOXES = "dots_and_boxes(rows=1, cols=1)"
TINY = replace(
    baselines.card("dots_and_boxes"),
    name="tiny",
    commands=(
        Command(
            f'train.ppo --env "{BOXES}" --network "mlp(hidden_sizes=[4])" --total-steps 64 --num-envs 4 '
            f"--rollout-length 8 --num-minibatches 1 --evaluate-every 0 --run-dir {RUNS}/tiny",
            *(None, None),
        ),
        Command(f"train.export {RUNS}/tiny --output {command.OUTPUT}/tiny.policy --bits 16", None, None),
    ),
)


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_a_card_make_its_file_and_play_games_of_its_board(name: str) -> None:
    card = baselines.card(name)
    assert f"--output {command.OUTPUT}/{name}.policy" in card.commands[-1].text
    played = [tyro.cli(match.Arguments, args=shlex.split(rate.command)[1:]) for rate in card.win_rates]
    boards = [card.env, shlex.split(card.ladder_command)[1], *(arguments.env for arguments in played)]
    assert {baselines.find(jaxgames.make(board)) for board in boards if board} == {name}
    assert all(arguments.agents[1] == rate.opponent for arguments, rate in zip(played, card.win_rates, strict=True))


def test_boards_of_the_file_are_those_that_are_measured_with_their_commands() -> None:
    stored = json.loads(level_agents.FILE.read_text())["boards"]
    assert [each["env"] for each in stored] == [str(jaxgames.make(board)) for board in levels.BOARDS]
    for (board, games), of_board in zip(levels.BOARDS.items(), stored, strict=True):
        texts = {name: row["agent"] for name, row in of_board["levels"].items()}
        assert of_board["games"] == games
        assert of_board["command"] == levels.ladder_command(board, texts, games)


def test_measured_board_has_the_ratings_of_its_ladder(tmp_path: Path) -> None:
    """The ladder has been played before: its record is in the file of the commands."""
    board = "checkers"
    texts = baselines.levels(jaxgames.make(board))
    rows = [{"agent": text, "elo": 10.0 * n, "elo_interval": [n, None]} for n, text in enumerate(texts.values())]
    text = levels.ladder_command(board, texts, levels.BOARDS[board])
    record = {"command": text, "version": baselines.card("checkers").sha256, "finished": True, "cpu_seconds": 1.0}
    (tmp_path / "commands.jsonl").write_text(json.dumps(record | {"result": {"agents": rows}}) + "\n")
    measured = levels.measure_board(board, levels.BOARDS[board], RecordedCommands(tmp_path / "commands.jsonl"))
    assert measured["levels"]["hard"] == {"agent": texts["hard"], "elo": 20.0, "interval": [2, None]}
    assert measured["command"] == text


def test_finished_command_is_not_run_again(tmp_path: Path) -> None:
    """The commands are those of Python's own module json.tool, which prints what it reads."""
    given, path = tmp_path / "given.json", tmp_path / "commands.jsonl"
    given.write_text('{"steps": 7}')
    text = f"json.tool --compact {given}"
    records = RecordedCommands(path)
    first = records.run(text)
    assert (first.finished, first.result) == (True, {"steps": 7})
    given.write_text('{"steps": 8}')
    assert records.run(text).result == {"steps": 7}
    assert records.run(text, "another version").result == {"steps": 8}
    given.write_text("no JSON")
    with pytest.raises(ValueError, match=r"failed.*json.tool"):
        records.run(text, "a third version")
    given.write_text('{"steps": 9}')
    again = records.run(text, "a third version")
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["finished"] for row in stored] == [True, True, False, True]
    assert again.result == {"steps": 9}
    assert again.cpu_seconds == pytest.approx(stored[2]["cpu_seconds"] + stored[3]["cpu_seconds"])


def test_command_without_a_result_is_recorded_as_not_finished(tmp_path: Path) -> None:
    """The module tabnanny prints nothing for a file without tabs, and a number is no result."""
    given, path = tmp_path / "given.json", tmp_path / "commands.jsonl"
    given.write_text("12")
    for module in ("tabnanny", "json.tool --compact"):
        with pytest.raises(ValueError, match=f"last line.*must be JSON: python -m {module}"):
            RecordedCommands(path).run(f"{module} {given}")
    assert [json.loads(line)["finished"] for line in path.read_text().splitlines()] == [False, False]


@pytest.mark.slow
def test_command_trains_an_agent_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cards, "FOLDER", tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.json").write_text(command.json_of(TINY))
    arguments = ("tiny", "--output", tmp_path, "--no-measure")
    assert run_command(command.main, *arguments) is None
    card = cards.read(tmp_path / "tiny.json")
    assert last_json(capsys)["baselines"][0]["sha256"] == card.sha256
    assert [each.steps for each in card.commands] == [64, None]
    assert [each.command for each in card.win_rates] == [each.command for each in TINY.win_rates]
    assert card.ladder_command.endswith(f"_{card.sha256[:8]}")
    assert sum(each.cpu_seconds or 0 for each in card.commands) > 0
    game, content = exported.read(tmp_path / "tiny.policy")
    assert card.env == str(game)
    assert {leaf.dtype.name for leaf in content.params} == {"float16"}
    agent: Any = agents.make(f"exported({tmp_path / 'tiny.policy'})", game)
    assert agent.params[0].dtype == "float16"
    records = len((tmp_path / RUNS / "commands.jsonl").read_text().splitlines())
    assert run_command(command.main, *arguments) is None
    assert len((tmp_path / RUNS / "commands.jsonl").read_text().splitlines()) == records


OTHERS: dict[str, Any] = {  # the arguments of commands that are not learners
    "train.data": data.Arguments,
    "train.export": export.Arguments,
    race_learning.__name__: race_learning.Arguments,
}


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_a_card_have_arguments_that_their_modules_accept(name: str) -> None:
    games: dict[str, Any] = {}  # by run
    for each in baselines.card(name).commands:
        module, *words = shlex.split(each.text)
        learner = module.removeprefix("train.")
        if learner in LEARNERS:
            parsed = cli.parse(learner_type(learner), words)
            games[str(parsed.settings.run_dir)] = jaxgames.make(parsed.config.env)
        elif module == "examples.demo":
            assert not words  # it has no arguments
        else:
            arguments = tyro.cli(OTHERS[module], args=words)
            if module == "train.data" and (run := re.split("[(@]", arguments.play)[0]) in games:
                assert games[run] == jaxgames.make(arguments.env)  # other rewards would be refused


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
def test_commands_of_an_entry_have_arguments_that_their_modules_accept(name: str) -> None:
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
