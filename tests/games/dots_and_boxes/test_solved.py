"""Small boards of Dots and Boxes solved: the values that others have found, and the env's own rules behind them.

The solver has its own arithmetic on sets of edges. Here the env's mask and step say what is legal, what it pays, who
moves next and when the game is over: every value of the solver must be the best of the values after each legal edge.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import solvers
from jaxgames.solvers import Solution
from tests.games.dots_and_boxes.pictures import game

BATCH = 2**12  # boards at once


@functools.cache
def solved(rows: int, cols: int) -> Solution[Any]:
    return solvers.solve(game(rows, cols), progress=False)


@pytest.mark.parametrize(
    ("rows", "cols", "value"),
    [
        (1, 1, -1),
        (1, 2, 0),
        (1, 3, -1),
        (2, 2, 2),
        (2, 3, -2),
        # One more board to compile for each.
        pytest.param(2, 1, 0, marks=pytest.mark.slow),
        pytest.param(1, 4, 0, marks=pytest.mark.slow),
        pytest.param(3, 2, -2, marks=pytest.mark.slow),
        pytest.param(2, 4, 2, marks=pytest.mark.slow),
        pytest.param(3, 3, -3, marks=pytest.mark.slow),
    ],
)
def test_margin_under_perfect_play_is_the_known_one(rows: int, cols: int, value: int) -> None:
    """Boxes by which the first player is ahead."""
    assert solved(rows, cols).facts()["start_value"] == value


@pytest.mark.slow
def test_every_opening_of_3x3_is_worth_the_same() -> None:
    openings = solved(3, 3).states_at(2 ** np.arange(24))
    assert solved(3, 3).value(openings).tolist() == [3] * 24  # for the second player


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), pytest.param(2, 3, marks=pytest.mark.slow)])
def test_every_value_is_the_best_of_those_after_a_step_of_the_env(rows: int, cols: int) -> None:
    solution = solved(rows, cols)
    check_values(solution, np.arange(solution.num_states))


@pytest.mark.slow
def test_values_of_3x3_are_the_best_of_those_after_a_step_of_the_env() -> None:
    solution = solved(3, 3)
    check_values(solution, np.random.default_rng(0).integers(0, solution.num_states, BATCH))


def check_values(solution: Solution[Any], indices: np.ndarray) -> None:
    """The value of every position is derived again, from those after each edge; "boxes" pays each box at once."""
    env = game(solution.env.rows, solution.env.cols, "boxes")
    edges = jnp.arange(env.num_actions)
    step = jax.jit(jax.vmap(jax.vmap(env.step, in_axes=(None, 0)), in_axes=(0, None)))
    legal = jax.jit(jax.vmap(env.legal_action_mask))
    for begin in range(0, len(indices), BATCH):
        states = solution.states_at(indices[begin : begin + BATCH])
        after = step(states, edges)  # [B, edges, ...]
        rows = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), after)
        to_go = np.where(after.terminated, 0, solution.value(rows).reshape(after.terminated.shape))
        worth = np.asarray(after.rewards[:, :, 0]) + np.where(after.current_player == 0, to_go, -to_go)
        best = np.where(legal(states), worth, -np.inf).max(1)
        live = ~np.asarray(states.terminated)
        np.testing.assert_array_equal(solution.value(states)[live], best[live])
        assert not solution.value(states)[~live].any()
