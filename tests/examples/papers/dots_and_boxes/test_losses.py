"""In which part of a game boxes are lost: the positions, the continued games, and values compared with labels."""

from pathlib import Path

import numpy as np
import pytest

from examples.papers.dots_and_boxes import losses as boxes_losses
from examples.papers.dots_and_boxes import phases as boxes_phases
from examples.papers.dots_and_boxes.matches import board_of
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import DotsAndBoxesSolution
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.labelled import saved, solved_positions

ARGUMENTS = ("--board", "2x2", "--open-edges", 8, 4, 6, "--games", 6)


def test_first_offer_is_the_first_board_with_a_box_of_three_edges() -> None:
    edges = np.zeros((2, 4, 7), np.bool_)  # of 1 x 2 boxes: two above, two below, three vertical
    for place, edge in enumerate((0, 2, 4), start=1):  # those of the left box
        edges[0, place:, edge] = True
    for place, edge in enumerate((0, 5), start=1):  # edge 5 is of both boxes
        edges[1, place:, edge] = True
    edges[1, 2:, 6] = True
    edges[1, 2:, 3] = True  # the third one of the right box
    assert boxes_losses.first_offer(board_of("1x2"), edges).tolist() == [3, 2]


def test_losses_are_between_numbers_of_open_edges() -> None:
    margins = {"9 open edges": 1.0, boxes_losses.FIRST_OFFER: -3.0, "5 open edges": -1.0, boxes_losses.PLAYED: -1.5}
    rows = [{"from": name, "margin": margin} for name, margin in margins.items()]
    assert boxes_losses.lost_boxes(rows) == ["+2.00", "", "+0.50", ""]


def test_number_of_open_edges_is_checked_before_any_game(tmp_path: Path) -> None:
    message = error_of(boxes_losses.main, "first", "--board", "2x2", "--open-edges", 10, "--output", tmp_path)
    assert "open_edges must be from 1 to 9 on 2x2, not 10" in message


def test_parts_of_the_game_are_told_by_boxes_to_take_and_safe_edges() -> None:
    """On 1 x 2 boxes: two edges above, two below, three vertical."""
    edges = np.zeros((4, 7), np.bool_)
    edges[1, [0, 2]] = True  # two of the left box, so that its others are not safe
    edges[2, [0, 2, 1, 3]] = True
    edges[3, [0, 2, 4]] = True
    parts = boxes_phases.parts_of(board_of("1x2"), edges)
    found = {name: np.flatnonzero(rows).tolist() for name, rows in parts.items() if rows.any()}
    assert found == {"a box to take": [3], "no safe edge": [2], "1-3 safe edges": [1], "7-10 safe edges": [0]}


def test_frequent_sign_is_the_share_that_a_constant_value_reaches() -> None:
    ahead = np.array([True, False, False, False])
    assert (boxes_phases.majority(ahead), boxes_phases.majority(~ahead)) == (0.75, 0.75)
    assert np.isnan(boxes_phases.majority(ahead[:0]))


@pytest.mark.slow
def test_solution_agrees_with_its_own_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solution = DotsAndBoxesSolution.solve(DotsAndBoxes(1, 3, "boxes"), progress=False)
    solution.save(tmp_path / "13.npz")
    table = solved_positions(solution)
    data = saved(table, tmp_path / "labelled.npz")
    solver = f"solver({tmp_path / '13.npz'})"
    assert "random has no values" in error_of(boxes_phases.main, "random", "--data", data)
    assert run_command(boxes_phases.main, solver, "--data", data) is None
    rows = last_json(capsys)["rows"]
    assert sum(row["positions"] for row in rows) == len(table.of("validation"))
    assert {(row["error"], row["sign"], row["best_edges"]) for row in rows} == {(0.0, 1.0, 1.0)}
    assert all(0 < row["decided"] <= row["positions"] and 0.5 <= row["majority_sign"] <= 1 for row in rows)


@pytest.mark.slow
def test_boxes_that_an_agent_gives_away_are_lost_after_the_first_offer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("first", "--reference", "greedy", *ARGUMENTS, "--output", tmp_path)
    assert run_command(boxes_losses.main, *command) is None
    rows = {row["from"]: row for row in last_json(capsys)["rows"]}
    assert rows["as played"]["margin"] < rows["first box to take"]["margin"]
