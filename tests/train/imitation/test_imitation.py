"""The parts of an iteration of `train.imitation`, and what it learns from a solved game."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from tests.helpers.networks import clipped_norm
from tests.helpers.registrations import temporary_registrations
from tests.helpers.solved import ENV, random_positions, saved, solved_positions
from train.imitation import Config, Imitation, Minibatch, Numbers, TrainState, resolve
from train.imitation.config import load_positions
from train.imitation.data import load_data, random_image, rows_of_iteration
from train.imitation.learner import legal_log_probs, rank_of_label
from train.network_learner import key_of_game

SMALL: dict[str, Any] = {"hidden_sizes": (8,), "batch_size": 16}


@pytest.fixture(scope="module")
def checkers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with 200 positions of checkers: 150 to learn from, 50 for validation; not all have labels."""
    number = np.arange(200)
    positions = random_positions(200)
    return saved(
        positions,
        tmp_path_factory.mktemp("data") / "pairs.npz",
        split=(number % 4 == 3).astype(np.int8),
        action=np.where(number % 5 == 0, -1, positions.action),
        value=np.where(number % 7 == 0, np.nan, np.sin(number)),
    )


def trained(config: Config, iterations: int) -> tuple[Imitation, Any, dict[str, float]]:
    """A learner after some iterations, its parameters, and its last metrics."""
    learner = Imitation(resolve(config))
    (data,) = jax.device_put(learner.load_data())
    train_state, iterate, metrics = jax.jit(learner.init)(jax.random.key(0)), jax.jit(learner.iterate), {}
    for _ in range(iterations):
        train_state, metrics = iterate(train_state, data)
    return learner, train_state.params, {name: float(value) for name, value in metrics.items()}


# -- the order of positions ----------------------------------------------------------------------------------------


@functools.cache
def rows(num_minibatches: int, iterations: int, num_positions: int = 22, batch_size: int = 4) -> np.ndarray:
    """The positions of all minibatches of some iterations."""
    config = Config(num_minibatches=num_minibatches, batch_size=batch_size)
    of_iteration = jax.jit(functools.partial(rows_of_iteration, config, num_positions, jax.random.key(3)))
    found = [of_iteration(iteration) for iteration in range(iterations)]
    assert all(each.shape == (num_minibatches, batch_size) for each in found)
    return np.concatenate(found)


def test_epoch_has_no_position_twice_and_each_has_an_order_of_its_own() -> None:
    epochs = rows(5, 6).reshape(6, 20)
    for epoch in epochs:
        assert len({*epoch.tolist()}) == 20
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 6
    assert {*epochs.ravel().tolist()} == {*range(22)}  # the last, partial minibatch has other positions each time


@pytest.mark.parametrize(
    "num_minibatches", [pytest.param(2, marks=pytest.mark.slow), 3, 7, pytest.param(10, marks=pytest.mark.slow)]
)
def test_order_of_positions_does_not_depend_on_the_length_of_an_iteration(num_minibatches: int) -> None:
    np.testing.assert_array_equal(rows(num_minibatches, -(-30 // num_minibatches))[:30], rows(5, 6))


# -- the loss ------------------------------------------------------------------------------------------------------


class Outputs:
    """A network whose weights are its outputs."""

    def apply_in_training(self, params: Any, *_: Any) -> Any:
        return params["heads"]["params"]["logits"], params["heads"]["params"]["value"], {}


class OfOutputs(Imitation):
    policy: Any = Outputs()  # pyright: ignore[reportAssignmentType]  # constant here


@jax.jit
def metrics_and_gradient(weights: Any, minibatch: Minibatch, numbers: Numbers) -> Any:
    """Of a network whose weights are its outputs; the coefficients are traced, as in a sweep."""
    nothing: Any = None  # the loss does not read the train state
    loss = functools.partial(OfOutputs(Config(), numbers).loss, nothing)
    found, (metrics, _) = jax.grad(loss, has_aux=True)(weights, minibatch)
    return metrics, found["heads"]["params"]


def loss_and_gradient(
    logits: np.ndarray, value: np.ndarray, minibatch: Minibatch, **coefs: float
) -> tuple[dict[str, float], dict[str, jax.Array]]:
    """The metrics of the loss of a network with these outputs, and the gradient in the outputs."""
    weights = {"encoder": {"params": {}}, "heads": {"params": {"logits": logits, "value": value}}}
    metrics, gradient = metrics_and_gradient(weights, minibatch, Numbers(**coefs))
    return {name: float(number) for name, number in metrics.items()}, gradient


LOGITS = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]])
MASK = np.array([[True, True, False], [True, True, True], [True, False, True]])
TARGET = np.array([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])  # the last position has none
VALUE = np.array([0.5, np.nan, -1.0])


def minibatch_of(target: np.ndarray = TARGET, label: np.ndarray = VALUE) -> Minibatch:
    arrays = (np.zeros((3, 1), np.bool_), MASK, np.zeros(3, np.int32), target, label, np.ones(3, np.bool_))
    return Minibatch(*map(jnp.asarray, arrays))


def test_loss_is_the_cross_entropy_over_legal_actions_plus_the_squared_error() -> None:
    value = np.array([0.0, 7.0, 1.0])
    found, _ = loss_and_gradient(LOGITS, value, minibatch_of(), legal_coef=0.0, value_coef=0.25, l2_coef=0.01)
    of_first = -np.log(np.exp(2) / (np.exp(1) + np.exp(2)))
    of_second = -np.log(1 / (2 + np.exp(3)))
    assert found["policy_loss"] == pytest.approx((of_first + of_second) / 2, rel=1e-6)
    assert found["value_loss"] == pytest.approx((0.25 + 4) / 2)
    expected = found["policy_loss"] + 0.25 * found["value_loss"] + 0.01 * ((LOGITS**2).sum() + 50)
    assert found["loss"] == pytest.approx(expected, rel=1e-6)


def test_loss_with_legal_coef_1_is_the_cross_entropy_over_all_actions() -> None:
    found, _ = loss_and_gradient(LOGITS, np.zeros(3), minibatch_of(), legal_coef=1.0, value_coef=0.0)
    log_probs = LOGITS - np.log(np.exp(LOGITS).sum(1, keepdims=True))
    assert found["loss"] == pytest.approx(-(TARGET * log_probs)[:2].sum() / 2, rel=1e-6)


def test_smoothed_labels_are_spread_over_the_legal_actions_only() -> None:
    found, _ = loss_and_gradient(
        LOGITS, np.zeros(3), minibatch_of(), legal_coef=0.0, value_coef=0.0, label_smoothing=0.3
    )
    log_probs = LOGITS - np.log((np.exp(LOGITS) * MASK).sum(1, keepdims=True))
    target = 0.7 * TARGET + 0.3 * MASK / MASK.sum(1, keepdims=True)
    assert found["loss"] == pytest.approx(-(target * log_probs * MASK)[:2].sum() / 2, rel=1e-6)


@jax.jit
@jax.value_and_grad
def cross_entropy(logits: jax.Array) -> jax.Array:
    return -(TARGET[:2] * legal_log_probs(logits, jnp.asarray(MASK[:2]))[0]).sum()


def test_action_of_probability_0_without_a_label_adds_no_loss() -> None:
    """Probabilities (0, 1) with the label of the second action, and (1/2, 1/2, 0) with the labels 1/2."""
    loss, gradient = cross_entropy(np.array([[-np.inf, 2, 5], [3e38, 3e38, -3e38]], np.float32))
    np.testing.assert_allclose(loss, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(gradient, np.zeros((2, 3)), atol=1e-6)


def test_positions_without_labels_add_no_loss_and_no_gradient() -> None:
    nothing = minibatch_of(np.zeros((3, 3)), np.full(3, np.nan))
    found, gradient = loss_and_gradient(LOGITS, np.ones(3), nothing, legal_coef=0.5)
    assert found["loss"] == 0
    assert all(not leaf.any() for leaf in gradient.values())


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("constant", [1, 1, 1]), ("linear", [1, 0.5, 0.25]), ("cosine", [1, 0.5, 0.5 - 0.5 * np.sqrt(0.5)])],
)
def test_learning_rate_falls_to_zero_by_its_schedule(schedule: Any, expected: list[float]) -> None:
    config = Config(learning_rate=0.2, schedule=schedule, total_steps=4 * 2 * 16, num_minibatches=2, batch_size=16)
    found = [float(Imitation(config).learning_rate(jnp.int32(step))) for step in (0, 4, 6)]
    assert found == pytest.approx([0.2 * factor for factor in expected])


# -- evaluation ----------------------------------------------------------------------------------------------------


def test_rank_counts_legal_actions_that_are_preferred_to_the_best_labelled_one() -> None:
    logits = jnp.array([[9.0, 3.0, 2.0, 1.0], [5.0, 5.0, 5.0, 5.0], [0.0, 1.0, 2.0, 3.0]])
    mask = jnp.array([[False, True, True, True], [True] * 4, [True] * 4])
    target = jnp.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.4, 0.0, 0.4, 0.2]])
    assert rank_of_label(logits, mask, target).tolist() == [2, 2, 1]


def test_metrics_of_evaluation_are_those_of_a_slow_reference(checkers: str) -> None:
    """The 50 positions of validation are three batches and a part of one."""
    config = Config(data=checkers, evaluated_positions=0, **SMALL)
    learner, params, metrics = trained(config, 1)
    validation = load_data(config)[0].evaluated["validation"]
    assert len(validation.action) % 16 == 0
    positions = load_positions(config)[0].of("validation")
    observation = jax.jit(jax.vmap(ENV.observe))(positions.states)
    apply = jax.jit(learner.policy.apply)
    logits, value = map(np.asarray, apply(params, observation, positions.states.current_player))
    mask = np.asarray(jax.jit(jax.vmap(ENV.legal_action_mask))(positions.states))
    chosen = np.where(mask, logits, -np.inf)
    rows = positions.action >= 0
    order = np.argsort(-chosen, axis=1, kind="stable")
    for top in (1, 3):
        found = (order[:, :top] == positions.action[:, None]).any(1)[rows].mean()
        assert metrics[f"top_{top}/validation"] == pytest.approx(found, rel=1e-6)
    log_probs = chosen - np.log(np.exp(chosen).sum(1, keepdims=True))
    expected = -log_probs[np.arange(50), positions.action][rows].mean()
    assert metrics["policy_loss/validation"] == pytest.approx(expected, rel=1e-5)
    assert metrics["raw_legal/validation"] == pytest.approx(mask[np.arange(50), logits.argmax(1)].mean(), rel=1e-6)
    error = np.sqrt(np.nanmean((value - positions.value) ** 2))
    assert metrics["value_error/validation"] == pytest.approx(error, rel=1e-5)


# -- learning ------------------------------------------------------------------------------------------------------


@functools.cache
def boxes() -> DotsAndBoxesSolution:
    """All positions of a board with seven edges; the return is counted in boxes."""
    return DotsAndBoxesSolution.solve(DotsAndBoxes(1, 2, reward="boxes"), progress=False)


class ShortRun(NamedTuple):
    config: Config
    train_state: TrainState
    metrics: dict[str, Any]  # of the last iteration
    orders: list[bytes]  # the positions of each iteration
    keys: list[bytes]  # of each order, image and dropout


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> ShortRun:
    """A run on the solved game."""
    table = solved_positions(boxes())
    path = tmp_path_factory.mktemp("data") / "table.npz"
    config = Config(
        env=str(boxes().env),
        data=saved(table, path, split=np.zeros(len(table)), splits=("train",)),
        validation_split="train",
        total_steps=40 * 16 * 40,
        num_minibatches=16,
        batch_size=40,
        learning_rate=0.01,
        max_grad_norm=1e-4,  # shorter than any gradient of the run
        value_coef=1.0,
        symmetries=True,
        hidden_sizes=(64,),
        activation="relu",
    )
    learner, orders, keys = Imitation(resolve(config)), list[bytes](), list[bytes]()
    (data,) = jax.device_put(learner.load_data())

    def recorded_rows(*arguments: Any) -> jax.Array:
        rows = rows_of_iteration(*arguments)
        jax.debug.callback(lambda rows: orders.append(rows.tobytes()), rows)
        return rows

    def recorded_key(key: jax.Array, number: int) -> jax.Array:
        of_game = key_of_game(key, number)
        jax.debug.callback(lambda words: keys.append(words.tobytes()), jax.random.key_data(of_game))
        return of_game

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("train.imitation.learner.rows_of_iteration", recorded_rows)
        patch.setattr("train.imitation.learner.key_of_game", recorded_key)
        iterate, train_state, metrics = jax.jit(learner.iterate), jax.jit(learner.init)(jax.random.key(0)), {}
        for _ in range(config.num_iterations):
            train_state, metrics = iterate(train_state, data)
        jax.effects_barrier()
    return ShortRun(config, train_state, jax.device_get(metrics), orders, keys)


def test_best_actions_of_a_solved_game_are_learned(short_run: ShortRun) -> None:
    assert short_run.metrics["top_1/train"] > 0.95
    assert short_run.metrics["value_error/train"] < 0.8  # boxes; 1.4 of a network that has learned nothing


def test_gradients_are_clipped_to_their_largest_norm(short_run: ShortRun) -> None:
    """Adam's second moments, a mean of squared gradients, then add up to the square of the norm."""
    config, norm = short_run.config, clipped_norm(short_run.train_state.opt_state)
    assert norm == pytest.approx(config.max_grad_norm, rel=1e-4)


def test_every_iteration_has_an_order_and_every_minibatch_has_keys_of_its_own(short_run: ShortRun) -> None:
    """A minibatch has a key for its images and one for dropout. All orders are of one key, by their numbers."""
    iterations, steps = short_run.config.num_iterations, 16 * short_run.config.num_iterations
    assert len(short_run.orders) == len(set(short_run.orders)) == iterations
    assert len(short_run.keys) == iterations + 2 * steps
    assert len(set(short_run.keys)) == 1 + 2 * steps


@pytest.mark.slow  # compiles a network with batch norm
def test_network_with_a_training_mode_learns_its_statistics(checkers: str) -> None:
    with temporary_registrations():
        config = Config(data=checkers, network="tests.helpers.networks:noisy(width=8)", batch_size=16)
        before = jax.jit(Imitation(resolve(config)).init)(jax.random.key(0)).params
        _, params, metrics = trained(config, 1)
    statistics = [each["encoder"]["batch_stats"]["BatchNorm_0"]["mean"] for each in (before, params)]
    assert not np.allclose(*statistics)
    assert np.isfinite(metrics["policy_loss/validation"])


def test_random_image_is_a_board_that_the_game_has_with_the_labels_of_its_own_edges() -> None:
    """Every image of one drawn edge and its label is again a drawn edge, with the label at the image of the label."""
    env = jaxgames.make("dots_and_boxes(rows=2, cols=2)")

    @jax.jit
    @jax.vmap
    def played(action: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        board = env.step(env.init(), action)
        return env.observe(board), env.legal_action_mask(board), board.current_player

    target = jnp.asarray(np.tile(np.eye(env.num_actions, dtype=np.float32)[1], (64, 1)))  # beside the drawn edge
    observation, mask, seat = played(np.zeros(64, np.int32))
    batch = Minibatch(observation, mask, seat, target, jnp.zeros(64), jnp.ones(64))
    image = jax.jit(random_image, static_argnums=0)(env, jax.random.key(0), batch)
    drawn, label = (~np.asarray(image.mask)).argmax(1), np.asarray(image.target).argmax(1)
    np.testing.assert_array_equal(image.observation, played(drawn.astype(np.int32))[0])
    assert {*zip(drawn.tolist(), label.tolist(), strict=True)} == {
        (0, 1), (1, 0), (4, 5), (5, 4), (6, 9), (9, 6), (8, 11), (11, 8)
    }  # fmt: skip
