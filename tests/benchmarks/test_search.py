"""benchmarks.search compares searches that find the same, and counts their simulations, nodes and bytes."""

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks import harness, search, search_sides
from benchmarks.search import Arguments, measure_search
from jaxgames.mcts import SearchConfig

BOXES = "dots_and_boxes(rows=1, cols=2)"  # seven edges; a completed box lets the same seat move again
TINY = Arguments(
    env=BOXES,
    batch_sizes=(2,),
    simulations=(2, 4),
    slots=(7, 3),
    batch=2,
    curve_batch=2,
    budget=2,
    peer_slots=4,
    hidden_sizes=(5,),
    repeats=1,
    parts=("boards", "simulations", "slots", "profile"),
)


@pytest.fixture
def blank_positions(programs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards of shapes only, which is all that a traced program needs."""

    def shapes(playing: Any, boards: int) -> Any:
        return jax.eval_shape(jax.vmap(playing.init), jax.random.split(jax.random.key(0), boards))

    if programs == "traced":
        monkeypatch.setattr(search_sides, "positions_of", shapes)


@pytest.mark.slow  # traces for seconds; test_throughput.py has a whole command that is fast
@pytest.mark.usefixtures("blank_positions")
def test_every_part_is_measured_and_fits_into_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(json.dumps(measure_search(TINY)))
    points = [(row["side"], row["boards"], row["simulations"], row["slots"]) for row in result["rows"]]
    dense = [("mctx", boards, count, None) for boards, count in ((2, 2), (2, 4))]
    ours = [("jaxgames", boards, count, 7) for boards, count in ((2, 2), (2, 4))]
    assert sorted(points, key=str) == sorted([*dense, *ours, ("jaxgames", 2, 2, 3)], key=str)  # each only once
    assert all(row["simulations_per_second"] > 0 for row in result["rows"])
    assert all(row["network"] == [[15 * 3, 5], [5, 8]] for row in result["rows"])
    assert set(result["profile"]) == {"whole", "network", "rules", "rest"}
    assert {"jax", "processor", "cores", "devices", "date"} <= result.keys()
    assert result["versions"]["mctx"]
    shown = capsys.readouterr().err
    assert "[row 6 of 6" in shown
    assert "| game | search | roots | simulations | slots |" in shown
    picture = tmp_path / "search.svg"
    harness.save_picture(search.draw_by_simulations(result["rows"], TINY), picture)
    assert "microseconds per simulation" in picture.read_text()


@pytest.mark.slow  # Pgx takes seconds to trace, and longer to compile
@pytest.mark.usefixtures("blank_positions")
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
    sides = [make(BOXES, 4, config, (5,)) for make in (search_sides.ours, search_sides.dense)]
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


def test_dense_node_counts_all_its_actions() -> None:
    """Six arrays of four bytes per action, five numbers per node, and the board."""
    side = search_sides.dense(BOXES, 2, SearchConfig(simulations=3), (5,))
    env = search_sides.game_of_two(BOXES)
    assert side.bytes_per_node == 6 * 4 * env.num_actions + 5 * 4 + env.state_bytes


def test_ratio_is_that_of_the_times_in_a_part() -> None:
    def row(side: str, microseconds: float) -> dict[str, Any]:
        point = search.Point(side, "g", 2, 3, 4 if side == "jaxgames" else None)._asdict()
        times = {"microseconds": microseconds, "simulations_per_second": 1e6 / microseconds, "spread": 0.0}
        return {**point, **times, "bytes_per_node": 9, "compile_seconds": 1.0}

    table = search.table_of([row("jaxgames", 2.0), row("mctx", 9.0)])
    assert table.splitlines()[-1].endswith("| 111,111 (0%) | 9.0 | 9 | 1.0 s | 4.5 |")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "must be positive"),
        ({"hidden_sizes": (0,)}, "must be positive"),
        ({"parts": ("board",)}, "parts must be among boards, .*not board"),
        ({"parts": ("peer",), "picture": Path("x.svg")}, "picture needs the part simulations"),
        ({"env": "chess"}, "the games are"),
        ({"env": "chinese_checkers(num_players=3)"}, "zero-sum game of two seats"),
    ],
)
def test_bad_input_is_refused_with_the_allowed_values(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure_search(Arguments(**change))
