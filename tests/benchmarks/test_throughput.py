"""benchmarks.throughput: devices, the line of best fit, pictures."""

import jax
import pytest

import jaxgames
from benchmarks.throughput import fit, recorded_actions, star_cells

BOXES = "dots_and_boxes(rows=1, cols=1)"


def test_recorded_actions_are_legal_when_replayed() -> None:
    env = jaxgames.auto_reset(jaxgames.make(BOXES))
    actions = recorded_actions(jaxgames.make(BOXES), 2, 30)
    step, mask = jax.jit(jax.vmap(env.step)), jax.jit(jax.vmap(env.legal_action_mask))
    boards = jax.vmap(env.init)(jax.random.split(jax.random.key(5), 2))
    for action in actions:
        assert mask(boards)[[0, 1], action].all()
        boards = step(boards, action)


def test_fit_of_points_on_a_line_is_that_line() -> None:
    line = fit(64, [{"cells": cells, "microseconds": 0.5 + 0.01 * cells} for cells in (37, 73, 121)])
    assert line == pytest.approx({"boards": 64, "microseconds_per_cell": 0.01, "microseconds_at_zero": 0.5})


def test_star_has_as_many_cells_as_the_game() -> None:
    for size in (1, 4, 8):
        assert 6 * star_cells(size) + 1 == jaxgames.make("chinese_checkers", size=size).num_actions
