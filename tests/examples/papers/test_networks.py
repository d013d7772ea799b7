"""The networks of the studies, beside the same written out in numpy, by hand or by a slow search."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from examples.papers.checkers_imitation.larson import Highway, ParallelConvolutions, signed_board
from examples.papers.parameter_sharing.star_graph import Hops, StarGraphHeads, largest
from jaxgames.games.chinese_checkers import ChineseCheckers
from tests.helpers.networks import random_leaves
from tests.train.models.test_board_networks import CELLS, TABLES, largest_worth, random_boards
from train.models.policy import Policy, split_statistics
from train.ppo import PPO, Config

GAME = "dots_and_boxes(rows=2, cols=2)"  # observes bool[5, 5, 3]
ENV = jaxgames.make(GAME)
ROWS = 12
TEXT = "alpha_mini(channels=3, hidden_sizes=[5, 4], dropout={dropout})"
NO_DROPOUT = TEXT.format(dropout=0)
KEY = jax.random.key(5)

SHARED = Policy.of(ENV, "shared", NO_DROPOUT)
INDEPENDENT = Policy.of(ENV, "independent", NO_DROPOUT)


def random_params(policy: Policy) -> Any:
    """Parameters and statistics that are neither 0 nor 1; variances are positive."""
    return jax.tree.map(np.abs, random_leaves(jax.eval_shape(policy.init, jax.random.key(0))))


PARAMS = random_params(SHARED)
OBSERVATION = jax.random.bernoulli(jax.random.key(1), 0.5, (ROWS, 5, 5, 3))
SEAT: np.ndarray = np.arange(ROWS) % 2
COUNTED = jnp.arange(ROWS) > 2


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


def test_update_uses_the_statistics_of_the_rows_that_count() -> None:
    logits, values, new = forward(PARAMS, np.asarray(COUNTED))
    found = jax.jit(SHARED.apply_in_training)(PARAMS, OBSERVATION, SEAT, KEY, COUNTED)
    assert_close(found[:2], (logits, values))
    assert_close(found[2], {"encoder": {"batch_stats": new}, "heads": {}})


@pytest.mark.slow  # compiles an iteration
def test_iteration_updates_statistics_without_the_optimizer() -> None:
    sizes: Any = {"num_envs": 4, "rollout_length": 8, "update_epochs": 1, "num_minibatches": 2}
    learner = PPO(Config(env=GAME, network=TEXT.format(dropout=0.2), **sizes))
    before = jax.jit(learner.init)(KEY)
    after, _ = jax.jit(learner.iterate)(before)
    old, new = (jax.tree.leaves(split_statistics(state.params)[1]) for state in (before, after))
    assert len(new) == 2 * 6  # mean and variance of each batch norm
    assert all(np.isfinite(b).all() and (a != b).any() for a, b in zip(old, new, strict=True))
    assert "batch_stats" not in str(jax.tree.structure(after.opt_state))


def test_play_uses_the_running_statistics_and_drops_no_units() -> None:
    policy = Policy.of(ENV, "shared", TEXT.format(dropout=0.5))
    assert_close(jax.jit(policy.apply)(PARAMS, OBSERVATION, SEAT), forward(PARAMS, None)[:2])
    apply = jax.jit(policy.apply_in_training)
    first, other = (apply(PARAMS, OBSERVATION, SEAT, jax.random.key(seed))[0] for seed in (1, 2))
    assert (np.asarray(first) != other).any()


OF_SEATS = random_params(INDEPENDENT)


def loss(params: Any, seat: jax.Array) -> tuple[jax.Array, Any]:
    logits, values, statistics = INDEPENDENT.apply_in_training(params, OBSERVATION, seat, KEY, COUNTED)
    return (jnp.square(logits).sum(-1) * values).sum(), (logits, values, statistics)


gradient = jax.jit(jax.grad(loss, has_aux=True))


def test_statistics_of_a_seat_are_those_of_its_own_rows_that_count() -> None:
    _, (logits, values, statistics) = jax.device_get(gradient(OF_SEATS, SEAT))
    for seat, rows in enumerate((SEAT == 0, SEAT == 1)):
        expected = forward(jax.tree.map(lambda leaf, seat=seat: leaf[seat], OF_SEATS), rows & np.asarray(COUNTED))
        assert_close((logits[rows], values[rows]), (expected[0][rows], expected[1][rows]))
        own = jax.tree.map(lambda leaf, seat=seat: leaf[seat], statistics["encoder"]["batch_stats"])
        assert_close(own, expected[2])


def test_seat_without_rows_keeps_its_statistics_and_has_gradient_zero() -> None:
    of_params, (_, _, statistics) = jax.device_get(gradient(OF_SEATS, np.zeros(ROWS, np.int64)))
    before = split_statistics(OF_SEATS)[1]
    jax.tree.map(lambda new, old: np.testing.assert_array_equal(new[1], old[1]), statistics, before)
    assert all(not leaf[1].any() for leaf in jax.tree.leaves(split_statistics(of_params)[0]))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(of_params))


CHECKERS = jaxgames.make("checkers")


def observation(text: str) -> jax.Array:
    return CHECKERS.observe(CHECKERS.from_string(text))


def num_weights(network: str) -> int:
    params = jax.eval_shape(Policy.of(CHECKERS, "shared", network).init, jax.random.key(0))
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def test_published_network_has_58_million_weights() -> None:
    areas, features = 1 + 4 + 9 + 16, 32 * 96
    convolutions = 24 * areas * (1 + 3 * 96) + 4 * 96
    highway = 3 * (2 * features**2 + features)
    heads = (2 * features + 1) * (128 + 1)
    assert num_weights("larson") == convolutions + highway + heads == 57_633_489
    assert num_weights("larson(jumper=True)") == 57_633_489 + 24 * areas
    for branch, count in (
        ("conv2", 4 * 32 * (1 + 32) + 64 + (1024 + 1) * 512),
        ("conv3", 9 * 32 * (1 + 32) + 64 + (1024 + 1) * 512),
        ("dense", (32 + 1) * 512 + (512 + 1) * 512),
    ):
        assert num_weights(f"larson_text(branch={branch})") == count + (512 + 1) * 129


def test_board_has_the_numbers_of_the_pieces_and_the_one_that_must_jump_again_only_if_asked() -> None:
    """Seat 1 sees PDN number n on square n - 1. The study's network does not see that a jump must follow."""
    free, bound = (observation(f"W:W15,K30:B11,K1{end}")[None] for end in ("", ":J15"))
    board = np.zeros(32)
    board[[15 - 1, 30 - 1, 11 - 1, 1 - 1]] = 1, 3, -1, -3
    for seen in (free, bound):
        np.testing.assert_array_equal(signed_board(seen)[0, ..., 0].ravel(), board)
    both = np.asarray(signed_board(bound, jumper=True))
    assert both.shape == (1, 8, 4, 2)
    np.testing.assert_array_equal(np.flatnonzero(both[0, ..., 1]), [15 - 1])
    assert not np.asarray(signed_board(free, jumper=True))[..., 1].any()


def test_highway_layer_computes_its_formula() -> None:
    """Gate and transform by hand: x = (1, 2), gate weights ((1, 0), (0, 1)), transform weights ((1, -1), (1, -1))."""
    params = {
        "gate": {"kernel": jnp.eye(2)},
        "transform": {"kernel": jnp.array([[1.0, -1.0], [1.0, -1.0]]), "bias": jnp.array([0.5, 0.0])},
    }
    found = np.asarray(Highway().apply({"params": params}, jnp.array([[1.0, 2.0]])))
    # Gates: sigmoid(1 - 2) = 0.268941, sigmoid(2 - 2) = 0.5. Transforms: relu(1 + 2 + 0.5) = 3.5, relu(-1 - 2) = 0.
    np.testing.assert_allclose(found, [[0.268941 * 3.5 + 0.731059 * 1, 0.5 * 0 + 0.5 * 2]], rtol=1e-5)


def test_block_has_the_convolutions_of_four_sizes_side_by_side() -> None:
    block, x = ParallelConvolutions(2), jax.random.normal(jax.random.key(1), (3, 8, 4, 3))
    params: Any = jax.jit(block.init)(jax.random.key(0), x)
    params["params"]["bias"] = jnp.arange(8.0)
    expected = [
        jax.lax.conv_general_dilated(
            x, params["params"][f"kernel_{size}"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        for size in (1, 2, 3, 4)
    ]
    found: Any = jax.jit(block.apply)(params, x)
    np.testing.assert_allclose(found, jnp.concatenate(expected, -1) + jnp.arange(8.0), rtol=1e-4, atol=1e-5)


BOARDS = random_boards()
HOPS = Hops.of(2, jnp.asarray(BOARDS.occupied), jnp.asarray(BOARDS.blocked))


@pytest.mark.parametrize("hops", [1, 3])
def test_largest_message_is_that_of_all_chains(hops: int) -> None:
    found = jax.jit(lambda worth: largest(2, worth[..., None], HOPS.away, hops))(BOARDS.worth)
    expected = [[largest_worth(BOARDS, board, cell, hops) for board in range(3)] for cell in range(CELLS)]
    np.testing.assert_array_equal(found[..., 0], np.array(expected, np.float32))


def test_gradient_of_the_largest_message_goes_to_the_cell_that_sent_it() -> None:
    """All worths differ, so the cell is the one with the value that arrived."""
    weights = np.random.default_rng(1).normal(size=BOARDS.worth.shape).astype(np.float32)
    found, gradient = jax.vjp(lambda x: largest(2, x[..., None], HOPS.away, 3)[..., 0], jnp.asarray(BOARDS.worth))
    expected = np.zeros_like(weights)
    for cell, board in np.ndindex(*weights.shape):
        (sender,) = np.flatnonzero(BOARDS.worth[:, board] == found[cell, board])
        expected[sender, board] += weights[cell, board]
    np.testing.assert_allclose(gradient(jnp.asarray(weights))[0], expected, atol=1e-6)


def test_hops_back_are_those_of_pegs_two_steps_ahead() -> None:
    for direction, cell, board in np.ndindex(6, CELLS, 3):
        over, far = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        expected = far < CELLS and BOARDS.occupied[over, board] and not BOARDS.blocked[cell, board]
        assert HOPS.back[direction][cell, board] == expected


def test_every_action_has_the_logit_of_the_cell_to_which_it_leads() -> None:
    """With these parameters the state of a cell is the logit of a step to it, and twice that of a hop."""
    heads = StarGraphHeads(ChineseCheckers(2), hops=1)
    occupied, blocked = BOARDS.occupied.T, BOARDS.blocked.T
    state = 1 + np.arange(CELLS, dtype=np.float32)
    cells = np.stack([np.broadcast_to(state, occupied.shape), occupied, blocked], axis=-1).astype(np.float32)
    states = jnp.asarray(np.pad(cells, ((0, 0), (0, 1), (0, 0))))
    params: Any = jax.tree.map(jnp.zeros_like, heads.init(jax.random.key(0), states))
    of_heads = params["params"]
    of_heads["FlatDense_0"]["Dense_0"]["kernel"] = jnp.array([[0.0, 1.0, 2.0]])  # origin, step, hop
    of_heads["Dense_0"]["kernel"] = jnp.ones((1, 1))
    logits, _ = jax.jit(heads.apply)(params, states)
    boards = BOARDS._replace(worth=np.broadcast_to(state[:, None], BOARDS.worth.shape))
    for board, cell, direction in np.ndindex(3, CELLS, 6):
        near, far = TABLES.neighbour[cell, direction], TABLES.beyond[cell, direction]
        if near < CELLS and not occupied[board, near]:
            assert logits[board, 6 * cell + direction] == state[near]
        elif far < CELLS and not blocked[board, far]:
            assert logits[board, 6 * cell + direction] == 2 * largest_worth(boards, board, int(far), 1)
