"""AlphaZero on several boards: one network, and for every board its own games and replay buffer."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
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
from train import agents, evaluate, match
from train.alphazero import AlphaZero, Config, TrainState
from train.driver.learner import check_load
from train.driver.loop import Settings
from train.driver.run_folder import RunFolder
from train.ladder import __main__ as ladder
from train.ops import sharding
from train.pretrained import load_params
from train.strength import __main__ as strength

FIRST, SECOND = "dots_and_boxes(rows=1, cols=2)", "dots_and_boxes(rows=2, cols=2)"
THIRD, OTHER_REWARD = "dots_and_boxes(rows=1, cols=3)", "dots_and_boxes(rows=1, cols=3, reward=boxes)"
NETWORK = "tests.helpers.patch_network:patch(width=8)"
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


@dataclasses.dataclass(frozen=True)
class Trained:
    """A learner, its train states before and after every iteration, and the metrics."""

    learner: AlphaZero
    states: list[TrainState]
    metrics: list[dict[str, np.ndarray]]


def train(config: Config, iterations: int) -> Trained:
    learner = AlphaZero(config)
    iterate, state = jax.jit(learner.iterate), jax.jit(learner.init)(jax.random.key(config.seed))
    trained = Trained(learner, [state], [])
    for _ in range(iterations):
        state, metrics = iterate(state)
        trained.states.append(state)
        trained.metrics.append(jax.device_get(metrics))
    return trained


def same(a: Any, b: Any) -> bool:
    """Bit for bit; metrics are NaN where no game ended."""
    a, b = jax.device_get(sharding.keys_to_data((a, b)))

    def equal(x: Any, y: Any) -> bool:
        return x.dtype == y.dtype and np.array_equal(x, y, equal_nan=np.issubdtype(x.dtype, np.floating))

    return jax.tree.all(jax.tree.map(equal, a, b))


@pytest.fixture(scope="module")
def both(network: None) -> Trained:
    return train(BOTH, iterations=2)


@pytest.fixture(scope="module")
def alone(network: None) -> Trained:
    return train(ALONE, iterations=1)


@pytest.fixture(scope="module")
def untrained_both(network: None) -> Trained:
    learner = AlphaZero(BOTH)
    return Trained(learner, [random_train_state(learner)], [])


@pytest.fixture(scope="module")
def run(untrained_both: Trained, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """The run on both boards, with the checkpoint before its first iteration."""
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "both", untrained_both.learner)
    folder.save(untrained_both.states[0])
    yield folder
    folder.close()


# -- what an iteration does ----------------------------------------------------------------------------------------


@pytest.mark.slow  # compiles a second learner, like the other tests of `alone`
def test_first_board_begins_as_in_a_run_of_its_own(both: Trained, alone: Trained) -> None:
    """It comes first in an iteration, with the same key: its games and samples are those of the run without others."""
    for before_or_after in (0, 1):
        assert same(both.states[before_or_after].games[0], alone.states[before_or_after].games[0])
    assert same(both.states[0]._replace(games=both.states[0].games[:1]), alone.states[0])
    assert same({name: both.metrics[0][name] for name in alone.metrics[0]}, alone.metrics[0])
    assert not same(both.states[1].params, alone.states[1].params)  # the second board trains them too


@pytest.mark.slow  # compiles an iteration; the test of the metrics traces it
def test_every_board_has_games_and_samples_of_its_own(both: Trained) -> None:
    first, second = jax.device_get(both.states[2].games)
    assert (first.boards.edges.shape, second.boards.edges.shape) == ((8, 7), (8, 12))
    assert (first.replay.slots.shape, second.replay.slots.shape) == ((8, 24, 7), (8, 24, 8))
    assert first.replay.position.shape[2:] == (6,)  # 3 x 5 x 3 bits
    assert second.replay.position.shape[2:] == (10,)  # 5 x 5 x 3 bits
    filled = [(game.replay.slots[:, :, 0] > 0).mean(1) for game in (first, second)]
    assert all((share > 0).all() and (share <= 16 / 24).all() for share in filled)
    assert (second.replay.slots[:, :16].max((1, 2)) >= 7).all()  # actions that the first board does not have


@pytest.mark.slow  # compiles for three seconds
def test_iteration_keeps_both_boards_and_the_metrics_of_the_second_have_the_game_behind_a_slash(
    untrained_both: Trained,
) -> None:
    state, metrics = jax.eval_shape(untrained_both.learner.iterate, untrained_both.states[0])
    assert [game.boards.edges.shape for game in state.games] == [(8, 7), (8, 12)]
    assert [game.replay.slots.shape for game in state.games] == [(8, 24, 7), (8, 24, 8)]
    first = {name for name in metrics if "dots_and_boxes" not in name}
    assert {"learning_rate", "policy_loss", "value_loss", "episode_length"} <= first
    others = {f"{name}/dots_and_boxes(rows=2, cols=2, reward='win_loss')" for name in first - {"learning_rate"}}
    assert metrics.keys() == first | others


def test_steps_of_all_boards_count(untrained_both: Trained) -> None:
    assert BOTH.steps_per_iteration == 2 * ALONE.steps_per_iteration == 128
    assert BOTH.num_iterations == ALONE.num_iterations == 6
    assert untrained_both.learner.headline["other_envs"] == SECOND
    assert "other_envs" not in AlphaZero(ALONE).headline


# -- stored runs ---------------------------------------------------------------------------------------------------


def test_train_state_of_both_boards_is_stored_whole(untrained_both: Trained, run: RunFolder) -> None:
    assert same(RunFolder.open(run.folder, AlphaZero).restore(), untrained_both.states[0])


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


def test_run_with_another_network_is_refused_on_another_board_with_the_network_that_plays_it(
    untrained: Runs, run: RunFolder
) -> None:
    with pytest.raises(ValueError, match=r"was trained on .*cols=2.*, not on .*cols=3.* such as --network graph"):
        agents.make(str(untrained.first), jaxgames.make(THIRD))
    with pytest.raises(ValueError, match=r"was trained on .*such as --network graph, plays other"):
        agents.env_for([str(run.folder), str(untrained.first)])


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


@pytest.mark.slow
def test_commands_play_or_start_from_a_run_on_a_board_that_it_has_not_learned(
    learned: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, env = learned.folder, "dots_and_boxes(rows=1, cols=3, reward=boxes)"
    assert run_command(match.main, f"{run}(simulations=4)", run, "--env", env, "--games", 20) is None
    assert last_json(capsys)["env"] == str(jaxgames.make(env))
    assert run_command(ladder.main, env, run, "--games", 20, "--output", tmp_path / "ladder") is None
    assert {row["agent"] for row in last_json(capsys)["agents"]} == {"random", f"{run}@30"}
    config = dataclasses.replace(learned.config, env=env, other_envs=(), init_from=str(run))
    check_load(AlphaZero(config))  # compares the shapes of the parameters
    for reward, has_values in (("boxes", True), ("win_loss", False)):
        env = f"dots_and_boxes(rows=1, cols=3, reward={reward})"
        assert run_command(strength.main, run, "--env", env, "--simulations", 4) is None
        row = last_json(capsys)["rows"][0]
        assert 0 < row["strong_action"] <= 1
        assert ("value_mse" in row) == has_values  # of the reward that it has learned
