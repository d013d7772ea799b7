"""The probabilities and values of the agent `mcts`: shares of its simulations, and mean returns."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import agents, auto_reset, make
from tests.helpers.analysis import analysis_of

BOXES = make("dots_and_boxes(rows=1, cols=2)")


def analysis(*boards: Any) -> Any:
    """The analysis of two boards by one agent, which is compiled once."""
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *boards)
    return analysis_of(agents.make("mcts(simulations=50)", BOXES), states)


def test_probabilities_are_shares_of_simulations_over_legal_actions() -> None:
    probabilities, values = analysis(BOXES.from_string("1010100 .. 0"), BOXES.init())
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    assert not np.asarray(probabilities)[0, [0, 2, 4]].any(), "edges that are drawn"
    assert values is not None
    np.testing.assert_allclose(values.sum(1), 0, atol=1e-5)


@pytest.mark.parametrize("position", ["1111110 0. 0", "1111110 1. 0"])
def test_value_of_the_last_move_is_the_result(position: str) -> None:
    state = BOXES.from_string(position)
    probabilities, values = analysis(state, state)
    assert float(probabilities[0].max()) == 1.0, "one edge is left"
    assert values is not None
    expected = BOXES.step(state, int(probabilities[0].argmax())).rewards
    np.testing.assert_allclose(values[0], expected, atol=1e-5)


@pytest.mark.slow  # compiles a search of its own
def test_board_that_has_restarted_is_analysed() -> None:
    """With `auto_reset` the flags are of the game that has ended, and the board is a new one."""
    env = auto_reset(BOXES)
    ended = env.step(dataclasses.replace(env.init(), board=BOXES.from_string("1111110 0. 0")), jnp.int32(6))
    assert ended.terminated
    probabilities, _ = analysis_of(
        agents.make("mcts(simulations=50)", env), jax.tree.map(lambda leaf: leaf[None], ended)
    )
    np.testing.assert_allclose(probabilities.sum(), 1, rtol=1e-5)


def test_finished_boards_have_no_probabilities_and_values_of_0() -> None:
    over, live = BOXES.from_string("1111111 00 0"), BOXES.from_string("1111110 0. 0")
    probabilities, values = analysis(over, dataclasses.replace(live, truncated=jnp.bool_(True)))
    assert not probabilities.any()
    assert values is not None
    assert not values.any()
