"""Settings of AlphaZero: wrong values, recipes and presets."""

import dataclasses

import jax.numpy as jnp
import pytest

import jaxgames
from train.alphazero import AlphaZero, Config, config_for
from train.recipes import ALPHAZERO, ALPHAZERO_PRESETS

CONFIG = Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=16, rollout_length=8)


def learning_rate(config: Config, iteration: int) -> float:
    """The learning rate of an iteration, in its first and in its last gradient step."""
    learner, first = AlphaZero(config), iteration * config.num_updates
    rates = [float(learner.learning_rate(jnp.int32(step))) for step in (first, first + config.num_updates - 1)]
    assert rates[0] == rates[1]
    return rates[0]


@pytest.mark.parametrize(("network", "named"), [("resnet", "not resnet"), (None, "not the default network")])
def test_further_boards_need_a_network_for_any_board(network: str | None, named: str) -> None:
    config = dataclasses.replace(CONFIG, other_envs=("dots_and_boxes(rows=1, cols=2)",), network=network)
    with pytest.raises(
        ValueError, match=f"a network whose parameters fit every board, such as --network graph, {named}"
    ):
        AlphaZero(config)


def test_noise_belongs_to_the_search_of_self_play_and_to_its_rule() -> None:
    gumbel, puct = CONFIG.self_play_search, dataclasses.replace(CONFIG, search="puct").self_play_search
    assert (gumbel.gumbel_scale, gumbel.dirichlet_fraction) == (1, 0)
    assert (puct.gumbel_scale, puct.dirichlet_fraction, puct.dirichlet_alpha) == (0, 0.25, 10)
    for search in ("gumbel", "puct"):
        of_play = CONFIG.search_without_noise(64, search)
        assert (of_play.simulations, of_play.search, of_play.gamma) == (64, search, CONFIG.gamma)
        assert of_play.gumbel_scale == of_play.dirichlet_fraction == 0


def test_forced_playouts_need_puct() -> None:
    with pytest.raises(ValueError, match="forced_playouts needs --search puct"):
        dataclasses.replace(CONFIG, forced_playouts=2.0)
    assert dataclasses.replace(CONFIG, forced_playouts=2.0, search="puct").self_play_search.forced_playouts == 2


def test_learning_rate_falls_linearly_or_drops_once() -> None:
    steps = CONFIG.steps_per_iteration
    config = dataclasses.replace(CONFIG, total_steps=5 * steps, learning_rate=0.5, final_learning_rate=0.1)
    assert [round(learning_rate(config, i), 6) for i in range(5)] == [0.5, 0.4, 0.3, 0.2, 0.1]
    dropping = dataclasses.replace(config, lr_drop_after=2)
    assert [round(learning_rate(dropping, i), 6) for i in range(4)] == [0.5, 0.5, 0.1, 0.1]


# -- recipes and presets -------------------------------------------------------------------------------------------


def test_every_game_has_a_recipe() -> None:
    assert sorted(ALPHAZERO) == jaxgames.list_games()


@pytest.mark.parametrize("game", ALPHAZERO)
def test_recipe_is_a_run_that_can_start(game: str) -> None:
    assert AlphaZero(config_for(game)).env.id == game


@pytest.mark.parametrize("preset", ALPHAZERO_PRESETS)
def test_preset_is_a_run_that_can_start(preset: str) -> None:
    assert AlphaZero(config_for(preset=preset)).config == Config(**ALPHAZERO_PRESETS[preset])


def test_preset_of_the_paper_has_the_settings_of_the_study() -> None:
    config = config_for(preset="paper")
    assert (config.search, config.simulations, config.evaluation_simulations) == ("puct", 256, 1024)
    assert config.env == "chinese_checkers_diamond(size=4, pieces=3, max_plies=50)"
    assert config.truncation_is_draw
    assert config.num_iterations == 50
    assert [learning_rate(config, i) for i in (0, 19)] == pytest.approx([1e-4, 1e-4])
    assert learning_rate(config, 20) == pytest.approx(1e-5)
    assert config.l2_coef == 1e-5
    assert config.steps_per_iteration == 800 * 24  # 800 games of 24 steps


def test_preset_takes_another_game_network_and_changes() -> None:
    config = config_for("dots_and_boxes", preset="paper", network="mlp", seed=3)
    paper = config_for(preset="paper")
    assert config == dataclasses.replace(paper, env="dots_and_boxes", network="mlp", seed=3)
    with pytest.raises(ValueError, match="unknown preset 'study'; the presets are paper"):
        config_for(preset="study")
