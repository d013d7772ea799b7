"""Shifts of the star board: their cells, and gradients that go the way back."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from tests.helpers.hop_boards import CELLS, TABLES
from train.models.star_shifts import ALL_DIRECTIONS, HOP, STEP, ahead


def test_cell_ahead_is_that_of_the_tables_and_its_gradient_goes_back() -> None:
    x, weights = np.random.default_rng(0).normal(size=(2, CELLS, 3)).astype(np.float32)
    for distance, table in ((STEP, TABLES.neighbour), (HOP, TABLES.beyond)):
        for direction in ALL_DIRECTIONS:
            cells = table[:-1, direction]
            found, gradient = jax.vjp(functools.partial(ahead, 2, distance, direction), jnp.asarray(x))
            np.testing.assert_array_equal(found, np.append(x, np.zeros((1, 3), np.float32), axis=0)[cells])
            expected = np.zeros((CELLS + 1, 3), np.float32)
            np.add.at(expected, cells, weights)
            np.testing.assert_array_equal(gradient(jnp.asarray(weights))[0], expected[:CELLS])
