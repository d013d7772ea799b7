"""benchmarks.search compares searches that find the same, and counts their simulations, nodes and bytes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import search
from benchmarks.search import Arguments, measure_search
from jaxgames.mcts import SearchConfig
from tests.benchmarks.conftest import blank_positions

BOXES = "dots_and_boxes(rows=1, cols=2)"  # seven edges; a completed box lets the same seat move again


@pytest.fixture
def blank(programs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards are shapes, which is all that a traced program needs."""
    if programs == "traced":
        monkeypatch.setattr(search, "positions", blank_positions)


@pytest.mark.slow  # traces for seconds
@pytest.mark.usefixtures("blank")
def test_point_of_several_parts_is_measured_once() -> None:
    sizes: dict[str, Any] = {"batch": 2, "curve_batch": 2, "budget": 2, "hidden_sizes": (5,), "repeats": 1}
    parts = ("boards", "simulations", "slots")
    arguments = Arguments(env=BOXES, batch_sizes=(2,), simulations=(2, 4), slots=(7, 3), parts=parts, **sizes)
    rows = measure_search(arguments)["rows"]
    points = [(row["side"], row["boards"], row["simulations"], row["slots"]) for row in rows]
    dense = [("mctx", 2, count, None) for count in (2, 4)]
    ours = [("jaxgames", 2, count, 7) for count in (2, 4)]
    assert sorted(points, key=str) == sorted([*dense, *ours, ("jaxgames", 2, 2, 3)], key=str)
    assert all(row["network"] == [[15 * 3, 5], [5, 8]] for row in rows)


@pytest.mark.slow  # Pgx takes seconds to trace, and longer to compile
@pytest.mark.usefixtures("blank")
def test_peer_searches_with_the_same_hidden_sizes() -> None:
    arguments = Arguments(parts=("peer",), batch=2, budget=2, peer_slots=4, hidden_sizes=(5, 6), repeats=1)
    ours, dense, pgx = measure_search(arguments)["rows"]
    assert [ours["game"], dense["game"], pgx["game"]] == ["minichess", "minichess", "gardner_chess"]
    assert ours["network"] == dense["network"] == [[375, 5], [5, 6], [6, 1226]]
    assert pgx["network"] == [[2875, 5], [5, 6], [6, 1226]]
    assert ours["bytes_per_node"] < dense["bytes_per_node"] / 10 < pgx["bytes_per_node"] / 10


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


def test_ratio_compares_a_row_with_the_last_row_of_ours() -> None:
    times = [("jaxgames", 2.0), ("mctx", 9.0), ("jaxgames", 4.0), ("mctx", 10.0)]
    rows = search.with_ratios([{"side": side, "microseconds": time} for side, time in times])
    assert [row["ratio"] for row in rows] == [None, 4.5, None, 2.5]
