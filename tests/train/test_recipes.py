"""Every game has its line in the table of recipes, and the command line begins from it."""

import pytest

import jaxgames
from train.driver import cli
from train.ppo import PPO, Config, config_for
from train.recipes import RECIPES


def test_every_game_has_a_recipe() -> None:
    assert sorted(RECIPES) == jaxgames.list_games()


@pytest.mark.parametrize("game", RECIPES)
def test_a_recipe_is_a_run_that_can_begin(game: str) -> None:
    learner = PPO(config_for(game))
    assert learner.env.id == game


def test_a_recipe_is_the_games_with_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden_sizes": (7,), "update_epochs": 2})
    game = "chinese_checkers(size=3)"
    assert config_for(game, update_epochs=5, seed=3) == Config(env=game, hidden_sizes=(7,), update_epochs=5, seed=3)


def test_the_command_line_begins_from_the_recipe_of_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden_sizes": (7,), "update_epochs": 2})
    game = "chinese_checkers(size=3)"
    for words in (["--env", game, "--update-epochs", "5"], ["--update-epochs", "5", f"--env={game}"]):
        assert cli.parse(PPO, config_for, words).config == Config(env=game, hidden_sizes=(7,), update_epochs=5)
    assert cli.parse(PPO, config_for, []).config == Config(hidden_sizes=(7,), update_epochs=2)


def test_a_game_without_a_line_trains_with_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RECIPES, "chinese_checkers")
    assert config_for("chinese_checkers") == Config(env="chinese_checkers")
