"""AlphaZero: runs are functions of their key and learn a solved game; its parts against numbers computed by hand.

The game is `tests.helpers.sticks`, whose optimal play is known: leave a multiple of four sticks.
"""

import dataclasses
import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames.mcts import SearchResult
from jaxgames.policies.policy import PolicyEvaluate
from tests.helpers.networks import clipped_norm
from tests.helpers.scripted_agents import analysis_of
from tests.helpers.sticks import Sticks
from train.alphazero import AlphaZero, Config, Minibatch, Steps, TrainState
from train.alphazero.config import Seats
from train.alphazero.run import EpisodeStats, observations_of, predicted_result, samples_of, search_metrics

pytestmark = pytest.mark.usefixtures("sticks")

GAME = Sticks(num_players=2, sticks=9)
SETTINGS: dict[str, Any] = {
    "env": "sticks(num_players=2, sticks=9)",
    "total_steps": 40 * 32 * 16,
    "num_envs": 32,
    "rollout_length": 16,
    "simulations": 8,
    "gamma": 1.0,
    "random_starts": 0.5,
    "random_plies": 6,
    "replay_size": 4 * 32 * 16,
    "num_updates": 8,
    "minibatch_size": 128,
    "learning_rate": 5e-3,
    "max_grad_norm": 1e-4,  # shorter than any gradient of the run
    "ema": 0.9,
    "hidden_sizes": (32,),
}
ITERATIONS = 3  # of the runs that are compared

targets_of: Any = jax.jit(AlphaZero.targets, static_argnums=0)
metrics_of: Any = jax.jit(search_metrics)
chosen_by: Any = jax.jit(AlphaZero.choose, static_argnums=0)
loss_of: Any = jax.jit(AlphaZero.loss, static_argnums=(0, 1))


def learner_with(**changes: Any) -> AlphaZero:
    return AlphaZero(Config(**(SETTINGS | changes)))


@dataclasses.dataclass(frozen=True)
class Compiled:
    """The learner and its functions, compiled once."""

    learner: AlphaZero
    init: Any
    iterate: Any

    def run(self, seed: int, iterations: int = ITERATIONS) -> tuple[TrainState, list[dict[str, jax.Array]]]:
        train_state, rows = self.init(jax.random.key(seed)), list[dict[str, jax.Array]]()
        for _ in range(iterations):
            train_state, metrics = self.iterate(train_state)
            rows.append(metrics)
        return train_state, rows


@pytest.fixture(scope="module")
def compiled(sticks: None) -> Compiled:
    learner = learner_with()
    once: Any = chex.assert_max_traces(learner.iterate, n=1)  # fails in any test that traces it again

    @jax.jit
    def once_and_use_key(train_state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
        train_state, metrics = once(train_state)
        return train_state._replace(key=jax.random.split(train_state.key, 1)[0]), metrics

    def iterate(train_state: TrainState) -> tuple[TrainState, dict[str, jax.Array]]:
        """One iteration. JAX refuses it if it uses a key twice, or returns one that it has used."""
        with jax.debug_key_reuse(True):
            return once_and_use_key(train_state)

    return Compiled(learner, jax.jit(learner.init), iterate)


@pytest.fixture(scope="module")
def first(compiled: Compiled) -> tuple[TrainState, list[dict[str, jax.Array]]]:
    return compiled.run(seed=1)


@pytest.fixture(scope="module")
def trained(compiled: Compiled, first: Any) -> TrainState:
    """The state after a whole run."""
    train_state = first[0]
    for _ in range(compiled.learner.config.num_iterations - ITERATIONS):
        train_state, _ = compiled.iterate(train_state)
    return train_state


# -- a run ---------------------------------------------------------------------------------------------------------


def test_network_alone_learns_optimal_play_and_values(compiled: Compiled, trained: TrainState) -> None:
    """Positions with 4 or 8 sticks are lost. In all others the mover takes as many as leave 8, 4 or none."""
    left, seats = np.divmod(np.arange(18), 2)

    @jax.jit
    def found(params: Any) -> tuple[jax.Array, jax.Array]:
        positions = jax.vmap(GAME.at)(jnp.asarray(left + 1), jnp.asarray(seats))
        actions = compiled.learner.agent(params).act(jax.random.key(0), positions)
        return actions, PolicyEvaluate(GAME, compiled.learner.policy)(params, positions).values

    actions, values = jax.device_get(found(trained.params))
    for sticks_left in (1, 2, 3, 5, 6, 7, 9):
        assert actions.reshape(9, 2)[sticks_left - 1].tolist() == [sticks_left % 4 - 1] * 2
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])
    of_mover = values[np.arange(18), seats].reshape(9, 2)
    assert (of_mover[[3, 7]] < -0.5).all()
    assert (of_mover[[0, 1, 2, 4, 5, 6, 8]] > 0.5).all()


def test_gradients_are_clipped_to_their_largest_norm(trained: TrainState) -> None:
    """Adam's second moments, a mean of squared gradients, then add up to the square of the norm."""
    assert clipped_norm(trained.opt_state) == pytest.approx(SETTINGS["max_grad_norm"], rel=1e-4)


class GivenSearch(AlphaZero):
    """Has the same result for every board."""

    def search(self, key: Any, network: Any, params: Any, boards: Any) -> SearchResult:
        size = boards.current_player.size
        ones, values = jnp.ones((size, 1)), jnp.zeros((size, 2))
        first = jnp.zeros((size, 1), jnp.int32)
        return SearchResult(first[:, 0], first, ones, first + 1, values, values + 0.25, values[:, 0] - 0.5)


def test_steps_have_the_values_of_the_policy_and_random_moves() -> None:
    learner = GivenSearch(learner_with(random_moves=0.5).config)
    train_state = jax.jit(learner.init)(jax.random.key(0))
    steps = jax.device_get(jax.jit(learner.collect)(train_state)[1])
    assert (steps.values == 0.25).all()
    assert (steps.predicted == -0.5).all()  # of the search: no second evaluation
    assert (steps.next_values[~steps.truncated] == 0.25).all()
    assert steps.is_random.mean() == pytest.approx(0.5, abs=0.1)
    assert not steps.action[~steps.is_random].any()
    assert set(np.unique(steps.action[steps.is_random])) == {0, 1, 2}


def test_average_of_the_parameters_plays_and_the_others_learn(first: Any) -> None:
    train_state = first[0]
    leaves = zip(*map(jax.tree.leaves, (train_state.params, train_state.learning)), strict=True)
    assert all(np.any(np.asarray(a) != np.asarray(b)) for a, b in leaves)
    assert [round(float(learner_with().average_decay(jnp.int32(step))), 3) for step in (0, 8, 1000)] == [0.1, 0.5, 0.9]
    assert jax.eval_shape(learner_with(ema=0.0).init, jax.random.key(0)).learning is None


@pytest.mark.slow
@pytest.mark.parametrize("seats", ["paranoid", "max_n"])
def test_three_seats_play_and_value_sticks_as_solved(seats: Seats) -> None:
    """With up to three sticks the mover takes them all and wins 2. With four, the seat after it wins."""
    config = Config(
        env="sticks",
        total_steps=80 * 512,
        num_envs=32,
        rollout_length=16,
        simulations=8,
        seats=seats,
        gamma=1.0,
        random_starts=0.5,
        random_plies=4,
        replay_size=2048,
        num_updates=8,
        minibatch_size=128,
        learning_rate=5e-3,
        ema=0.9,
        hidden_sizes=(32,),
    )
    learner = AlphaZero(config)
    iterate, train_state = jax.jit(learner.iterate), jax.jit(learner.init)(jax.random.key(0))
    for _ in range(80):
        train_state, _ = iterate(train_state)
    left, movers = np.divmod(np.arange(12), 3)
    boards = jax.vmap(Sticks().at)(jnp.asarray(left + 1), jnp.asarray(movers))
    agent = learner.agent(train_state.params)
    actions = np.asarray(agent.act(jax.random.key(0), boards)).reshape(4, 3)
    np.testing.assert_array_equal(actions[:3], [[0] * 3, [1] * 3, [2] * 3])
    values = np.asarray(analysis_of(agent, boards).values)
    own_first = np.stack([np.roll(row, -mover) for row, mover in zip(values, movers, strict=True)])
    np.testing.assert_allclose(own_first[:9], np.tile([2, -1, -1], (9, 1)), atol=0.3)
    np.testing.assert_allclose(own_first[9:], np.tile([-1, 2, -1], (3, 1)), atol=0.4)


# -- its parts -----------------------------------------------------------------------------------------------------


def steps_of(**changes: Any) -> Steps:
    """Three steps on one board of 5, 4 and 2 sticks, of which the movers 0, 1, 0 take 1, 2 and 2: seat 0 wins."""
    return finished_game()._replace(**changes)


@functools.cache
@jax.jit
def finished_game() -> Steps:
    boards = [GAME.at(5, 0), GAME.at(4, 1), GAME.at(2, 0), GAME.at(0, 1)]
    stacked: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves)[:, None], *boards)
    before, after = (jax.tree.map(lambda leaf, part=part: leaf[part], stacked) for part in (slice(3), slice(1, 4)))
    return Steps(
        state=before,
        action=jnp.array([[0], [1], [1]]),
        is_random=jnp.zeros((3, 1), bool),
        slots=jnp.array([[[0, 1, 2]], [[2, 1, 0]], [[0, 1, -1]]]),
        weights=jnp.array([[[1.0, 0, 0]], [[0.5, 0.25, 0.25]], [[0, 1.0, 0]]]),
        predicted=jnp.array([[0.3], [-0.5], [0.1]]),
        values=jnp.array([[[0.4, -0.4]], [[0.6, -0.6]], [[1.0, -1.0]]]),
        next_values=jnp.array([[[0.6, -0.6]], [[1.0, -1.0]], [[64.0, -64.0]]]),
        rewards=jnp.array([[[0.0, 0]], [[0, 0]], [[1, -1]]]),
        terminated=jnp.array([[False], [False], [True]]),
        truncated=jnp.zeros((3, 1), bool),
        next_seat=after.current_player,
        episode_stats=EpisodeStats(jnp.array([[1], [2], [3]]), jnp.zeros((3, 1, 2))),
    )


def test_targets_of_a_finished_game_are_its_discounted_outcome_and_the_values_on_the_way() -> None:
    targets = np.asarray(targets_of(learner_with(gamma=0.5, td_lambda=0.5), steps_of()))[:, 0, 0]
    second = 0.5 * (1.0 / 2 + 1 / 2)
    np.testing.assert_allclose(targets, [0.5 * (0.6 / 2 + second / 2), second, 1], rtol=1e-6)


def test_values_do_not_depend_on_what_follows_a_random_move() -> None:
    random = steps_of(is_random=jnp.array([[False], [True], [False]]))
    targets = np.asarray(targets_of(learner_with(gamma=0.5, td_lambda=1.0), random))[:, 0, 0]
    np.testing.assert_allclose(targets, [0.5 * 0.6, 0.6, 1], rtol=1e-6)  # 0.6: the search's value of the second board


def test_truncated_game_is_worth_its_last_board_or_a_draw() -> None:
    cut_off = steps_of(terminated=jnp.zeros((3, 1), bool), truncated=jnp.array([[False], [True], [False]]))
    settings = {"gamma": 0.5, "td_lambda": 1.0}
    assert np.asarray(targets_of(learner_with(**settings), cut_off))[1, 0].tolist() == [0.5, -0.5]
    draw = learner_with(**settings, truncation_is_draw=True)
    assert np.asarray(targets_of(draw, cut_off))[:2, 0].tolist() == [[0, 0], [0, 0]]


def test_board_that_a_limit_cut_off_has_the_value_of_the_network(compiled: Compiled, first: Any) -> None:
    cut_off = steps_of(truncated=jnp.array([[False], [True], [False]]))
    params, network = first[0].params, PolicyEvaluate(GAME, compiled.learner.policy)
    found = np.asarray(jax.jit(compiled.learner.with_cut_off_values, static_argnums=0)(network, params, cut_off))
    board = jax.tree.map(lambda leaf: leaf[2], cut_off.state)  # that the second step led to
    of_network = jax.jit(network)(params, board).values
    np.testing.assert_allclose(found[1], of_network, rtol=1e-5)
    np.testing.assert_array_equal(found[[0, 2]], np.asarray(cut_off.next_values)[[0, 2]])


def test_sample_holds_the_bits_of_the_observation_and_the_value_of_the_mover() -> None:
    steps = steps_of()
    samples = samples_of(GAME, steps, jnp.array([[[0.7, -0.7]], [[0.5, -0.5]], [[1.0, -1.0]]]))
    np.testing.assert_allclose(samples.values[:, 0, 0], [0.7, -0.5, 1.0])  # seats 0, 1, 0
    boards = jax.tree.map(lambda leaf: leaf[:, 0], steps.state)
    np.testing.assert_array_equal(observations_of(GAME, samples.position[:, 0]), jax.vmap(GAME.observe)(boards))
    assert samples.position.shape == (3, 1, 4)  # 27 bits


def test_value_accuracy_counts_predictions_of_finished_games_that_match_the_outcome() -> None:
    """The movers 0, 1, 0 predict 0.3, -0.5 and 0.1: a win, a loss and a draw, where seat 0 wins."""
    metrics = metrics_of(steps_of())
    assert float(metrics["self_play_value_accuracy"]) == pytest.approx(2 / 3)
    assert float(metrics["search_value_error"]) == pytest.approx((0.6**2 + 0.4**2 + 0) / 3)
    assert float(metrics["search_entropy"]) == pytest.approx(1.5 * np.log(2) / 3)
    unfinished = metrics_of(steps_of(terminated=jnp.zeros((3, 1), bool)))
    assert np.isnan(unfinished["self_play_value_accuracy"])
    assert predicted_result(jnp.array([0.26, 0.25, -0.25, -0.26])).tolist() == [1, 0, 0, -1]


def test_first_steps_of_a_game_are_sampled_from_the_policy_of_the_search() -> None:
    size = 4_000
    result = SearchResult(
        action=jnp.full(size, 7),
        slots=jnp.broadcast_to(jnp.array([7, 5, 3, -1]), (size, 4)),
        weights=jnp.broadcast_to(jnp.array([0.5, 0.25, 0.25, 0]), (size, 4)),
        visits=jnp.zeros((size, 4), jnp.int32),
        values=jnp.zeros((size, 2)),
        policy_values=jnp.zeros((size, 2)),
        raw_values=jnp.zeros(size),
    )
    learner = learner_with(sampled_plies=2)
    early = np.asarray(chosen_by(learner, jax.random.key(0), result, jnp.full(size, 1)))
    shares = {action: (early == action).mean() for action in (7, 5, 3)}
    assert shares == pytest.approx({7: 0.5, 5: 0.25, 3: 0.25}, abs=0.03)
    assert (np.asarray(chosen_by(learner, jax.random.key(0), result, jnp.full(size, 2))) == 7).all()
    assert learner_with().choose(jax.random.key(0), result, jnp.zeros(size)) is result.action


def test_loss_has_the_terms_computed_by_hand(compiled: Compiled, first: Any) -> None:
    """Slots may have any order, and the probabilities are over those that are no padding."""
    policy, params = compiled.learner.policy, first[0].params
    observation = GAME.observe(GAME.at(7, 0))[None]
    logits, values = jax.jit(policy.apply)(params, observation, jnp.zeros(1, jnp.int32))
    minibatch = Minibatch(observation, jnp.array([[2, 0, -1]]), jnp.array([[0.75, 0.25, 0]]), values[None] + 2)
    learner = learner_with(value_coef=0.25, l2_coef=0.01)
    loss, (metrics, _) = loss_of(learner, None, params, minibatch)
    cross_entropy = -np.dot([0.75, 0.25], np.asarray(jax.nn.log_softmax(np.asarray(logits)[0, [2, 0]])))
    squares = sum(float(np.square(leaf).sum()) for leaf in jax.tree.leaves(params))
    assert float(metrics["policy_loss"]) == pytest.approx(cross_entropy, rel=1e-5)
    assert float(metrics["value_loss"]) == pytest.approx(4, rel=1e-5)
    assert float(loss) == pytest.approx(cross_entropy + 0.25 * 4 + 0.01 * squares, rel=1e-5)


class CertainNetwork:
    """Gives actions 0 and 2 equal probabilities and action 1 none."""

    def apply_in_training(self, params: Any, *_: Any) -> Any:
        return params["heads"]["params"] + jnp.array([[0, -jnp.inf, 0]]), jnp.zeros((1, 2)), {}


class Certain(AlphaZero):
    games = ((GAME, CertainNetwork()),)  # pyright: ignore[reportAssignmentType]  # constant here


def test_action_that_the_network_and_the_search_never_play_adds_no_loss() -> None:
    minibatch = Minibatch(jnp.zeros((1, 1)), jnp.array([[0, 1, 2]]), jnp.array([[1.0, 0, 0]]), jnp.zeros((1, 2)))
    learner = Certain(learner_with().config)

    def loss_of_logits(logits: jax.Array) -> Any:
        return loss_of(learner, None, {"heads": {"params": logits}}, minibatch)[0]

    loss, gradient = jax.value_and_grad(loss_of_logits)(jnp.zeros((1, 3)))
    assert float(loss) == pytest.approx(np.log(2))
    np.testing.assert_allclose(gradient, [[-0.5, 0, 0.5]], atol=1e-6)
