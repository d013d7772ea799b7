"""Settings of all learners: wrong ones are refused with what is allowed; recipes and presets can start."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from train import alphazero, imitation, klent, ppo, recipes
from train.driver.loop import Settings
from train.models.policy import Policy
from train.ppo import config_for
from train.recipes import PRESETS, RECIPES
from train.settings import NetworkConfig

PPO = ppo.Config(num_envs=16, rollout_length=24, num_minibatches=2)
AGAINST_RANDOM = dataclasses.replace(PPO, env="dots_and_boxes", opponents=("random",))
FROM_A_RUN = dataclasses.replace(PPO, init_from="a")
ALPHAZERO = alphazero.Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=16, rollout_length=8)
IMITATION, KLENT = imitation.Config(), klent.Config()
ALL_OF_PPO = dataclasses.replace(AGAINST_RANDOM, init_from="a", kl_coef=0.1)

WRONG: list[tuple[NetworkConfig, dict[str, Any], tuple[str, ...]]] = [  # and the words of the message
    (PPO, {"env": "chess"}, ("'chess'", "chinese_checkers")),
    (PPO, {"total_steps": 0}, ("total_steps must be at least 1 and less than 2**63, not 0",)),
    (PPO, {"hidden_sizes": (8, 0)}, ("hidden_sizes must be at least 1", "(8, 0)")),
    (PPO, {"env": "chinese_checkers", "rollout_length": 5}, ("rollout_length must be at least 6, the seats of",)),
    (PPO, {"num_minibatches": 385}, ("num_minibatches must be at most num_envs * rollout_length = 384",)),
    (PPO, {"learning_rate": 0.0}, ("learning_rate must be positive",)),
    (PPO, {"sharing": "all"}, ("sharing must be one of 'shared', 'shared_encoder', 'independent', not 'all'",)),
    (PPO, {"anneal_lr": 1}, ("anneal_lr must be of type bool, not 1",)),
    (PPO, {"hidden_sizes": (8.5,)}, ("hidden_sizes must be of type tuple[int, ...], not (8.5,)",)),
    (PPO, {"gamma": 1.1}, ("gamma must be from 0 to 1, not 1.1",)),
    (PPO, {"seed": 2**32}, ("seed must be from 0 to 2147483646, not 4294967296",)),  # JAX would take it for 0
    (PPO, {"critic_warmup": 3}, ("critic_warmup needs init_from: add --init-from runs/imitation, or leave",)),
    (FROM_A_RUN, {"final_kl_coef": 0.1}, ("final_kl_coef needs kl_coef: add --kl-coef 0.1, or leave",)),
    (AGAINST_RANDOM, {"opponents": ("random,,first",)}, ("opponents must be", "commas", "'random,,first'")),
    (AGAINST_RANDOM, {"learn_seats": (2,)}, ("learn_seats must be different seats from 0 to 1", "not 2")),
    (AGAINST_RANDOM, {"learn_seats": (0, 0)}, ("learn_seats must be different seats", "not 0 0")),
    (AGAINST_RANDOM, {"learn_seats": (0, 1)}, ("leave one to the opponents, not 0 1",)),
    (PPO, {"opponent_epsilon": 0.5}, ("opponent_epsilon needs opponents: add --opponents random",)),
    (PPO, {"learn_seats": (0,)}, ("learn_seats needs opponents: add --opponents random",)),
    (ALPHAZERO, {"other_envs": ("checkers",)}, ("other_envs must have the id of env, dots_and_boxes", "checkers")),
    (ALPHAZERO, {"other_envs": ("dots_and_boxes", "dots_and_boxes( rows=5)")}, ("( rows=5) is there twice",)),
    (ALPHAZERO, {"other_envs": (ALPHAZERO.env,)}, ("env and other_envs must be different boards", ALPHAZERO.env)),
    (ALPHAZERO, {"other_envs": ("dots_and_boxes(reward=boxes)",)}, ("must have the reward of env, win_loss", "boxes")),
    (ALPHAZERO, {"gumbel_scale": -1.0}, ("gumbel_scale must be a finite number from 0 on, not -1",)),
    (ALPHAZERO, {"ema": 1.0}, ("ema must be at least 0 and less than 1, not 1.0",)),
    (ALPHAZERO, {"forced_playouts": 2.0}, ("forced_playouts needs --search puct",)),
    (ALPHAZERO, {"lr_drop_after": 0}, ("lr_drop_after must be at least 1",)),
    (ALPHAZERO, {"replay_size": 127}, ("replay_size must be at least num_envs * rollout_length = 128, not 127",)),
]


@pytest.mark.parametrize(("config", "changes", "words"), WRONG)
def test_wrong_setting_is_refused_with_what_is_allowed(
    config: NetworkConfig, changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the words are compared below
        dataclasses.replace(config, **changes)
    assert [word for word in words if word not in str(error.value)] == []


@pytest.mark.parametrize(
    "config", [ALL_OF_PPO, dataclasses.replace(ALPHAZERO, search="puct"), IMITATION, KLENT, Settings()]
)
def test_every_setting_has_a_type_or_bounds_that_refuse_a_negative_number(config: Any) -> None:
    """The scale of Gumbel noise, which PUCT does not read, and opponents have rows above."""
    for name in vars(config).keys() - {"gumbel_scale", "opponents"}:
        with pytest.raises(ValueError, match=f"^{name} must be "):
            dataclasses.replace(config, **{name: -1})


def test_further_boards_need_a_network_for_any_board() -> None:
    config = dataclasses.replace(ALPHAZERO, other_envs=("dots_and_boxes(rows=1, cols=2)",))
    for network, named in (("resnet", "not resnet"), (None, "not the default network")):
        with pytest.raises(ValueError, match=f"other_envs needs a network .* such as --network graph, {named}"):
            alphazero.AlphaZero(dataclasses.replace(config, network=network))


def test_setting_that_is_traced_is_refused_in_words() -> None:
    with pytest.raises(
        TypeError,
        match=r"gamma must be a number .* PPO\(config, dataclasses.replace\(config.numbers, gamma=...\)\)",
    ):
        jax.eval_shape(jax.vmap(lambda gamma: ppo.Config(gamma=gamma).num_envs), jax.ShapeDtypeStruct((2,), "float32"))


def test_numbers_can_be_mapped_over_in_a_script() -> None:
    sizes: dict[str, Any] = {"num_envs": 4, "rollout_length": 4, "num_minibatches": 2, "total_steps": 32}
    config = ppo.Config(env="dots_and_boxes(rows=1, cols=1)", hidden_sizes=(4,), **sizes)

    def run(rate: jax.Array) -> Any:
        return ppo.train(config, jax.random.key(0), dataclasses.replace(config.numbers, learning_rate=rate))[1]

    rates = jnp.array([1e-3, 1e-3, 1e-2])
    of_runs = np.asarray(jax.jit(jax.vmap(run))(rates)["value_loss"])
    assert of_runs.shape == (3, config.num_iterations)
    np.testing.assert_array_equal(of_runs[0], of_runs[1])
    assert of_runs[2, 0] != of_runs[0, 0]


# -- recipes and presets -------------------------------------------------------------------------------------------


def test_every_game_has_a_recipe() -> None:
    assert sorted(RECIPES) == jaxgames.list_games()


LEARNERS = (ppo.PPO, alphazero.AlphaZero, imitation.Imitation, klent.KLENT)
STARTS: list[tuple[Any, dict[str, str]]] = [
    *((learner, {"env": game}) for learner in LEARNERS for game in learner.recipes),
    *((learner, {"preset": preset}) for learner in LEARNERS for preset in learner.presets),
]


@pytest.mark.parametrize(("learner", "given"), STARTS)
def test_recipe_or_preset_is_a_run_that_can_start(learner: Any, given: dict[str, str]) -> None:
    """A preset with a game has nothing of the game's recipe."""
    config = learner.config_for(**given, init_from="a run")
    assert 1e-5 <= config.learning_rate <= 5e-3
    assert 0 <= (getattr(config, "ent_coef", None) or 0) <= 0.2
    assert learner(config).env.id == given.get("env", learner(config).env.id)
    preset = learner.presets.get(given.get("preset"), {})
    assert "env" not in preset or config == learner.config_type(**preset, init_from="a run")


@pytest.mark.parametrize(
    ("learner", "preset", "of_study"),
    [
        (ppo.PPO, "alpha_mini", {"network": "alpha_mini", "anneal_lr": False, "ent_coef": 0, "opponents": ("random",)}),
        (ppo.PPO, "alpha_mini", {"steps_per_iteration": 1000, "minibatch_size": 100, "num_iterations": 50}),
        (ppo.PPO, "alpha_mini", {"learning_rate": 1e-5, "gamma": 0.3, "gae_lambda": 1}),
        (ppo.PPO, "parameter_sharing_paper", {"hidden_sizes": (64, 64), "update_epochs": 30, "learning_rate": 5e-5}),
        (ppo.PPO, "parameter_sharing_paper", {"anneal_lr": False, "gamma": 0.99, "gae_lambda": 1, "clip_coef": 0.3}),
        (ppo.PPO, "parameter_sharing_paper", {"step_kl_coef": 0.2, "target_kl": 0.01, "ent_coef": 0}),
        (ppo.PPO, "star_4", {"opponents": (*["greedy"] * 7, "random"), "ent_coef": 0}),
        (alphazero.AlphaZero, "paper", {"search": "puct", "simulations": 256, "td_lambda": 1, "symmetries": False}),
        (alphazero.AlphaZero, "paper", {"learning_rate": 1e-4, "final_learning_rate": 1e-5, "lr_drop_after": 20}),
        (imitation.Imitation, "larson", {"network": "larson", "batch_size": 128, "l2_coef": 5e-8, "legal_coef": 1}),
    ],
)
def test_preset_has_the_settings_of_its_study(learner: Any, preset: str, of_study: dict[str, Any]) -> None:
    config = learner.config_for(preset=preset)
    assert {name: getattr(config, name) for name in of_study} == of_study


def test_settings_are_the_recipe_with_the_changes() -> None:
    """Another network leaves out the settings of the recipe's own network; a preset takes another board."""
    recipe = config_for("checkers")
    assert (recipe.channels, recipe.hidden_sizes) != ((), ())
    assert config_for("checkers", seed=3, update_epochs=5) == dataclasses.replace(recipe, seed=3, update_epochs=5)
    other = config_for("checkers", network="resnet(blocks=1)")
    assert other == dataclasses.replace(recipe, network="resnet(blocks=1)", channels=(), hidden_sizes=())
    assert config_for("checkers", network="mlp", hidden_sizes=(8,)).hidden_sizes == (8,)
    preset, env = config_for(preset="alpha_mini"), "minichess(board=baby)"
    assert config_for(env, preset="alpha_mini", gamma=0.5) == dataclasses.replace(preset, env=env, gamma=0.5)


def test_preset_from_imitation_takes_the_parameters_of_the_recipe_of_imitation() -> None:
    further = ppo.PPO(config_for(preset="from_imitation", init_from="runs/imitation"))
    start = Policy.of(further.env, "shared", network=recipes.IMITATION["checkers"]["network"])
    shapes = [jax.eval_shape(policy.init, jax.random.key(0)) for policy in (start, further.policy)]
    assert shapes[0] == shapes[1]
    with pytest.raises(ValueError, match="critic_warmup needs init_from: add --init-from runs/imitation"):
        config_for(preset="from_imitation")


def test_preset_for_accelerators_changes_the_recipe_of_the_game() -> None:
    recipe, config = config_for("dots_and_boxes"), config_for("dots_and_boxes", preset="accelerator")
    assert config == dataclasses.replace(recipe, **PRESETS["accelerator"])
