"""benchmarks.search compares searches that find the same, and counts their simulations, nodes and bytes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import search
from jaxgames.mcts import SearchConfig
from tests.benchmarks.conftest import blank_positions

BOXES = "dots_and_boxes(rows=1, cols=2)"  # seven edges; a completed box lets the same seat move again


@pytest.mark.slow  # compiles two searches
def test_searches_of_one_game_find_the_same() -> None:
    """With a slot for every action, ours and mctx are one algorithm: equal values and actions on equal boards."""
    config = SearchConfig(simulations=8, slots=7)
    sides = [make(BOXES, 4, config, (5,)) for make in (search.ours, search.dense)]
    boards = sides[0].boards
    jax.tree.map(np.testing.assert_array_equal, boards, sides[1].boards)
    ours, (action, weights, value) = (
        jax.jit(side.program)(jax.random.key(2), side.params, side.boards) for side in sides
    )
    live = ~boards.terminated
    assert live.any()
    np.testing.assert_array_equal(ours.action[live], action[live])
    rows = jnp.arange(4)
    in_order = jnp.zeros((4, 8)).at[rows[:, None], ours.slots].set(ours.weights)[:, :7]
    np.testing.assert_allclose(in_order[live], weights[live], atol=1e-5)
    np.testing.assert_allclose(ours.values[rows, boards.current_player][live], value[live], atol=1e-5)


def test_dense_node_counts_all_its_actions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six arrays of four bytes per action, five numbers per node, and the board."""
    monkeypatch.setattr(search, "positions", blank_positions)
    side = search.dense(BOXES, 2, SearchConfig(simulations=3), (5,))
    env = search.game_of_two(BOXES)
    assert side.bytes_per_node == 6 * 4 * env.num_actions + 5 * 4 + env.state_bytes
