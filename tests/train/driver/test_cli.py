"""The command of a learner: defaults, --resume, refusals and help."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import (
    arguments_of,
    equal_checkpoints,
    last_train_state,
    metrics_of,
    train_in,
)
from tests.helpers.toy_learner import ToyLearner
from train.driver import cli
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config, config_for
from train.recipes import PRESETS, RECIPES

SETTINGS = Settings(checkpoint_every=2, evaluate_every=0)
CONFIG = toy_learner.Config(total_steps=20)


def ppo_main() -> None:
    """The command `python -m train.ppo`."""
    cli.main(PPO)


# -- defaults ------------------------------------------------------------------------------------------------


def parsed(*arguments: str) -> Any:
    return cli.parse(PPO, list(arguments)).config


def test_defaults_are_the_recipe_of_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever --env stands among the arguments."""
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden_sizes": (7,), "update_epochs": 2})
    game = "chinese_checkers(size=3)"
    expected = Config(env=game, hidden_sizes=(7,), update_epochs=5)
    assert parsed("--env", game, "--update-epochs", "5") == expected
    assert parsed("--update-epochs", "5", f"--env={game}") == expected
    assert parsed() == Config(hidden_sizes=(7,), update_epochs=2)


def test_network_and_preset_determine_the_defaults_of_the_other_settings() -> None:
    game = "chinese_checkers_diamond(size=3, pieces=1)"
    found = parsed("--learning-rate", "0.5", "--env", game, "--network", "resnet(blocks=1)")
    assert found == config_for(game, network="resnet(blocks=1)", learning_rate=0.5)
    assert found.channels == ()
    found = parsed("--preset", "alpha_mini", "--gamma", "0.5")
    assert found == config_for(preset="alpha_mini", gamma=0.5)
    message = error_of(ppo_main, "--preset", "other")
    assert message == f"train.ppo: unknown preset 'other'; the presets are {', '.join(PRESETS)}"


def test_resumed_run_has_its_own_settings_by_default(toy_run: Path) -> None:
    arguments = cli.parse(ToyLearner, ["--resume", "--run-dir", str(toy_run), "--seed", "4"])
    assert arguments.config == toy_learner.Config(total_steps=20, seed=4)
    assert arguments.settings == Settings(run_dir=toy_run, resume=True)


# -- resume --------------------------------------------------------------------------------------------------


def test_longer_run_continues_a_shorter_one(tmp_path: Path, toy_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "grown"
    train_in(folder, ToyLearner(toy_learner.Config(total_steps=12)), SETTINGS)
    assert run_command(toy_learner.main, *arguments_of(CONFIG, SETTINGS, folder), "--resume") == 0
    assert last_json(capsys)["steps"] == CONFIG.total_steps
    assert RunFolder.open(folder, ToyLearner).config == CONFIG
    assert equal_checkpoints(folder, toy_run)
    assert metrics_of(folder) == metrics_of(toy_run)


def test_finished_run_keeps_its_result(toy_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where the same settings are written out."""
    before = (toy_run / "result.json").read_text()
    for arguments in (("--run-dir", toy_run), arguments_of(CONFIG, SETTINGS, toy_run)):
        assert run_command(toy_learner.main, *arguments, "--resume") == 0
        assert capsys.readouterr().out == before == (toy_run / "result.json").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--total-steps", 4), "can only grow"),
        (("--learning-rate", 0.25, "--seed", 9), "other settings: seed was 0 and is 9; learning_rate was 0.5"),
    ],
)
def test_other_settings_are_refused_by_name(options: tuple[Any, ...], message: str, toy_run: Path) -> None:
    assert message in error_of(toy_learner.main, "--run-dir", toy_run, "--resume", *options)
    assert RunFolder.open(toy_run, ToyLearner).config == CONFIG


def test_folder_that_holds_a_run_is_refused_without_resume(toy_run: Path) -> None:
    before = last_train_state(toy_run)
    message = error_of(toy_learner.main, *arguments_of(CONFIG, SETTINGS, toy_run))
    assert f"{toy_run} holds a run already: add --resume" in message
    assert last_train_state(toy_run).iteration == before.iteration


def test_resume_of_an_empty_folder_starts_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new"
    assert run_command(toy_learner.main, *arguments_of(CONFIG, SETTINGS, folder), "--resume") == 0
    printed = capsys.readouterr().out  # one line of JSON, and nothing else
    assert json.loads(printed)["steps"] == CONFIG.total_steps
    assert printed == (folder / "result.json").read_text()
    assert "--resume needs the --run-dir" in error_of(toy_learner.main, "--resume")


# -- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--env", "chinese_checkers(size=9)"), "size must be an integer from 1 to 8, not 9"),
        (("--gamma", "2"), "gamma must be from 0 to 1, not 2"),
        (("--evaluate-every", "-1"), "evaluate_every must be 0 or more, not -1"),
        (("--devices", "3"), "devices must be at most 1"),
        (("--sharing", "some"), "shared_encoder"),
        (("--total-steps", "many"), "total-steps"),
        (("--nonsense", "1"), "nonsense"),
    ],
)
def test_wrong_value_is_refused_with_the_allowed_ones(
    option: tuple[str, str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a message and a status that is not 0, before a folder is made."""
    code = run_command(ppo_main, "--run-dir", tmp_path / "run", *option)
    assert code not in (0, None)
    printed = f"{code} {capsys.readouterr().err}"
    assert message in printed
    assert "Traceback" not in printed
    assert not (tmp_path / "run").exists()
