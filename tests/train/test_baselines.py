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
from jaxgames.baselines.cards import Command
from jaxgames.policies import file as exported
from tests.helpers.commands import error_of, last_json, run_command
from train import export, ladder, match, strength
from train.agents import LEARNERS, learner_type
from train.baselines import __main__ as command
from train.baselines import levels, tables
from train.baselines.entries import ENTRIES, WAYS, rows_of
from train.baselines.recorded_commands import RUNS, Record, RecordedCommands
from train.data import __main__ as data
from train.driver import cli
from train.driver.tables import entry_of

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
ARGUMENTS: dict[str, Any] = {  # of commands that are not learners
    "train.data": data.Arguments,
    "train.export": export.Arguments,
    "train.match": match.Arguments,
    "train.ladder": ladder.Arguments,
    "train.strength": strength.Arguments,
    race_learning.__name__: race_learning.Arguments,
}


def parsed(text: str) -> Any:
    """The arguments of a command as its module reads them; None for the demo, which has none, and for solvers."""
    module, *words = shlex.split(text)
    learner = module.removeprefix("train.")
    if learner in LEARNERS:
        return cli.parse(learner_type(learner), words)
    return None if module in ("examples.demo", "jaxgames.solvers") else tyro.cli(ARGUMENTS[module], args=words)


@pytest.mark.parametrize("name", NAMES)
def test_commands_of_a_card_make_its_file_and_play_games_of_its_board(name: str) -> None:
    card, games = baselines.card(name), dict[str, Any]()  # by run
    for text in (each.text for each in card.commands):
        arguments = parsed(text)
        if text.startswith("train.data") and (run := re.split("[(@]", arguments.play)[0]) in games:
            assert games[run] == jaxgames.make(arguments.env)  # other rewards would be refused
        elif text.split()[0].removeprefix("train.") in LEARNERS:
            games[str(arguments.settings.run_dir)] = jaxgames.make(arguments.config.env)
    assert f"--output {command.OUTPUT}/{name}.policy" in card.commands[-1].text
    played = [parsed(rate.command) for rate in card.win_rates]
    boards = [card.env, parsed(card.ladder_command).env, *(arguments.env for arguments in played)]
    assert {baselines.find(jaxgames.make(board)) for board in boards if board} == {name}
    assert all(arguments.agents[1] == rate.opponent for arguments, rate in zip(played, card.win_rates, strict=True))


@pytest.mark.parametrize("name", ENTRIES)
def test_commands_of_an_entry_have_arguments_that_their_modules_accept(name: str) -> None:
    """Trainings with switches differ in the search alone."""
    configs: list[dict[str, Any]] = []
    for text in ENTRIES[name]["commands"].splitlines():
        arguments = parsed(text)
        if text.startswith("train.ladder"):
            assert arguments.cost
            for agent in (agent for agent in arguments.agents if "runs/" not in agent):
                agents.make(agent, jaxgames.make(arguments.env))
        elif text.startswith("train.alphazero"):
            assert jaxgames.make(arguments.config.env) == jaxgames.make(ENTRIES[name]["env"])
            configs.append(vars(arguments.config))
    if name.startswith("self_play_switches"):
        first, second = configs
        assert [field for field in first if first[field] != second[field]] == ["forced_playouts"]


def test_stored_levels_are_those_of_the_recorded_ladders(tmp_path: Path) -> None:
    """The ladders are not played again: their records are in the file of the commands."""
    stored, lines = json.loads(level_agents.FILE.read_text())["boards"], list[str]()
    for board, of_board in zip(levels.BOARDS, stored, strict=True):
        rows = list(of_board["levels"].values())
        row = [{"agent": each["agent"], "elo": each["elo"], "elo_interval": each["interval"]} for each in rows]
        record = {"command": of_board["command"], "version": levels.version_of_baseline(board), "finished": True}
        lines.append(json.dumps(record | {"cpu_seconds": 1.0, "result": {"agents": row}}))
        texts = baselines.levels(jaxgames.make(board))
        assert of_board["command"] == levels.ladder_command(board, texts, levels.BOARDS[board])
    (tmp_path / "commands.jsonl").write_text("\n".join(lines) + "\n")
    records = RecordedCommands(tmp_path / "commands.jsonl")
    assert [levels.measure_board(*board, records) for board in levels.BOARDS.items()] == stored


def test_finished_command_is_not_run_again(tmp_path: Path) -> None:
    """The commands are those of Python's own module json.tool, which prints what it reads. A number is no result."""
    given, path = tmp_path / "given.json", tmp_path / "commands.jsonl"
    given.write_text('{"steps": 7}')
    text = f"json.tool --compact {given}"
    records = RecordedCommands(path)
    first = records.run(text)
    assert (first.finished, first.result) == (True, {"steps": 7})
    given.write_text('{"steps": 8}')
    assert records.run(text).result == {"steps": 7}
    assert records.run(text, "another version").result == {"steps": 8}
    for content, problem in (("no JSON", "failed"), ("12", "last line.*must be JSON")):
        given.write_text(content)
        with pytest.raises(ValueError, match=f"{problem}.*json.tool"):
            records.run(text, "a third version")
    given.write_text('{"steps": 9}')
    again = records.run(text, "a third version")
    stored = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["finished"] for row in stored] == [True, True, False, False, True]
    assert again.result == {"steps": 9}
    assert again.cpu_seconds == pytest.approx(sum(row["cpu_seconds"] for row in stored[2:]))


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
    assert card.ladder_command.endswith(f"_{card.sha256[:8]}")
    game, content = exported.read(tmp_path / "tiny.policy")
    assert card.env == str(game)
    assert {leaf.dtype.name for leaf in content.params} == {"float16"}
    records = len((tmp_path / RUNS / "commands.jsonl").read_text().splitlines())
    assert run_command(command.main, *arguments) is None
    assert len((tmp_path / RUNS / "commands.jsonl").read_text().splitlines()) == records


def test_switches_have_the_seconds_of_both_trainings_and_the_score() -> None:
    """110 wins and 40 draws of 200 games are a score of 0.65, which a lead of 107.5 points of Elo gives."""
    trainings = {way: Record(True, 80.0 + n, {"steps": 1000 + n}) for n, way in enumerate(WAYS)}
    played = Record(True, 1.0, {"games": 200, "agents": [{"wins": 110}, {"wins": 50}]})
    (row,) = rows_of("self_play_switches_minichess", {**trainings, "train.match": played})
    assert (row["steps"], row["cpu_seconds"], row["draws"], row["score"]) == ([1000, 1001], [80, 81], 40, 0.65)
    assert str(entry_of(row, tables.SWITCHES["Elo"])).startswith("+108 ")
    assert "ladder_boxes_solved" in error_of(command.main, "chess")


def test_rows_of_a_solved_board_have_the_first_measure_and_the_seconds_of_an_agent() -> None:
    """A taught agent has the seconds of self-play, of the labels and of imitation, here 10 + 20 + 40."""
    own, taught = "runs/board_3", "runs/board_3_taught"
    records = {
        f"train.alphazero --run-dir {own}": Record(True, 10.0, {}),
        "train.data --output runs/board_labels.npz": Record(True, 20.0, {}),
        f"train.imitation --init-from {own} --run-dir {taught}": Record(True, 40.0, {}),
    }
    for text, *measured in (
        (own, (own, "", 0.5), (taught, "", 0.75), (f"{own}@62", "64", 0.6)),
        (f"{own} again", (own, "64", 0.1)),
        (f"{own}(search=puct)", (f"{own}(search=puct)", "64", 0.7)),
    ):
        names = ("agent", "search", "strong_action")
        rows = [dict(zip(names, each, strict=True)) | {"simulations": int(each[1] or 0)} for each in measured]
        records[f"train.strength {text}"] = Record(True, 1.0, {"rows": rows})
    found = rows_of("solved_board", records)
    assert [(row["seed"], row["cpu_seconds"], row["simulations"], row["strong_action"]) for row in found] == [
        *((3, 10, 0, 0.5), (3, 70, 0, 0.75), (3, 10, 64, 0.6), (3, 10, 64, 0.7)),
    ]
    assert [row.get("rule") for row in found] == [None, None, None, "PUCT"]
