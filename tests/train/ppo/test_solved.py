"""Games that are solved exactly: the greedy policy that PPO learns is optimal at every position that can be reached.

The game is `tests.helpers.sticks`. A solver is written out here for each question. JAX refuses a run that uses a key
twice, in one iteration or in two.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.helpers.networks import clipped_norm
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import Sticks
from train import ppo
from train.ppo import PPO, Config, TrainState

EPSILON = 0.5  # of the opponent in training against it
Values = list[float]  # of taking 1, 2, ... sticks


@pytest.fixture(autouse=True)
def sticks() -> None:
    """Registers the game for `jaxgames.make`."""
    jaxgames.register("sticks", Sticks)


def trained(env: str, iterations: int = 40, **changes: Any) -> tuple[PPO, TrainState]:
    """The learner and its state after a short run."""
    config = Config(
        env=env,
        total_steps=iterations * 32 * 32,
        num_envs=32,
        rollout_length=32,
        update_epochs=4,
        num_minibatches=4,
        learning_rate=0.02,
        max_grad_norm=0.001,  # shorter than any gradient of the run
        gamma=1.0,
        ent_coef=0.05,  # enough to visit every position until the end
        hidden_sizes=(32,),
        **changes,
    )
    with jax.debug_key_reuse(True):
        train_state, _ = jax.jit(functools.partial(ppo.train, config))(jax.random.key(0))
    return PPO(config), train_state


@pytest.fixture(scope="module")
def self_play() -> tuple[PPO, TrainState]:
    with temporary_registrations():
        jaxgames.register("sticks", Sticks)
        return trained("sticks(num_players=2, sticks=9)")


def positions(game: Sticks) -> Any:
    """All positions with sticks left, [sticks, num_players] in one axis: first all seats at one stick."""
    left, seats = np.divmod(np.arange(game.sticks * game.num_players), game.num_players)
    return jax.vmap(game.at)(jnp.asarray(left + 1), jnp.asarray(seats))


def greedy_actions_and_values(learner: PPO, params: Any, game: Sticks) -> tuple[np.ndarray, np.ndarray]:
    """int and float [sticks, num_players], the greedy action and the mover's value at every position."""

    @jax.jit
    def found(params: Any) -> tuple[jax.Array, jax.Array]:
        boards = positions(game)
        actions = learner.agent(params, temperature=0.0).act(jax.random.key(0), boards)
        return actions, learner.policy.apply(params, jax.vmap(game.observe)(boards), boards.current_player)[1]

    actions, values = jax.device_get(found(params))
    return actions.reshape(game.sticks, game.num_players), values.reshape(game.sticks, game.num_players)


def check_greedy(actions: np.ndarray, values_at: Callable[[int], Values], strict_at: list[int]) -> None:
    """Asserts that the actions are optimal for all seats at all positions, `strict_at` of which have a worse action."""
    found: list[int] = []
    for left in range(1, len(actions) + 1):
        values = np.array(values_at(left))
        optimal = np.flatnonzero(values >= values.max() - 1e-9)
        if len(optimal) < len(values):
            found.append(left)
            assert {*actions[left - 1].tolist()} <= {*optimal.tolist()}, f"{left} sticks: {values}"
    assert found == strict_at


def self_play_values(left: int) -> Values:
    """The value of each action for the mover, of two players who both play optimally: 1 is a win, -1 a loss."""
    return [1.0 if take == left else -max(self_play_values(left - take)) for take in range(1, min(3, left) + 1)]


def best_reply_values(left: int) -> Values:
    """The value of each action against the opponent that takes one stick, or with EPSILON a random legal number."""

    def after(left: int) -> float:
        """The learner's value where the opponent is to move."""
        most = min(3, left)
        chances = [EPSILON / most + (1 - EPSILON) * (take == 1) for take in range(1, most + 1)]
        results = [-1.0 if take == left else max(best_reply_values(left - take)) for take in range(1, most + 1)]
        return sum(chance * result for chance, result in zip(chances, results, strict=True))

    return [1.0 if take == left else after(left - take) for take in range(1, min(3, left) + 1)]


def test_greedy_policy_of_self_play_is_optimal_at_every_position(self_play: tuple[PPO, TrainState]) -> None:
    """The mover leaves a multiple of four sticks wherever it can; where it cannot, every move loses."""
    game = Sticks(num_players=2, sticks=9)
    actions, value = greedy_actions_and_values(self_play[0], self_play[1].params, game)
    assert [self_play_values(left).index(1) + 1 for left in (1, 2, 3, 5, 6, 7, 9)] == [1, 2, 3, 1, 2, 3, 1]
    check_greedy(actions, self_play_values, [2, 3, 5, 6, 7, 9])
    assert (value[[3, 7]] < -0.5).all()  # lost: four or eight sticks
    assert (value[[0, 1, 2]] > 0.8).all()


def test_gradients_are_clipped_to_their_largest_norm(self_play: tuple[PPO, TrainState]) -> None:
    """Adam's second moments, a mean of squared gradients, then add up to the square of the norm."""
    learner, train_state = self_play
    assert clipped_norm(train_state.opt_state) == pytest.approx(learner.config.max_grad_norm, rel=1e-4)


@pytest.mark.slow
def test_greedy_policy_against_a_fixed_opponent_is_the_best_reply_to_it() -> None:
    """It takes one of four sticks, where all moves lose against a perfect opponent."""
    game = Sticks(num_players=2, sticks=7)
    changes: dict[str, Any] = {"opponents": ("first",), "opponent_epsilon": EPSILON}
    learner, train_state = trained("sticks(num_players=2, sticks=7)", iterations=100, **changes)
    assert np.argmax(best_reply_values(4)) == 0
    check_greedy(greedy_actions_and_values(learner, train_state.params, game)[0], best_reply_values, [2, 3, 4, 5, 6, 7])


@pytest.mark.slow  # one more compilation of a run
def test_three_seats_play_and_value_sticks_as_solved() -> None:
    """With up to three sticks the mover takes them all and wins 2; with four sticks the mover loses 1."""
    learner, train_state = trained("sticks", iterations=100)
    actions, value = greedy_actions_and_values(learner, train_state.params, Sticks())
    np.testing.assert_array_equal(actions[:3], [[0] * 3, [1] * 3, [2] * 3])
    np.testing.assert_allclose(value[:3], 1.0, atol=0.1)  # rewards are divided by 2
    assert ((value[3] > -0.7) & (value[3] < -0.2)).all()
