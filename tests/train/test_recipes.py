"""Every game has an entry in the table of recipes, and `config_for` begins from it."""

import pytest

import jaxgames
from train.ppo import PPO, Config, config_for
from train.recipes import DEMO, RECIPES


def test_every_game_has_a_recipe() -> None:
    assert sorted(RECIPES) == jaxgames.list_games()


@pytest.mark.parametrize("game", RECIPES)
def test_recipe_is_a_run_that_can_start(game: str) -> None:
    assert PPO(config_for(game)).env.id == game


def test_demo_is_a_run_that_can_start() -> None:
    assert PPO(Config(**DEMO)).config.env == DEMO["env"]


def test_settings_are_the_recipe_with_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden_sizes": (7,), "update_epochs": 2})
    game = "chinese_checkers(size=3)"
    expected = Config(env=game, hidden_sizes=(7,), update_epochs=5, seed=3)
    assert config_for(game, update_epochs=5, seed=3) == expected


def test_game_without_a_recipe_trains_with_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RECIPES, "chinese_checkers")
    assert config_for("chinese_checkers") == Config(env="chinese_checkers")
