"""Every game has an entry in the table of recipes, and `config_for` begins from it."""

import dataclasses

import jax
import pytest

import jaxgames
from train.models.policy import Policy
from train.ppo import PPO, Config, config_for
from train.recipes import DEMO, IMITATION, PRESETS, RECIPES


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


# -- another network, presets --------------------------------------------------------------------------------------


def test_another_network_leaves_out_the_settings_of_the_recipes_own_network() -> None:
    recipe, other = config_for("checkers"), config_for("checkers", network="resnet(blocks=1)")
    assert recipe.channels
    assert recipe.hidden_sizes
    assert other == dataclasses.replace(recipe, network="resnet(blocks=1)", channels=(), hidden_sizes=())
    assert config_for("checkers", network="mlp", hidden_sizes=(8,)).hidden_sizes == (8,)


def test_preset_of_alpha_mini_is_a_run_that_can_start() -> None:
    learner = PPO(config_for(preset="alpha_mini"))
    assert learner.policy.network == Policy.of(learner.env, "shared", network="alpha_mini").network


def test_preset_from_imitation_takes_the_parameters_of_the_recipe_of_imitation() -> None:
    further = PPO(config_for(preset="from_imitation", init_from="runs/imitation"))
    start = Policy.of(further.env, "shared", network=IMITATION["checkers"]["network"])
    shapes = [jax.eval_shape(policy.init, jax.random.key(0)) for policy in (start, further.policy)]
    assert shapes[0] == shapes[1]


def test_preset_from_imitation_needs_a_run_to_start_from() -> None:
    with pytest.raises(ValueError, match="critic_warmup needs init_from: add --init-from runs/imitation"):
        config_for(preset="from_imitation")


def test_preset_of_alpha_mini_has_the_settings_of_the_study() -> None:
    config = config_for(preset="alpha_mini")
    assert config.steps_per_iteration == 1000
    assert config.minibatch_size == 100
    assert (config.learning_rate, config.anneal_lr, config.ent_coef) == (1e-5, False, 0)
    assert (config.gamma, config.gae_lambda) == (0.3, 1.0)
    assert config.num_iterations == 50


@pytest.mark.parametrize("size", [3, 4])
def test_preset_of_a_star_is_a_run_of_the_network_that_plans_hops(size: int) -> None:
    learner = PPO(config_for(preset=f"star_{size}"))
    assert (learner.env.id, learner.env.num_players) == ("chinese_checkers", 6)
    assert learner.env.observation_shape[0] == 4 * size + 1
    assert learner.policy.network == Policy.of(learner.env, "shared", network="hops(center=0.3)").network
    assert learner.opponents is not None


def test_preset_takes_another_game_and_changes() -> None:
    env = "minichess(board=baby)"
    config = config_for(env, preset="alpha_mini", gamma=0.5)
    assert config == dataclasses.replace(config_for(preset="alpha_mini"), env=env, gamma=0.5)


def test_preset_for_accelerators_changes_the_recipe_of_the_game() -> None:
    recipe, config = config_for("dots_and_boxes"), config_for("dots_and_boxes", preset="accelerator")
    assert config == dataclasses.replace(recipe, **PRESETS["accelerator"])
    assert (config.compute_dtype, config.channels, config.gae_lambda) == ("bfloat16", recipe.channels, 0.9)
    assert config.minibatch_size > 10 * recipe.minibatch_size
    assert recipe.compute_dtype == "float32"


def test_unknown_preset_is_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match="unknown preset 'alphazero'; the presets are accelerator, alpha_mini"):
        config_for(preset="alphazero")
