"""Settings of AlphaZero, and several boards: one network, and for every board its own games and replay buffer."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.agents import analyse
from jaxgames.mcts import SearchAgent
from tests.helpers.commands import last_json, run_command
from tests.helpers.registrations import temporary_registrations
from tests.helpers.stored_runs import random_train_state, train_in
from tests.train.conftest import Runs
from train import agents, evaluate
from train.alphazero import AlphaZero, Config, TrainState, config_for
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ops import sharding
from train.pretrained import load_params
from train.recipes import ALPHAZERO, ALPHAZERO_PRESETS

FIRST, SECOND = "dots_and_boxes(rows=1, cols=2)", "dots_and_boxes(rows=2, cols=2)"
THIRD, OTHER_REWARD = "dots_and_boxes(rows=1, cols=3)", "dots_and_boxes(rows=1, cols=3, reward=boxes)"
NETWORK = "tests.helpers.networks:patch(width=8)"
ALONE = Config(
    env=FIRST,
    network=NETWORK,
    total_steps=6 * 64,
    num_envs=8,
    rollout_length=8,
    simulations=2,
    slots=8,  # more than the 7 actions of the first board, fewer than the 12 of the second one
    random_starts=0.5,
    replay_size=3 * 64,
    num_updates=2,
    minibatch_size=32,
    ema=0.9,
)
BOTH = dataclasses.replace(ALONE, other_envs=(SECOND,), total_steps=6 * 128)


@pytest.fixture(scope="module", autouse=True)
def network() -> Iterator[None]:
    """Takes back the registration of the network."""
    with temporary_registrations():
        yield


def same(a: Any, b: Any) -> bool:
    """Bit for bit; metrics are NaN where no game ended."""
    a, b = jax.device_get(sharding.keys_to_data((a, b)))

    def equal(x: Any, y: Any) -> bool:
        return x.dtype == y.dtype and np.array_equal(x, y, equal_nan=np.issubdtype(x.dtype, np.floating))

    return jax.tree.all(jax.tree.map(equal, a, b))


@pytest.fixture(scope="module")
def train_state(network: None) -> TrainState:
    return random_train_state(AlphaZero(BOTH))


@pytest.fixture(scope="module")
def run(train_state: TrainState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """The run on both boards, with the checkpoint before its first iteration."""
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "both", AlphaZero(BOTH))
    folder.save(train_state)
    yield folder
    folder.close()


# -- what an iteration does ----------------------------------------------------------------------------------------


@pytest.mark.slow  # compiles for three seconds
def test_iteration_keeps_both_boards_and_the_metrics_of_the_second_have_the_game_behind_a_slash(
    train_state: TrainState,
) -> None:
    state, metrics = jax.eval_shape(AlphaZero(BOTH).iterate, train_state)
    assert [game.boards.edges.shape for game in state.games] == [(8, 7), (8, 12)]
    assert [game.replay.slots.shape for game in state.games] == [(8, 24, 7), (8, 24, 8)]
    first = {name for name in metrics if "dots_and_boxes" not in name}
    assert {"learning_rate", "policy_loss", "value_loss", "episode_length"} <= first
    others = {f"{name}/dots_and_boxes(rows=2, cols=2, reward='win_loss')" for name in first - {"learning_rate"}}
    assert metrics.keys() == first | others


def test_steps_of_all_boards_count() -> None:
    assert BOTH.steps_per_iteration == 2 * ALONE.steps_per_iteration == 128
    assert BOTH.num_iterations == ALONE.num_iterations == 6
    assert AlphaZero(BOTH).headline["other_envs"] == SECOND
    assert "other_envs" not in AlphaZero(ALONE).headline


# -- stored runs ---------------------------------------------------------------------------------------------------


def test_train_state_of_both_boards_is_stored_whole(train_state: TrainState, run: RunFolder) -> None:
    assert same(RunFolder.open(run.folder, AlphaZero).restore(), train_state)


# -- agents on other boards ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [THIRD, OTHER_REWARD])
def test_agent_plays_every_board_of_the_game(text: str, run: RunFolder) -> None:
    env = jaxgames.make(text)
    agent = agents.make(f"{run.folder}(temperature=0)", env)
    board = jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2))
    probabilities, values = jax.eval_shape(analyse, agent, board)
    assert probabilities.shape == (2, env.num_actions)
    assert values is not None
    assert same(jax.tree.leaves(agent), jax.tree.leaves(run.params()))
    shapes = [jax.tree.map(jnp.shape, each) for each in (agents.abstract_agent(str(run.folder), env), agent)]
    assert shapes[0] == shapes[1]


def test_agent_searches_with_the_reward_that_it_has_learned(run: RunFolder) -> None:
    agent: Any = agents.make(f"{run.folder}(simulations=2)", jaxgames.make(OTHER_REWARD))
    assert isinstance(agent, SearchAgent)
    assert agent.env == jaxgames.make("dots_and_boxes(rows=1, cols=3, reward=win_loss)")


def test_run_for_any_board_is_refused_on_another_game(run: RunFolder) -> None:
    with pytest.raises(ValueError, match=r"was trained on dots_and_boxes\(.*\), not on minichess\(.*\)$"):
        agents.make(str(run.folder), jaxgames.make("minichess"))


def test_game_of_a_match_is_that_of_the_first_run_or_the_one_that_is_given(untrained: Runs, run: RunFolder) -> None:
    runs = [str(run.folder), str(untrained.first)]  # the second one plays only 2 x 2 boxes
    assert agents.env_for(runs[:1]) == jaxgames.make(FIRST)
    assert agents.env_for(runs[:1], THIRD) == jaxgames.make(THIRD)
    assert agents.env_for(runs[::-1]) == agents.env_for(runs, SECOND) == jaxgames.make(SECOND)


def test_new_run_on_another_board_starts_from_the_parameters(run: RunFolder) -> None:
    config = dataclasses.replace(ALONE, env=THIRD, init_from=str(run.folder))
    assert same(load_params(str(run.folder), run.params(), config), run.params())


# -- learning ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of the graph network on boards of two and of four boxes."""
    first, second = (f"dots_and_boxes(rows={rows}, cols=2, reward=boxes)" for rows in (1, 2))
    config = Config(
        env=first,
        other_envs=(second,),
        network="graph(rounds=2, width=16)",
        total_steps=30 * 2 * 512,
        num_envs=32,
        rollout_length=16,
        simulations=8,
        gamma=1.0,
        random_starts=0.3,
        random_plies=6,
        replay_size=4096,
        num_updates=8,
        minibatch_size=128,
        learning_rate=3e-3,
        ema=0.9,
    )
    folder = tmp_path_factory.mktemp("runs") / "learned"
    train_in(folder, AlphaZero(config), Settings(evaluate_every=0, keep_every=30))
    return RunFolder.open(folder, AlphaZero)


@pytest.mark.slow
def test_run_on_two_boards_beats_random_on_a_third(learned: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Its first parameters do not."""
    rates: list[float] = []
    for iteration in (0, 30):
        text, env = f"{learned.folder}@{iteration}", "dots_and_boxes(rows=2, cols=3)"
        assert run_command(evaluate.main, text, "--env", env, "--games", 400) is None
        rates.append(last_json(capsys)["win_rate"])
    assert rates[0] < 0.7
    assert rates[1] > 0.85


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


@pytest.mark.parametrize("game", ALPHAZERO)
def test_recipe_is_a_run_that_can_start(game: str) -> None:
    assert AlphaZero(config_for(game)).env.id == game


@pytest.mark.parametrize("preset", ALPHAZERO_PRESETS)
def test_preset_is_a_run_that_can_start(preset: str) -> None:
    assert AlphaZero(config_for(preset=preset)).config == Config(**ALPHAZERO_PRESETS[preset])
