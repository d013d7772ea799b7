"""The parts of AlphaZero against numbers computed by hand, and one network for several boards.

The game is `tests.helpers.sticks`, whose optimal play is known: leave a multiple of four sticks.
"""

import dataclasses
import functools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import jaxgames
from jaxgames.agents import analyse
from jaxgames.mcts import SearchAgent, SearchResult
from jaxgames.policies.policy import PolicyEvaluate
from tests.helpers.registrations import temporary_registrations
from tests.helpers.sticks import ShortSticks, Sticks
from tests.helpers.stored_runs import random_train_state, store
from tests.train.conftest import Runs
from train import agents
from train.alphazero import AlphaZero, Config, Minibatch, Steps
from train.alphazero.run import Sample, observations_of, samples_of, search_metrics
from train.driver.run_folder import RunFolder
from train.pretrained import load_params

pytestmark = pytest.mark.usefixtures("sticks")

SETTINGS: dict[str, Any] = {
    "env": "sticks(num_players=2, sticks=9)",
    "num_envs": 32,
    "rollout_length": 16,
    "simulations": 8,
    "gamma": 1.0,
    "replay_size": 4 * 32 * 16,
    "minibatch_size": 128,
    "ema": 0.9,
    "hidden_sizes": (32,),
}

chosen_by: Any = jax.jit(AlphaZero.choose, static_argnums=0)
loss_of: Any = jax.jit(AlphaZero.loss, static_argnums=(0, 1))


def learner_with(**changes: Any) -> AlphaZero:
    return AlphaZero(Config(**(SETTINGS | changes)))


class GivenSearch(AlphaZero):
    """Has the same result for every board of a seat."""

    def search(self, key: Any, network: Any, params: Any, boards: Any) -> SearchResult:
        size, slots = boards.current_player.size, self.config.self_play_search.num_slots(self.env.num_actions)
        ones, values = jnp.ones((size, slots)), jnp.zeros((size, self.env.num_players))
        first = jnp.zeros((size, slots), jnp.int32)
        return SearchResult(
            first[:, 0], first, ones, first + 1, values, values + boards.current_player[:, None] + 1, values[:, 0] - 0.5
        )


@pytest.fixture(scope="module")
def collected(sticks: None) -> tuple[AlphaZero, Any, Steps]:
    """A learner of a game of three that can be cut off, the parameters that play, and its steps."""
    jaxgames.register("short_sticks", ShortSticks)
    learner = GivenSearch(learner_with(env="short_sticks", random_moves=0.5).config)
    params = random_train_state(learner).learning
    train_state = jax.jit(learner.init)(jax.random.key(0))._replace(learning=params)
    return learner, params, jax.device_get(jax.jit(learner.collect)(train_state)[1])


def test_steps_have_the_values_of_the_policy_and_random_moves(collected: tuple[AlphaZero, Any, Steps]) -> None:
    """The boards on which a limit cuts off a game have those of the network."""
    learner, params, steps = collected
    assert (steps.values == (steps.seat[..., None] + 1) / 2).all()  # by 2, the largest reward of three seats
    assert (steps.predicted == -0.25).all()  # of the search: no second evaluation
    goes_on = ~(steps.terminated | steps.truncated)
    assert (steps.next_values == (steps.next_seat[..., None] + 1) / 2)[goes_on].all()
    last = jax.vmap(learner.env.step)(*jax.tree.map(lambda x: x[steps.truncated], (steps.state, steps.action)))
    of_network = PolicyEvaluate(learner.env, learner.policy)(params, last).values / 2
    np.testing.assert_allclose(steps.next_values[steps.truncated], of_network, rtol=1e-4)
    assert {*np.unique(steps.rewards)} == {-0.5, 0, 1}
    assert steps.is_random.mean() == pytest.approx(0.5, abs=0.1)
    assert not steps.action[~steps.is_random].any()
    assert set(np.unique(steps.action[steps.is_random])) == {0, 1, 2}
    length, returns = np.zeros(steps.seat.shape[1]), np.zeros(steps.rewards.shape[1:])
    for number, over in enumerate(~goes_on):
        length, returns = length + 1, returns + 2 * steps.rewards[number]
        np.testing.assert_array_equal(steps.episode_stats.length[number], length)
        np.testing.assert_array_equal(steps.episode_stats.returns[number], returns)
        length[over], returns[over] = 0, 0


def test_sample_holds_the_bits_of_the_observation_and_the_values_in_turn_order(
    collected: tuple[AlphaZero, Any, Steps],
) -> None:
    learner, _, steps = collected
    targets = np.random.default_rng(0).normal(size=steps.rewards.shape)
    samples = jax.jit(functools.partial(samples_of, learner.env))(steps, targets)
    rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), (samples, steps.state, targets))
    assert rows[0].position.shape[1:] == (4,)  # 28 bits
    seen = jax.vmap(learner.env.observe)(rows[1])
    np.testing.assert_array_equal(observations_of(learner.env, rows[0].position), seen)
    expected = [np.roll(values, -seat) for values, seat in zip(rows[2], rows[1].current_player, strict=True)]
    np.testing.assert_allclose(rows[0].values, expected, rtol=1e-6)


def random_steps() -> Any:
    """The fields of `Steps` that targets and metrics read, of 24 boards of two seats; rewards are zero-sum."""
    rng, shape = np.random.default_rng(0), (16, 24)
    end = rng.choice(3, p=[0.7, 0.15, 0.15], size=shape)
    numbers = {name: rng.normal(size=(*shape, 2)) for name in ("values", "next_values")}
    seats = {name: rng.integers(2, size=shape) for name in ("seat", "next_seat")}
    ends = {"terminated": end == 1, "truncated": end == 2, "is_random": rng.random(shape) < 0.2}
    rewards = rng.integers(-1, 2, size=(*shape, 1)) * [1.0, -1.0]
    predicted = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.26], size=shape)
    weights = rng.dirichlet(np.ones(3), size=shape) * [1, 1, 0]
    return SimpleNamespace(**numbers, **seats, **ends, rewards=rewards, predicted=predicted, weights=weights)


def slow_targets(steps: Any, gamma: float, td_lambda: float, is_draw: bool) -> np.ndarray:
    """The value targets of one board, float[T, 2]: of each step the mean of what one, two, ... steps pay.

    n steps pay their discounted rewards, and then the search's value of the board that they lead to.
    """
    targets, length = steps.values.astype(np.float64), len(steps.values)
    for start in np.flatnonzero(~steps.is_random):
        targets[start], paid, discount, weight = 0, 0, 1.0, 1.0
        for time in range(start, length):
            paid = paid + discount * steps.rewards[time]
            if steps.terminated[time] or (is_draw and steps.truncated[time]):
                discount = 0.0
            discount *= gamma if steps.next_seat[time] != steps.seat[time] else 1
            ended = steps.terminated[time] or steps.truncated[time] or time == length - 1
            is_last = ended or steps.is_random[time + 1]
            targets[start] += weight * (1 if is_last else 1 - td_lambda) * (paid + discount * steps.next_values[time])
            weight *= td_lambda
            if is_last:
                break
    return targets


@pytest.mark.parametrize("is_draw", [False, True])
def test_targets_are_the_means_of_what_follows_until_the_game_ends_or_a_move_is_random(is_draw: bool) -> None:
    steps = random_steps()
    learner = learner_with(gamma=0.5, td_lambda=0.7, truncation_is_draw=is_draw)
    found = jax.jit(lambda: learner.targets(steps))()
    for board in range(24):
        of_board = SimpleNamespace(**{name: column[:, board] for name, column in vars(steps).items()})
        np.testing.assert_allclose(found[:, board], slow_targets(of_board, 0.5, 0.7, is_draw), rtol=1e-4, atol=1e-5)


def test_samples_of_an_update_are_images_under_random_symmetries() -> None:
    env = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
    boards = np.asarray(jax.jit(jax.vmap(lambda edge: env.observe(env.step(env.init(), edge))))(np.arange(12)))
    rows = np.packbits(boards[0]), [1], [1.0], [0.5]  # the slot is an edge beside the drawn one
    samples = Sample(*(jnp.tile(jnp.array(row), (64, 1)) for row in rows))
    for is_on in (True, False):
        learner = learner_with(env=str(env), symmetries=is_on)
        image = jax.device_get(jax.jit(learner.minibatch_of)(jax.random.key(0), samples))
        drawn = (image.observation[:, None] == boards).all((2, 3, 4)).argmax(1)
        images = {(0, 1), (1, 0), (4, 5), (5, 4), (6, 9), (9, 6), (8, 11), (11, 8)} if is_on else {(0, 1)}
        assert {*zip(drawn.tolist(), image.slots[:, 0].tolist(), strict=True)} == images


def test_metrics_of_the_search_are_means_over_the_steps_of_finished_games() -> None:
    """A predicted value up to 1/4 is a draw."""
    steps, errors, right = random_steps(), list[float](), list[bool]()
    for time, board in np.argwhere((ended := steps.terminated | steps.truncated).cumsum(0) < ended.sum(0) + ended):
        seat, last = steps.seat[time, board], time + ended[time:, board].argmax()
        outcome = steps.rewards[time : last + 1, board, seat].sum()
        predicted = steps.predicted[time, board]
        errors.append((steps.values[time, board, seat] - outcome) ** 2)
        right.append(np.sign(outcome) == (np.sign(predicted) if abs(predicted) > 0.25 else 0))
    found = jax.jit(lambda: search_metrics(steps))()
    assert 100 < len(errors) < steps.seat.size
    assert float(found["search_value_error"]) == pytest.approx(np.mean(errors), rel=1e-5)
    assert float(found["self_play_value_accuracy"]) == pytest.approx(np.mean(right), rel=1e-5)
    entropy = scipy.special.entr(steps.weights).sum(-1).mean()
    assert float(found["search_entropy"]) == pytest.approx(entropy, rel=1e-5)
    steps.terminated, steps.truncated = 2 * (np.zeros_like(steps.terminated),)
    assert np.isnan(jax.jit(lambda: search_metrics(steps))()["self_play_value_accuracy"])


def test_first_steps_of_a_game_are_sampled_from_the_policy_of_the_search() -> None:
    size = 4_000
    slots, weights = (jnp.tile(jnp.array(row), (size, 1)) for row in ([7, 5, 3, -1], [0.5, 0.25, 0.25, 0]))
    none: Any = None  # it is not read
    result = SearchResult(jnp.full(size, 7), slots, weights, none, none, none, none)
    learner = learner_with(sampled_plies=2)
    early = np.asarray(chosen_by(learner, jax.random.key(0), result, jnp.full(size, 1)))
    shares = {action: (early == action).mean() for action in (7, 5, 3)}
    assert shares == pytest.approx({7: 0.5, 5: 0.25, 3: 0.25}, abs=0.03)
    assert (np.asarray(chosen_by(learner, jax.random.key(0), result, jnp.full(size, 2))) == 7).all()
    assert learner_with().choose(jax.random.key(0), result, jnp.zeros(size)) is result.action


class Outputs:
    """A network whose weights are its outputs; action 1 has no probability."""

    def apply_in_training(self, params: Any, *_: Any) -> Any:
        weights = params["heads"]["params"]
        return weights["logits"] + jnp.array([[0, -jnp.inf, 0]]), weights["values"], {}


class OfOutputs(AlphaZero):
    games = ((Sticks(num_players=2, sticks=9), Outputs()),)  # pyright: ignore[reportAssignmentType]  # constant here


@pytest.mark.parametrize(("slots", "weights"), [((2, 0, -1), (0.75, 0.25, 0)), ((0, 1, 2), (0.25, 0, 0.75))])
def test_loss_has_the_terms_computed_by_hand(slots: Any, weights: Any) -> None:
    """Slots have any order. Padding adds nothing, nor does an action that the network and the search never play."""
    logits, values = np.array([[1.0, 0.0, 0.5]]), np.array([[0.5]])
    minibatch = Minibatch(jnp.zeros((1, 1)), jnp.array([slots]), jnp.array([weights]), jnp.asarray(values) + 2)
    learner = OfOutputs(learner_with(value_coef=0.25, l2_coef=0.01).config)

    @functools.partial(jax.value_and_grad, has_aux=True)
    def compute(weights: Any) -> Any:
        return loss_of(learner, None, {"encoder": {"params": {}}, "heads": {"params": weights}}, minibatch)

    (loss, (metrics, _)), gradient = compute({"logits": jnp.asarray(logits), "values": jnp.asarray(values)})
    probability = 1 / (1 + np.exp(-0.5))  # of action 0
    cross_entropy = -0.25 * np.log(probability) - 0.75 * np.log(1 - probability)
    assert float(metrics["policy_loss"]) == pytest.approx(cross_entropy, rel=1e-5)
    assert float(metrics["value_loss"]) == pytest.approx(4, rel=1e-5)
    assert float(loss) == pytest.approx(cross_entropy + 0.25 * 4 + 0.01 * (1.25 + 0.25), rel=1e-5)
    slope = probability - 0.25
    np.testing.assert_allclose(gradient["logits"], [[slope, 0, -slope]] + 0.02 * logits, atol=1e-6)


# -- settings ------------------------------------------------------------------------------------------------------

CONFIG = Config(env="dots_and_boxes(rows=1, cols=1)", num_envs=16, rollout_length=8)


def test_noise_belongs_to_the_search_of_self_play_and_to_its_rule() -> None:
    gumbel, puct = CONFIG.self_play_search, dataclasses.replace(CONFIG, search="puct").self_play_search
    assert (gumbel.gumbel_scale, gumbel.dirichlet_fraction) == (1, 0)
    assert (puct.gumbel_scale, puct.dirichlet_fraction, puct.dirichlet_alpha) == (0, 0.25, 10)
    for search in ("gumbel", "puct"):
        of_play = CONFIG.search_without_noise(64, search)
        assert (of_play.simulations, of_play.search, of_play.gamma) == (64, search, CONFIG.gamma)
        assert of_play.gumbel_scale == of_play.dirichlet_fraction == 0
    forced = dataclasses.replace(CONFIG, forced_playouts=2.0, search="puct")
    assert forced.self_play_search.forced_playouts == 2


# -- several boards ------------------------------------------------------------------------------------------------

FIRST, SECOND = "dots_and_boxes(rows=1, cols=2)", "dots_and_boxes(rows=2, cols=2)"
THIRD, OTHER_REWARD = "dots_and_boxes(rows=1, cols=3)", "dots_and_boxes(rows=1, cols=3, reward=boxes)"
ALONE = Config(
    env=FIRST,
    network="tests.helpers.networks:patch(width=8)",
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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run on both boards that was never trained."""
    with temporary_registrations():
        yield RunFolder.open(store(tmp_path_factory.mktemp("runs") / "both", AlphaZero(BOTH)), AlphaZero)


def test_iteration_keeps_both_boards_and_the_metrics_of_the_second_have_the_game_behind_a_slash() -> None:
    learner = GivenSearch(BOTH)  # a search would be traced for seconds
    start = jax.eval_shape(learner.init, jax.random.key(0))
    end, metrics = jax.eval_shape(learner.iterate, start)
    assert end == start
    first = {name for name in metrics if "dots_and_boxes" not in name}
    assert {"learning_rate", "policy_loss", "value_loss", "episode_length"} <= first
    others = {f"{name}/dots_and_boxes(rows=2, cols=2, reward='win_loss')" for name in first - {"learning_rate"}}
    assert metrics.keys() == first | others


class OfValues(AlphaZero):
    def loss(self, train_state: Any, params: Any, minibatch: Minibatch, dropout_key: Any = None) -> Any:
        mean = minibatch.values.mean()
        return mean * params["heads"]["params"], ({"value": mean}, {"encoder": {}, "heads": {}})


def test_second_board_learns_from_its_own_samples_at_the_rate_of_the_iteration() -> None:
    learner, weights = OfValues(BOTH).by_game[1], {"encoder": {"params": {}}, "heads": {"params": jnp.zeros(())}}
    state = jax.eval_shape(learner.init, jax.random.key(0))._replace(iteration=jnp.int32(3), key=jax.random.key(0))
    for number, game in enumerate(state.games):
        state = state.with_game(number, jax.tree.map(functools.partial(jnp.full_like, fill_value=number), game))
    state = state._replace(params=weights, learning=None, opt_state=learner.optimizer().init(weights))
    metrics = jax.jit(learner.update)(state)[1]
    assert metrics["value"] == 1
    assert float(metrics["learning_rate"]) == pytest.approx(2e-3 * 0.4 + 1e-4 * 0.6)  # after three iterations of six


def test_steps_of_all_boards_count() -> None:
    assert BOTH.steps_per_iteration == 2 * ALONE.steps_per_iteration == 128
    assert BOTH.num_iterations == ALONE.num_iterations == 6
    assert AlphaZero(BOTH).headline["other_envs"] == SECOND
    assert "other_envs" not in AlphaZero(ALONE).headline


@pytest.mark.parametrize("text", [THIRD, OTHER_REWARD])
def test_agent_plays_and_a_new_run_starts_on_every_board_of_the_game(text: str, run: RunFolder) -> None:
    """A search has the reward that the run has learned."""
    env, params = jaxgames.make(text), run.params()
    agent = agents.make(f"{run.folder}(temperature=0)", env)
    probabilities, values = jax.eval_shape(analyse, agent, jax.vmap(env.init)(jax.random.split(jax.random.key(0), 2)))
    assert probabilities.shape == (2, env.num_actions)
    assert values is not None
    shapes = [jax.tree.map(jnp.shape, each) for each in (agents.make(str(run.folder), env, abstract=True), agent)]
    assert shapes[0] == shapes[1]
    of_new_run = load_params(str(run.folder), params, dataclasses.replace(ALONE, env=text, init_from=str(run.folder)))
    for leaf, *others in zip(*map(jax.tree.leaves, (params, agent, of_new_run)), strict=True):
        for other in others:
            np.testing.assert_array_equal(other, leaf)
    searching: Any = agents.make(f"{run.folder}(simulations=2)", env)
    assert isinstance(searching, SearchAgent)
    assert searching.env == jaxgames.make(THIRD)


def test_game_of_a_match_is_that_of_the_first_run_or_the_one_that_is_given(untrained: Runs, run: RunFolder) -> None:
    runs = [str(run.folder), str(untrained.first)]  # the second one plays only 2 x 2 boxes
    assert agents.env_for(runs[:1]) == jaxgames.make(FIRST)
    assert agents.env_for(runs[:1], THIRD) == jaxgames.make(THIRD)
    assert agents.env_for(runs[::-1]) == agents.env_for(runs, SECOND) == jaxgames.make(SECOND)
    with pytest.raises(ValueError, match=r"was trained on dots_and_boxes\(.*\), not on minichess\(.*\)$"):
        agents.make(str(run.folder), jaxgames.make("minichess"))
