"""The command train.baselines: the commands of the cards are sound, and finished ones do not run again."""

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
from tests.helpers.blocks import DOCS
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.sections import figures, section
from train import export, match
from train.agents import LEARNERS, learner_type
from train.baselines import __main__ as command
from train.baselines import levels
from train.baselines.recorded_commands import RUNS, Record, RecordedCommands
from train.data import __main__ as data
from train.driver import cli

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


@pytest.mark.parametrize("name", NAMES)
def test_figures_of_self_play_are_in_the_section_that_the_card_names(name: str) -> None:
    """Single digits, and numbers in the texts of agents, are not looked for."""
    card = baselines.card(name)
    if not card.self_play_source:
        assert card.self_play == "Not trained on this board."
        return
    page, _, anchor = card.self_play_source.partition("#")
    there = figures(section(DOCS.parent / page, anchor))
    named = figures(re.sub(r"`[^`]*`", "", card.self_play))
    assert [figure for value, figure in named.items() if len(figure) > 1 and value not in there] == []


def test_boards_of_the_file_are_those_that_are_measured_with_their_commands() -> None:
    stored = json.loads(level_agents.FILE.read_text())["boards"]
    assert [each["env"] for each in stored] == [str(jaxgames.make(board)) for board in levels.BOARDS]
    for (board, games), of_board in zip(levels.BOARDS.items(), stored, strict=True):
        texts = {name: row["agent"] for name, row in of_board["levels"].items()}
        assert of_board["games"] == games
        assert of_board["command"] == levels.ladder_command(board, texts, games)


def test_levels_have_another_folder_for_another_file_of_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder keeps its games in its folder and plays only missing ones, so two files cannot share a folder."""
    before, card = levels.ladder_command("minichess", {"medium": "baseline"}, 40), baselines.card("minichess")
    monkeypatch.setattr(cards, "card", lambda _: replace(card, sha256="another"))
    assert levels.ladder_command("minichess", {"medium": "baseline"}, 40) != before


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


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    assert "name must be one of 'checkers'" in error_of(command.main, "chess")
    assert "add --no-measure" in error_of(command.main, "minichess", "--output", tmp_path)


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


def test_commands_behind_a_changed_one_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def run(text: str, version: str = "") -> Record:
        seen.append((text, version))
        return Record(True, 1.0, {"parameters": 3})

    records = RecordedCommands(tmp_path / "commands.jsonl")
    monkeypatch.setattr(records, "run", run)
    for first in ("train.ppo", "train.ppo", "train.ppo --seed 1"):
        commands = tuple(Command(text, None, None) for text in (first, "train.data", "train.export"))
        command.trained(replace(baselines.card("minichess"), commands=commands), records, cards.FOLDER)
    once, again, changed = seen[:3], seen[3:6], seen[6:]
    assert once == again
    assert len({version for _, version in once}) == 3
    assert not {*once} & {*changed}


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
def test_commands_have_arguments_that_their_modules_accept(name: str) -> None:
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
