"""benchmarks.solvers: the search of each board and window, and the moves of checkers by depth."""

import pytest

from benchmarks.solvers import (
    BoxesArguments,
    CheckersArguments,
    measure_boxes,
    measure_checkers,
    positions,
)
from jaxgames.games.checkers import Checkers

pytestmark = pytest.mark.usefixtures("plain_python")


def test_every_board_and_window_is_measured() -> None:
    rows = measure_boxes(BoxesArguments(boards=("1x1", "1x2")))["rows"]
    assert [(row["board"], row["window"], row["value"]) for row in rows] == [("1x1", None, -1), ("1x2", None, 0)]
    assert all(row["nodes"] > row["keys"] > 0 for row in rows)
    rows = measure_boxes(BoxesArguments(boards=("1x2",), winner=True, table_size=64))["rows"]
    assert [row["window"] for row in rows] == [(0, 1), (-1, 0)]


def test_every_depth_is_measured_with_and_without_a_table() -> None:
    rows = measure_checkers(CheckersArguments(depths=(1, 3), positions=8))["rows"]
    assert [(row["depth"], row["table"]) for row in rows] == [(1, True), (1, False), (3, True), (3, False)]
    assert rows[0]["nodes"] == rows[1]["nodes"] < rows[2]["nodes"] < rows[3]["nodes"]
    assert all(row["mean_milliseconds"] <= row["max_milliseconds"] for row in rows)


def test_positions_have_a_choice_and_are_the_same_for_a_seed() -> None:
    env = Checkers()
    states = positions(env, 30, seed=1)
    assert all(env.legal_action_mask(state).sum() > 1 for state in states)
    assert [*map(env.to_string, states)] == [*map(env.to_string, positions(env, 30, seed=1))]
