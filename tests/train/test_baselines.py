"""The command train.baselines: its recipes are sound, it does not repeat commands, and the page has its table."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import jaxgames
from jaxgames import agents, baselines, exported
from jaxgames.baselines import cards
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import ROOT
from train import baseline_recipes
from train import baselines as command
from train.baseline_recipes import OUTPUT, RUNS, Recipe
from train.recorded_commands import RecordedCommands

BOXES = "dots_and_boxes(rows=1, cols=1)"
TINY = Recipe(
    env=BOXES,
    training="For a test.",
    commands=(
        f'train.ppo --env "{BOXES}" --network "mlp(hidden_sizes=[4])" --total-steps 64 --num-envs 4 --rollout-length 8 '
        f"--num-minibatches 1 --evaluate-every 0 --run-dir {RUNS}/tiny",
        f"train.export {RUNS}/tiny --output {OUTPUT}/tiny.policy --half",
    ),
)


def test_every_agent_of_the_package_has_a_recipe_with_the_commands_of_its_card() -> None:
    assert sorted(baseline_recipes.RECIPES) == baselines.list_baselines()
    for name, recipe in baseline_recipes.RECIPES.items():
        card = baselines.card(name)
        assert baselines.find(jaxgames.make(recipe.env)) == name
        assert tuple(each.text for each in card.commands) == recipe.commands
        assert recipe.commands[-1].startswith("train.export ")
        assert f"--output {OUTPUT}/{name}.policy" in recipe.commands[-1]
        players = jaxgames.make(recipe.env).num_players
        assert [each.command for each in card.win_rates] == [
            recipe.match_command(opponent, players) for opponent in command.OPPONENTS
        ]
        assert card.ladder_command == recipe.ladder_command(name, card.sha256)
        assert card.training == recipe.training


def test_page_has_the_tables_of_the_cards() -> None:
    made = [baselines.card(name) for name in baselines.list_baselines()]
    page = (ROOT / "docs" / "baselines.md").read_text()
    assert command.table(made) in page
    assert command.ladders(made) in page


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    assert "name must be one of 'checkers'" in error_of(command.main, "chess")
    assert "add --no-measure" in error_of(command.main, "minichess", "--output", tmp_path)


def test_finished_command_is_not_run_again(tmp_path: Path) -> None:
    """The commands are those of Python's own module json.tool, which prints what it reads."""
    given, path = tmp_path / "given.json", tmp_path / "commands.jsonl"
    given.write_text('{"steps": 7}')
    text = "json.tool --compact FOLDER/given.json"
    records = RecordedCommands(path, {"FOLDER": tmp_path})
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


@pytest.mark.slow
def test_command_trains_an_agent_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "RECIPES", {"tiny": TINY})
    arguments = ("tiny", "--runs", tmp_path / "runs", "--output", tmp_path, "--no-measure")
    assert run_command(command.main, *arguments) is None
    card = cards.read(tmp_path / "tiny.json")
    assert last_json(capsys)["baselines"][0]["sha256"] == card.sha256
    assert [each.steps for each in card.commands] == [64, None]
    assert card.cpu_seconds is not None
    assert card.cpu_seconds > 0
    game, content = exported.read(tmp_path / "tiny.policy")
    assert card.env == str(game)
    assert {leaf.dtype.name for leaf in content.params} == {"float16"}
    agent: Any = agents.make(f"exported({tmp_path / 'tiny.policy'})", game)
    assert agent.params[0].dtype == "float16"
    records = len((tmp_path / "runs" / "commands.jsonl").read_text().splitlines())
    assert run_command(command.main, *arguments) is None
    assert len((tmp_path / "runs" / "commands.jsonl").read_text().splitlines()) == records


def test_commands_are_words_of_a_shell() -> None:
    for recipe in baseline_recipes.RECIPES.values():
        for text in recipe.commands:
            assert shlex.split(text)[0] in {
                "train.ppo",
                "train.alphazero",
                "train.imitation",
                "train.data",
                "train.export",
            }
