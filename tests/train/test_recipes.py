"""Every game has its line in the table of recipes, and the command line begins from it."""

import pytest

import jaxgames
from train import loop
from train.ppo import Config, Learner
from train.recipes import RECIPES, recipe


def test_every_game_has_a_recipe() -> None:
    assert sorted(RECIPES) == jaxgames.list_games()


@pytest.mark.parametrize("game", RECIPES)
def test_a_recipe_is_a_run_that_can_begin(game: str) -> None:
    learner = Learner(recipe(game))
    assert learner.env.id == game


def test_a_recipe_is_the_games_with_what_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden": (7,), "epochs": 2})
    game = "chinese_checkers(size=3)"
    assert recipe(game, epochs=5, seed=3) == Config(env=game, hidden=(7,), epochs=5, seed=3)


def test_the_command_line_begins_from_the_recipe_of_its_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "chinese_checkers", {"hidden": (7,), "epochs": 2})
    game = "chinese_checkers(size=3)"
    for words in (["--env", game, "--epochs", "5"], ["--epochs", "5", f"--env={game}"]):
        assert loop.parse(words).config == Config(env=game, hidden=(7,), epochs=5)
    assert loop.parse([]).config == Config(hidden=(7,), epochs=2)


def test_a_game_without_a_line_trains_with_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RECIPES, "chinese_checkers")
    assert recipe("chinese_checkers") == Config(env="chinese_checkers")
