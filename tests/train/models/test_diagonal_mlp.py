"""The network along the diagonals of checkers: its neighbours, its gradient, its size and its parts."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgames
from train.models.diagonal_mlp import NUM_SQUARES, around, neighbours
from train.models.policy import Policy

ENV = jaxgames.make("checkers")
SMALL = "diagonal_mlp(channels=3, local_blocks=1, hidden_sizes=4, blocks=1)"
MOVES = ((-1, 1), (1, 1), (1, -1), (-1, -1))  # rows and columns of the 8 x 8 board in directions 0 to 3


def square_at(row: int, column: int) -> int:
    on_board = 0 <= row < 8 and 0 <= column < 8
    return 4 * row + column // 2 if on_board else NUM_SQUARES


@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("direction", range(4))
def test_neighbours_lie_on_the_diagonals_of_the_board(direction: int, distance: int) -> None:
    down, right = MOVES[direction]
    expected = [
        square_at(row + down * distance, 2 * (square % 4) + (row + 1) % 2 + right * distance)
        for square in range(32)
        for row in [square // 4]
    ]
    np.testing.assert_array_equal(neighbours(direction, distance), expected)


def test_features_around_a_square_are_in_the_order_of_distance_and_direction() -> None:
    x = jnp.arange(32.0)[:, None, None]
    # Around square 13: up-right 9, down-right 17, down-left 16, up-left 8, and the next ones behind them.
    np.testing.assert_array_equal(around(x, 2)[13, 0], [13, 9, 17, 16, 8, 6, 22, 20, 4])


def test_gradient_is_that_of_a_plain_index() -> None:
    x, weights = jax.random.normal(jax.random.key(0), (32, 3, 2)), jax.random.normal(jax.random.key(1), (32, 3, 18))

    def plain(x: jax.Array) -> jax.Array:
        with_outside = jnp.concatenate([x, jnp.zeros_like(x[:1])])
        steps = [(way, n) for n in (1, 2) for way in range(4)]
        return jnp.concatenate([x, *(with_outside[np.array(neighbours(*step))] for step in steps)], axis=-1)

    gradients = [jax.grad(lambda x, f=f: (weights * f(x)).sum())(x) for f in (lambda x: around(x, 2), plain)]
    np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def first_boards() -> jax.Array:
    texts = ["W:W22,K32:B18,K1", "W:W15,30:B11,1:J15", "B:W21,30:B3,K12"]
    return jnp.stack([ENV.observe(ENV.from_string(text)) for text in texts])


@pytest.mark.slow
def test_units_are_dropped_in_the_update_only(first_boards: jax.Array) -> None:
    policy, without = (Policy.of(ENV, "shared", f"{SMALL[:-1]}, dropout={dropout})") for dropout in (0.5, 0))
    params, seat = jax.jit(policy.init)(jax.random.key(0)), jnp.zeros(3, jnp.int32)
    in_play = jax.jit(policy.apply)(params, first_boards, seat)
    jax.tree.map(np.testing.assert_array_equal, in_play, jax.jit(without.apply)(params, first_boards, seat))
    in_training = jax.jit(policy.apply_in_training)
    first, second = (in_training(params, first_boards, seat, jax.random.key(key))[0] for key in range(2))
    assert not np.allclose(first, second)
    assert not without.network.training_mode


@pytest.mark.slow
def test_every_layer_has_a_gradient_and_rows_are_apart(first_boards: jax.Array) -> None:
    policy = Policy.of(ENV, "shared", SMALL)
    params = jax.jit(policy.init)(jax.random.key(0))
    params = jax.tree.map(lambda leaf: leaf + 0.3 * jax.random.normal(jax.random.key(leaf.size), leaf.shape), params)
    seat = jnp.zeros(3, jnp.int32)

    @jax.jit
    def total(params: Any, boards: jax.Array) -> Any:
        logits, value = policy.apply(params, boards, seat)
        return (logits**2).sum() + (value**2).sum(), (logits, value)

    program = jax.jit(jax.grad(total, has_aux=True))
    gradient, found = program(params, first_boards)
    assert all(bool((leaf != 0).any()) for leaf in jax.tree.leaves(gradient))
    _, of_reversed = program(params, first_boards[::-1])
    for one, other in zip(found, of_reversed, strict=True):
        np.testing.assert_allclose(one, other[::-1], rtol=1e-4, atol=1e-5)
