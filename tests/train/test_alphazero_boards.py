"""AlphaZero on several boards: one network, and for every board its own games and replay buffer."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

from tests.helpers.registrations import temporary_registrations
from train.alphazero import AlphaZero, Config, TrainState
from train.ops import sharding

FIRST, SECOND = "dots_and_boxes(rows=1, cols=2)", "dots_and_boxes(rows=2, cols=2)"
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
    """A learner, its train states before and after every iteration, and the metrics, all on the host."""

    learner: AlphaZero
    states: list[TrainState]
    metrics: list[dict[str, np.ndarray]]


def train(config: Config, iterations: int) -> Trained:
    learner = AlphaZero(config)
    iterate, state = jax.jit(learner.iterate), jax.jit(learner.init)(jax.random.key(config.seed))
    states, metrics = [on_host(state)], list[dict[str, np.ndarray]]()
    for _ in range(iterations):
        state, row = iterate(state)
        states.append(on_host(state))
        metrics.append(jax.device_get(row))
    return Trained(learner, states, metrics)


def on_host(state: TrainState) -> Any:
    return jax.device_get(sharding.keys_to_data(state))


def same(a: Any, b: Any) -> bool:
    """Bit for bit; metrics are NaN where no game ended."""

    def equal(x: Any, y: Any) -> bool:
        return x.dtype == y.dtype and np.array_equal(x, y, equal_nan=np.issubdtype(x.dtype, np.floating))

    return jax.tree.all(jax.tree.map(equal, a, b))


@pytest.fixture(scope="module")
def both(network: None) -> Trained:
    return train(BOTH, iterations=2)


@pytest.fixture(scope="module")
def alone(network: None) -> Trained:
    return train(ALONE, iterations=1)


# -- what an iteration does ----------------------------------------------------------------------------------------


def test_first_board_begins_as_in_a_run_of_its_own(both: Trained, alone: Trained) -> None:
    """It comes first in an iteration, with the same key: its games and samples are those of the run without others."""
    for before_or_after in (0, 1):
        assert same(both.states[before_or_after].games[0], alone.states[before_or_after].games[0])
    assert same(both.states[0]._replace(others=()), alone.states[0])
    assert same({name: both.metrics[0][name] for name in alone.metrics[0]}, alone.metrics[0])
    assert not same(both.states[1].params, alone.states[1].params)  # the second board trains them too


def test_every_board_has_games_and_samples_of_its_own(both: Trained) -> None:
    first, second = both.states[2].games
    assert (first.boards.edges.shape, second.boards.edges.shape) == ((8, 7), (8, 12))
    assert (first.replay.slots.shape, second.replay.slots.shape) == ((8, 24, 7), (8, 24, 8))
    assert first.replay.observation.shape[2:] == (6,)  # 3 x 5 x 3 bits
    assert second.replay.observation.shape[2:] == (10,)  # 5 x 5 x 3 bits
    filled = [(game.replay.slots[:, :, 0] > 0).mean(1) for game in (first, second)]
    assert all((share > 0).all() and (share <= 16 / 24).all() for share in filled)
    assert (second.replay.slots[:, :16].max((1, 2)) >= 7).all()  # actions that the first board does not have


def test_metrics_of_the_other_boards_have_the_game_behind_a_slash(both: Trained, alone: Trained) -> None:
    first = alone.metrics[0].keys()
    others = {f"{name}/dots_and_boxes(rows=2, cols=2, reward='win_loss')" for name in first - {"learning_rate"}}
    assert both.metrics[0].keys() == first | others


def test_steps_of_all_boards_count(both: Trained) -> None:
    assert BOTH.steps_per_iteration == 2 * ALONE.steps_per_iteration == 128
    assert BOTH.num_iterations == ALONE.num_iterations == 6
    assert both.learner.summary["other_envs"] == SECOND
    assert "other_envs" not in AlphaZero(ALONE).summary
