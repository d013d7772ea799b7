"""Files of positions, the parts of an iteration of `train.imitation`, and one network for several boards."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from tests.helpers.commands import error_of
from tests.helpers.registrations import temporary_registrations
from tests.helpers.solved import ENV, random_positions, saved, solved_boxes, solved_positions
from tests.helpers.stored_runs import store
from train import agents
from train.driver import cli
from train.driver.run_folder import RunFolder
from train.imitation import Config, Imitation, Minibatch, Numbers, resolve
from train.imitation.config import load_positions
from train.imitation.data import load_data, random_image, rows_of_iteration
from train.imitation.learner import legal_log_probs, rank_of_label
from train.network_learner import key_of_game


@pytest.fixture(scope="module", autouse=True)
def network() -> Iterator[None]:
    """Takes back the registrations of networks."""
    with temporary_registrations():
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of positions of two boards and of another game, by their names.

    "some labels" has 200 positions: 150 to learn from, 50 for validation; not all have labels.
    """
    folder, number, some = tmp_path_factory.mktemp("data"), np.arange(200), random_positions(200)
    changes: dict[str, Any] = {
        "split": (number % 4 == 3).astype(np.int8),
        "action": np.where(number % 5 == 0, -1, some.action),
        "value": np.where(number % 7 == 0, np.nan, np.sin(number)),
    }
    tables = {"1x2": solved_positions(solved_boxes(1, 2)), "1x3": solved_positions(solved_boxes(1, 3))}
    tables |= {"copy": tables["1x2"], "checkers": random_positions(60)}  # 30 of each split
    tables |= {"some labels": dataclasses.replace(some, **changes)}
    return {name: saved(table, folder / f"{name}.npz") for name, table in tables.items()}


def after_an_iteration(config: Config) -> tuple[Imitation, Any, dict[str, jax.Array]]:
    """A learner, its train state after an iteration, and the metrics."""
    learner = Imitation(resolve(config))
    train_state = jax.jit(learner.init)(jax.random.key(0))
    return learner, *jax.jit(learner.iterate)(train_state, *jax.device_put(learner.load_data()))


# -- files ---------------------------------------------------------------------------------------------------------


def imitation_main() -> None:
    """The command `python -m train.imitation`."""
    cli.main(Imitation)


def test_settings_from_the_file_are_the_checksum_and_whole_epochs(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch of 30 positions has three minibatches of eight."""
    given = Config(data=(files["checkers"],), batch_size=8)
    config = resolve(given)
    assert (config.num_minibatches, config.steps_per_iteration) == (201, 201 * 8)
    monkeypatch.setattr("train.imitation.config.MIN_MINIBATCHES", 2)
    assert resolve(given).num_minibatches == 3
    assert resolve(config) == config  # of a run that was started
    assert [*map(len, config.data_fingerprints)] == [64]
    assert resolve(dataclasses.replace(given, num_minibatches=7)).steps_per_iteration == 56
    assert dataclasses.replace(config, total_steps=201 * 8 + 1).num_iterations == 2
    with pytest.raises(ValueError, match=r"from the files of data: expected Imitation\(resolve\(config\)\)"):
        Imitation(given)


def test_games_and_checksums_come_from_the_files(files: dict[str, str]) -> None:
    assert Config(data=files["1x2"]).data == (files["1x2"],)  # pyright: ignore[reportArgumentType]  # one file, in a script
    small: dict[str, Any] = {"batch_size": 16, "num_minibatches": 5, "network": "tests.helpers.networks:patch(width=8)"}
    data = tuple(files[name] for name in ("1x2", "1x3", "copy"))
    config = resolve(Config(**small, env=str(solved_boxes(1, 2).env), data=data))
    assert config.other_envs == tuple(str(solved_boxes(1, cols).env) for cols in (3, 2))
    assert config.data_fingerprints[2] == config.data_fingerprints[0] != config.data_fingerprints[1]
    assert config.steps_per_iteration == 3 * 5 * 16
    assert dataclasses.replace(config, total_steps=1000).other_envs == config.other_envs
    assert [policy.network.any_board for _, policy in Imitation(config).games] == [True] * 3


@pytest.mark.parametrize(
    ("changes", "settings", "problem"),
    [
        ({}, {"env": "minichess"}, r"holds positions of checkers\(.*, not of minichess"),
        ({}, {"train_split": "games"}, "has no positions of the split 'games'; it has train, validation"),
        ({"split": np.zeros(60)}, {}, "has no positions of the split 'validation'; it has train"),
        ({}, {"batch_size": 31}, "batch_size must be at most 30, the positions of the split 'train'"),
        ({"action": np.full(60, -1), "value": np.full(60, np.nan)}, {}, "labels no position of the split 'train'"),
        ({}, {"data": ("1x2",)}, "data must have the id of env, checkers: it is dots_and_boxes in"),
        ({}, {"data": ("1x3", "1x3")}, r"must be different files: .*1x3.npz is there twice"),
    ],
)
def test_file_that_cannot_be_learned_from_is_refused(
    files: dict[str, str], tmp_path: Path, changes: Any, settings: dict[str, Any], problem: str
) -> None:
    data = saved(random_positions(60), tmp_path / "pairs.npz", **changes)
    further = tuple(files[name] for name in settings.get("data", ()))
    settings = {"batch_size": 8} | settings | {"data": (data, *further)}
    with pytest.raises(ValueError, match=problem):
        resolve(Config(**settings))


def test_run_is_resumed_with_its_own_positions_only(files: dict[str, str], tmp_path: Path) -> None:
    """A run plays without its files. To continue, it needs those with the positions that it was started with."""
    folder, table = tmp_path / "run", random_positions(60)
    data, other = saved(table, tmp_path / "pairs.npz"), saved(table, tmp_path / "other.npz")
    config = resolve(Config(data=(data, other), batch_size=8, network="mlp", hidden_sizes=(4,)))
    store(folder, Imitation(config))
    stored = RunFolder.open(folder, Imitation).config
    assert stored == config
    assert len(load_positions(stored)[1]) == len(table)
    for file in ("other", "pairs"):
        saved(table, tmp_path / f"{file}.npz", value=table.value / 2)
        with pytest.raises(ValueError, match=f"{file}.npz holds other positions than those that the run was started"):
            load_positions(stored)
        assert "other positions" in error_of(imitation_main, "--run-dir", folder, "--resume")
    (tmp_path / "pairs.npz").unlink()
    assert "there is no file" in error_of(imitation_main, "--run-dir", folder, "--resume")
    agent = agents.make(f"{folder}(temperature=0.5, top=3)", table.env)
    action = jax.jit(agent.act)(jax.random.key(0), jax.tree.map(lambda leaf: leaf[:1], table.states))
    assert action.shape == (1,)
    error = error_of(imitation_main, "--env", "checkers", "--run-dir", tmp_path / "new")
    assert "add --data pairs.npz" in error
    assert not (tmp_path / "new").exists()


# -- the order of positions ----------------------------------------------------------------------------------------


def rows(num_minibatches: int, count: int) -> np.ndarray:
    """The first `count` minibatches of four of 22 positions, where an iteration has so many."""
    config = Config(num_minibatches=num_minibatches, batch_size=4)
    of_iteration = jax.jit(functools.partial(rows_of_iteration, config, 22, jax.random.key(3)))
    return np.concatenate([of_iteration(iteration) for iteration in range(-(-count // num_minibatches))])[:count]


def test_epoch_has_no_position_twice_and_an_order_of_its_own_whatever_the_length_of_an_iteration() -> None:
    epochs = rows(5, 30).reshape(6, 20)
    for epoch in epochs:
        assert len({*epoch.tolist()}) == 20
    assert len({tuple(epoch.tolist()) for epoch in epochs}) == 6
    assert {*epochs.ravel().tolist()} == {*range(22)}  # the last, partial minibatch has other positions each time
    for num_minibatches in (3, 7):
        np.testing.assert_array_equal(rows(num_minibatches, 30).reshape(6, 20), epochs)


# -- the loss ------------------------------------------------------------------------------------------------------


class Outputs:
    """A network whose weights are its outputs, with noise from the key of the dropped units, if there is one."""

    def apply_in_training(self, params: Any, observation: Any, seat: Any, key: jax.Array | None) -> Any:
        logits, value = (params["heads"]["params"][name] for name in ("logits", "value"))
        noise = 0.0 if key is None else jax.random.normal(key, logits.shape)
        return logits + noise, value, {"encoder": {}, "heads": {}}


class OfOutputs(Imitation):
    policy: Any = Outputs()  # pyright: ignore[reportAssignmentType]  # constant here


LOGITS = np.array([[1.0, 2.0, 0.5], [0.0, 0.0, 3.0], [1.0, 1.0, 1.0]])
MASK = np.array([[True, True, False], [True, True, True], [True, False, True]])
TARGET = np.array([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 0.0]])  # the last position has none
VALUE = np.array([0.5, np.nan, -1.0])


def minibatch_of(target: np.ndarray = TARGET, label: np.ndarray = VALUE) -> Minibatch:
    arrays = (np.zeros((3, 1), np.bool_), MASK, np.zeros(3, np.int32), target, label, np.ones(3, np.bool_))
    return Minibatch(*map(jnp.asarray, arrays))


def test_loss_has_the_cross_entropy_over_legal_actions_their_share_and_the_squared_error() -> None:
    value, coefs = np.array([0.0, 7.0, 1.0]), {"legal_coef": 0.5, "value_coef": 0.25, "l2_coef": 0.01}
    learner, nothing = OfOutputs(Config(), Numbers(**coefs)), cast(Any, None)  # the loss does not read the train state
    params = {"encoder": {"params": {}}, "heads": {"params": {"logits": LOGITS, "value": value}}}
    compute = jax.jit(jax.grad(functools.partial(learner.loss, nothing), has_aux=True))
    of_params, (metrics, _) = compute(params, minibatch_of())
    found, gradient = {name: float(number) for name, number in metrics.items()}, of_params["heads"]["params"]
    weights = np.exp(LOGITS[:2])  # of the positions with a labelled action
    legal = (weights * MASK[:2]).sum(1)
    assert found["policy_loss"] == pytest.approx(-(TARGET[:2] * np.log(weights / legal[:, None])).sum() / 2, rel=1e-6)
    assert found["value_loss"] == pytest.approx((0.25 + 4) / 2)
    expected = found["policy_loss"] + 0.25 * found["value_loss"] + 0.01 * ((LOGITS**2).sum() + 50)
    assert found["loss"] == pytest.approx(expected - 0.5 * np.log(legal / weights.sum(1)).mean(), rel=1e-6)
    np.testing.assert_allclose(gradient["value"], [0.25 * -0.5 + 0, 0.02 * 7, 0.25 * 2 + 0.02], atol=1e-6)  # by hand
    np.testing.assert_allclose(gradient["logits"][2], 0.02 * LOGITS[2], atol=1e-6)  # no action is labelled


@jax.jit
@jax.value_and_grad
def cross_entropy(logits: jax.Array) -> jax.Array:
    return -(TARGET[:2] * legal_log_probs(logits, jnp.asarray(MASK[:2]))[0]).sum()


def test_action_of_probability_0_without_a_label_adds_no_loss() -> None:
    """Probabilities (0, 1) with the label of the second action, and (1/2, 1/2, 0) with the labels 1/2."""
    loss, gradient = cross_entropy(np.array([[-np.inf, 2, 5], [3e38, 3e38, -3e38]], np.float32))
    np.testing.assert_allclose(loss, np.log(2), rtol=1e-6)
    np.testing.assert_allclose(gradient, np.zeros((2, 3)), atol=1e-6)


# -- evaluation ----------------------------------------------------------------------------------------------------


def test_rank_counts_legal_actions_that_are_preferred_to_the_best_labelled_one() -> None:
    logits = jnp.array([[9.0, 3.0, 2.0, 1.0], [5.0, 5.0, 5.0, 5.0], [0.0, 1.0, 2.0, 3.0]])
    mask = jnp.array([[False, True, True, True], [True] * 4, [True] * 4])
    target = jnp.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [0.4, 0.0, 0.4, 0.2]])
    assert rank_of_label(logits, mask, target).tolist() == [2, 2, 1]


def test_metrics_of_evaluation_are_those_of_a_slow_reference(files: dict[str, str]) -> None:
    """The 50 positions of validation are three batches and a part of one."""
    config = Config(data=(files["some labels"],), evaluated_positions=0, hidden_sizes=(8,), batch_size=16)
    learner, train_state, metrics = after_an_iteration(config)
    validation = load_data(config)[0].evaluated["validation"]
    assert len(validation.action) % 16 == 0
    positions = load_positions(config)[0].of("validation")
    observation = jax.jit(jax.vmap(ENV.observe))(positions.states)
    apply = jax.jit(learner.policy.apply)
    logits, value = map(np.asarray, apply(train_state.params, observation, positions.states.current_player))
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


@pytest.mark.slow  # compiles a network with batch norm
def test_network_with_a_training_mode_learns_its_statistics(files: dict[str, str]) -> None:
    config = Config(data=(files["some labels"],), network="tests.helpers.networks:noisy(width=8)", batch_size=16)
    learner, train_state, metrics = after_an_iteration(config)
    states = jax.jit(learner.init)(jax.random.key(0)), train_state
    statistics = [each.params["encoder"]["batch_stats"]["BatchNorm_0"]["mean"] for each in states]
    assert not np.allclose(*statistics)
    assert np.isfinite(metrics["policy_loss/validation"])


def test_random_image_has_the_label_at_the_image_of_its_edge() -> None:
    env = jaxgames.make("dots_and_boxes(rows=2, cols=2)")
    board, beside = env.step(env.init(), jnp.int32(0)), jnp.eye(env.num_actions)[1]  # an edge beside the drawn one
    arrays = env.observe(board), env.legal_action_mask(board), board.current_player, beside, jnp.zeros(()), jnp.ones(())
    batch = Minibatch(*(jnp.broadcast_to(array, (64, *array.shape)) for array in arrays))
    image = jax.jit(random_image, static_argnums=0)(env, jax.random.key(0), batch)
    drawn, label = (~np.asarray(image.mask)).argmax(1), np.asarray(image.target).argmax(1)
    assert {*zip(drawn.tolist(), label.tolist(), strict=True)} == {
        (0, 1), (1, 0), (4, 5), (5, 4), (6, 9), (9, 6), (8, 11), (11, 8)
    }  # fmt: skip


# -- several files -------------------------------------------------------------------------------------------------


def test_loss_is_the_mean_over_the_files_with_keys_of_their_own() -> None:
    """One file has the bits of its loss, gradient and metrics."""
    key, nothing = jax.random.key(0), cast(Any, None)  # the loss does not read the train state
    one, two = (OfOutputs(Config(other_envs=others)) for others in ((), ("checkers",)))
    weights = {"logits": jnp.asarray(LOGITS, jnp.float32), "value": jnp.ones(3)}
    params: Any = {"encoder": {"params": {}}, "heads": {"params": weights}}
    minibatches = [minibatch_of(), minibatch_of(label=np.zeros(3))]

    def of_one(*given: Any) -> Any:
        return jax.jit(jax.value_and_grad(functools.partial(one.loss, nothing), has_aux=True))(params, *given)

    each = [of_one(found, key_of_game(key, number)) for number, found in enumerate(minibatches)]
    loss, (metrics, _) = jax.jit(functools.partial(two.mean_loss, nothing))(params, minibatches, key)
    mean = np.mean([float(found[0][0]) for found in each])
    assert float(loss) == pytest.approx(mean) == pytest.approx(float(metrics["loss"]))
    assert float(of_one(minibatches[1], key)[0][0]) != pytest.approx(float(each[1][0][0]))
    of_files = jax.jit(jax.value_and_grad(functools.partial(one.mean_loss, nothing), has_aux=True))
    jax.tree.map(np.testing.assert_array_equal, of_files(params, minibatches[:1], key), each[0])
