"""The loss of moves by the stage of the game."""

import pytest

from examples.papers.checkers_imitation.stages import stages
from train.analyse.annotation import Turn


def of_stage(number: int, pieces: int, lost: float, before: float = 0.0) -> Turn:
    return Turn(number, number - 1, 0, "", before, before, lost, "", blunder=lost > 0.5, pieces=pieces)


def test_stages_count_own_turns_and_pieces_and_even_boards() -> None:
    """Turns 20 and 21 of a game are the tenth and the eleventh of their seats. Two men of a lead are not even."""
    turns = [of_stage(20, 21, 1.0), of_stage(21, 20, 0.0), of_stage(81, 4, 3.0, -2.0), of_stage(83, 2, 0.8, 1.9)]
    rows = {(row["by"], row["stage"]): row for row in stages(turns)}
    assert {place: (row["turns"], row["blunders"]) for place, row in rows.items()} == {
        ("all", "all"): (4, 3),
        ("turn", "1-10"): (1, 1),
        ("turn", "11-20"): (1, 0),
        ("turn", "41+"): (2, 2),
        ("pieces", "21-24"): (1, 1),
        ("pieces", "17-20"): (1, 0),
        ("pieces", "2-4"): (2, 2),
    }
    assert (rows["turn", "41+"]["even"], rows["turn", "41+"]["even_blunders"]) == (1, 1)
    assert rows["all", "all"]["lost"] == pytest.approx(1.2)
    assert stages([]) == []
