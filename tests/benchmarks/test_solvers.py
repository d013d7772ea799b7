"""benchmarks.solvers: the work that each improvement saves, and the moves of checkers by depth."""

import pytest

from benchmarks.solvers import (
    BoxesArguments,
    CheckersArguments,
    measure_boxes,
    measure_checkers,
    nodes_by_formula,
    points_of,
    positions,
)
from jaxgames.games.checkers import Checkers

pytestmark = pytest.mark.usefixtures("plain_python")


def test_every_improvement_is_measured_on_every_board() -> None:
    rows = measure_boxes(BoxesArguments(boards=("1x1", "1x2"), max_nodes=10_000))["rows"]
    steps = ["naive", "table", "symmetries", "chains", "alphabeta", "centre_first", "corners"]
    steps += ["early_termination", "fewest_boxes_first", "openers"]
    assert [(row["board"], row["step"]) for row in rows] == [
        (board, step) for board in ("1x1", "1x2") for step in steps
    ]
    assert [row["value"] for row in rows] == [-1] * 10 + [None] + [0] * 9
    assert [row["keys"] for row in rows[11:17]] == [127, 47, 30, 27, 13, 7]
    assert all(row["plain_seconds"] > 0 for row in rows if row["value"] is not None)
    assert (rows[10]["nodes"], rows[10]["state"]) == (13_700, "by the formula, not run")


def test_tables_have_a_row_per_improvement_and_a_column_per_board() -> None:
    nodes, keys, seconds = measure_boxes(BoxesArguments(boards=("1x1", "1x2"), max_nodes=10_000))["tables"]
    assert (nodes["columns"], nodes["rows"][0]) == (["nodes", "1x1", "1x2"], ["naive", "65", "13,700"])
    assert keys["rows"][1] == ["+ `table`", "15", "127"]
    assert len(nodes["rows"]) == len(keys["rows"]) == len(seconds["rows"]) == 10


def test_formulas_count_the_orders_and_the_moves_of_all_sets() -> None:
    assert [nodes_by_formula("naive", edges) for edges in (4, 7, 10)] == [65, 13_700, 9_864_101]
    assert nodes_by_formula("table", 24) == 201_326_593
    assert nodes_by_formula("symmetries", 24) is None


def test_larger_board_is_searched_in_two_windows_until_its_time_is_over() -> None:
    assert [point.window for point in points_of("4x4")] == [(0, 1), (-1, 0)]
    assert [point.window for point in points_of("3x4")] == [None] * 10
    assert [point.window for point in points_of("3x4", winner=True)] == [(0, 1)] * 6 + [(-1, 0)] * 6
    rows = measure_boxes(BoxesArguments(boards=("4x4",), table_size=64, minutes=1e-9))["rows"]
    assert [row["value"] for row in rows] == [None, None]
    assert all(row["nodes"] > 0 and row["keys"] == 64 and "stopped after" in row["state"] for row in rows)


def test_every_depth_is_measured_with_and_without_a_table() -> None:
    rows = measure_checkers(CheckersArguments(depths=(1, 3), positions=8, plain_depth=1))["rows"]
    assert [(row["depth"], row["table"]) for row in rows] == [(1, True), (1, False), (3, True), (3, False)]
    assert rows[0]["nodes"] == rows[1]["nodes"] < rows[2]["nodes"] < rows[3]["nodes"]
    assert all(row["mean_milliseconds"] <= row["max_milliseconds"] for row in rows)
    assert [row["plain_milliseconds"] is None for row in rows] == [False, False, True, True]


def test_positions_have_a_choice_and_are_the_same_for_a_seed() -> None:
    env = Checkers()
    states = positions(env, 30, seed=1)
    assert all(env.legal_action_mask(state).sum() > 1 for state in states)
    assert [*map(env.to_string, states)] == [*map(env.to_string, positions(env, 30, seed=1))]
