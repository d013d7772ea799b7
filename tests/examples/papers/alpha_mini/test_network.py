"""Batch norm and dropout: running statistics in play, those of the batch in the update, for every sharing of seats."""

import dataclasses
import functools
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from train.driver.run_folder import RunFolder
from train.models.policy import Policy, Sharing, split_statistics
from train.ppo import PPO, Config

GAME = "dots_and_boxes(rows=2, cols=2)"  # observes bool[5, 5, 3]
ENV = jaxgames.make(GAME)
ROWS = 12
TEXT = "alpha_mini(channels=3, hidden_sizes=[5, 4], dropout={dropout})"
NO_DROPOUT = TEXT.format(dropout=0)
KEY = jax.random.key(5)

SHARED = Policy.of(ENV, "shared", NO_DROPOUT)
INDEPENDENT = Policy.of(ENV, "independent", NO_DROPOUT)
in_training = jax.jit(SHARED.apply_in_training)


def random_params(policy: Policy) -> Any:
    """Parameters and statistics that are neither 0 nor 1; variances are positive."""
    rng = np.random.default_rng(0)

    def leaf(path: Any, shape: Any) -> np.ndarray:
        of_kernel = "kernel" in jax.tree_util.keystr(path)
        drawn = rng.normal(size=shape.shape) / 2 if of_kernel else rng.uniform(0.1, 1.5, shape.shape)
        return drawn.astype(np.float32)

    return jax.tree.map_with_path(leaf, jax.eval_shape(policy.init, jax.random.key(0)))


@functools.cache
def perturbed_params() -> Any:
    return random_params(SHARED)


OBSERVATION = jax.random.bernoulli(jax.random.key(1), 0.5, (ROWS, 5, 5, 3))
SEAT: np.ndarray = np.arange(ROWS) % 2


def forward(params: Any, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """The network in numpy: logits, values and the new running statistics. `rows` count in them; None for play."""
    weights, running = params["encoder"]["params"], params["encoder"]["batch_stats"]
    new: dict[str, Any] = {}

    def normalised(x: np.ndarray) -> np.ndarray:
        name = f"BatchNorm_{len(new)}"
        mean, var = running[name]["mean"], running[name]["var"]
        if rows is not None:
            of_units = x[rows].reshape(-1, x.shape[-1])
            mean, var = of_units.mean(0), of_units.var(0)
        new[name] = {key: 0.9 * running[name][key] + 0.1 * batch for key, batch in (("mean", mean), ("var", var))}
        return np.maximum((x - mean) / np.sqrt(var + 1e-5) * weights[name]["scale"] + weights[name]["bias"], 0)

    x = np.asarray(OBSERVATION, np.float64)
    for layer in range(4):
        kernel = weights[f"Convolution_{layer}"]["kernel"]
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))) if layer < 2 else x
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(1, 2))
        x = normalised(np.einsum("bhwcij,ijcd->bhwd", windows, kernel))
    assert x.shape == (ROWS, 1, 1, 3)
    x = x.reshape(ROWS, -1)
    for layer in range(2):
        x = normalised(x @ weights[f"Dense_{layer}"]["kernel"])
    logits, value = (
        x @ head["kernel"] + head["bias"] for head in (params["heads"]["params"][f"Dense_{n}"] for n in range(2))
    )
    return logits, value[:, 0], new


def assert_close(found: Any, expected: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), found, expected)


# -- one network ---------------------------------------------------------------------------------------------------


def test_play_uses_the_running_statistics() -> None:
    logits, values, _ = forward(perturbed_params(), None)
    assert_close(jax.jit(SHARED.apply)(perturbed_params(), OBSERVATION, SEAT), (logits, values))


@pytest.mark.parametrize("counted", [np.ones(ROWS, np.bool_), SEAT == 0], ids=["all rows", "half of the rows"])
def test_update_uses_the_statistics_of_the_rows_that_count(counted: np.ndarray) -> None:
    logits, values, new = forward(perturbed_params(), counted)
    found = in_training(perturbed_params(), OBSERVATION, SEAT, KEY, counted)
    assert_close(found[:2], (logits, values))
    assert_close(found[2], {"encoder": {"batch_stats": new}, "heads": {}})


def test_statistics_stay_where_no_row_counts() -> None:
    _, _, statistics = in_training(perturbed_params(), OBSERVATION, SEAT, KEY, np.zeros(ROWS, bool))
    jax.tree.map(np.testing.assert_array_equal, statistics, split_statistics(perturbed_params())[1])


def test_units_are_dropped_only_in_the_update() -> None:
    policy = Policy.of(ENV, "shared", TEXT.format(dropout=0.5))
    assert_close(
        jax.jit(policy.apply)(perturbed_params(), OBSERVATION, SEAT),
        jax.jit(SHARED.apply)(perturbed_params(), OBSERVATION, SEAT),
    )
    apply = jax.jit(policy.apply_in_training)
    first, again, other = (apply(perturbed_params(), OBSERVATION, SEAT, jax.random.key(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first[0], again[0])
    assert (np.asarray(first[0]) != other[0]).any()
    without, _, _ = in_training(perturbed_params(), OBSERVATION, SEAT, KEY, np.ones(ROWS, bool))
    assert (np.asarray(first[0]) != without).any()


# -- a network per seat --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_seats() -> Any:
    return random_params(INDEPENDENT)


def loss(params: Any, seat: jax.Array) -> tuple[jax.Array, Any]:
    logits, values, statistics = INDEPENDENT.apply_in_training(params, OBSERVATION, seat, KEY)
    return (jnp.square(logits).sum(-1) * values).sum(), (logits, values, statistics)


gradient = jax.jit(jax.grad(loss, has_aux=True))


def test_statistics_of_a_seat_are_those_of_its_own_rows(of_seats: Any) -> None:
    _, (logits, values, statistics) = jax.device_get(gradient(of_seats, SEAT))
    for seat, rows in enumerate((np.flatnonzero(SEAT == 0), np.flatnonzero(SEAT == 1))):
        expected = forward(jax.tree.map(lambda leaf, seat=seat: leaf[seat], of_seats), rows)
        assert_close((logits[rows], values[rows]), (expected[0][rows], expected[1][rows]))
        own = jax.tree.map(lambda leaf, seat=seat: leaf[seat], statistics["encoder"]["batch_stats"])
        assert_close(own, expected[2])


def test_seat_without_rows_keeps_its_statistics_and_has_gradient_zero(of_seats: Any) -> None:
    of_params, (_, _, statistics) = jax.device_get(gradient(of_seats, np.zeros(ROWS, np.int64)))
    before = split_statistics(of_seats)[1]
    jax.tree.map(lambda new, old: np.testing.assert_array_equal(new[1], old[1]), statistics, before)
    assert all(not leaf[1].any() for leaf in jax.tree.leaves(split_statistics(of_params)[0]))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(of_params))
    assert all((new[0] != old[0]).any() for new, old in zip(*map(jax.tree.leaves, (statistics, before)), strict=True))


# -- training ------------------------------------------------------------------------------------------------------

CONFIG = Config(
    env=GAME,
    network=TEXT.format(dropout=0.2),
    total_steps=3 * 4 * 8,
    num_envs=4,
    rollout_length=8,
    update_epochs=1,
    num_minibatches=2,
    anneal_lr=False,
)


@pytest.mark.slow
def test_iteration_updates_statistics_without_the_optimizer(tmp_path: Path) -> None:
    learner = PPO(CONFIG)
    before = jax.jit(learner.init)(KEY)
    after, metrics = jax.jit(learner.iterate)(before)
    assert np.isfinite([float(metrics[name]) for name in ("policy_loss", "value_loss", "approx_kl")]).all()
    old, new = (jax.tree.leaves(split_statistics(state.params)[1]) for state in (before, after))
    assert len(new) == 2 * 6  # mean and variance of each batch norm
    assert all((a != b).any() for a, b in zip(old, new, strict=True))
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(after.opt_state)]
    assert paths
    assert not any("batch_stats" in path for path in paths)

    run = RunFolder.create(tmp_path / "run", learner)
    run.save(after)
    restored = run.restore()
    run.close()
    assert restored is not None
    jax.tree.map(np.testing.assert_array_equal, jax.device_get(restored.params), jax.device_get(after.params))


@pytest.mark.slow  # compiles twelve programs
@pytest.mark.parametrize("sharing", get_args(Sharing))
@pytest.mark.parametrize(
    "network", ["mlp(activation=relu)", "conv(channels=[2])", "resnet(blocks=1, channels=4)", NO_DROPOUT]
)
def test_every_network_learns_with_every_sharing(network: str, sharing: Sharing) -> None:
    learner = PPO(dataclasses.replace(CONFIG, network=network, sharing=sharing))
    before = jax.jit(learner.init)(KEY)
    after, metrics = jax.jit(learner.iterate)(before)
    assert np.isfinite([float(metrics[name]) for name in ("policy_loss", "value_loss", "approx_kl")]).all()
    changed = jax.tree.map(lambda a, b: bool((a != b).any()), before.params, after.params)
    assert jax.tree.all(changed)
