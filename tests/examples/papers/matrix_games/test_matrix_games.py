"""The tables of matrix games: the points of the study, and the whole command with few short runs."""

from pathlib import Path

import numpy as np
import pytest

from examples.papers.matrix_games.__main__ import Arguments, report
from examples.papers.matrix_games.tables import (
    LEARNERS,
    NASH_OF_RPS,
    POINTS,
    PRINTED_RPS,
    SETTINGS,
    gain,
)
from jaxgames._checks import ParameterError
from train.driver.tables import tables_in
from train.matrix.games import Point, matrix_game, nash, pareto

STUDY = {  # the answers of the study's eight tables, of equilibria and optima, by game and point
    "prisoners_dilemma": {"(0, 0)": "Yes Yes Yes", "(1, 1)": "No No No"},
    "biased_rps": {"(10, 5, 1)/16": "No No No"},
    "subsidy": {"(1, 1)": "No No Yes", "(0, 0)": "Yes Yes Yes", "(10/11, 10/11)": "Yes No No"},
    "battle_of_sexes": {"(0.6, 0.4)": "No No No", "(1, 1)": "No Yes Yes", "(0, 0)": "Yes Yes Yes"},
}


def numbers(points: list[Point]) -> list[list[float]]:
    """The points as sorted lists of rounded probabilities."""
    return sorted(np.concatenate(point).round(9).tolist() for point in points)


@pytest.mark.parametrize("game", STUDY)
def test_points_have_the_answers_of_the_study(game: str) -> None:
    assert {column.label: " ".join(column.answers) for column in POINTS[game] if column.answers} == STUDY[game]


def test_points_are_the_equilibria_and_optima_of_their_games() -> None:
    """Except those of the study that are wrong: of rock-paper-scissors, and of the printed subsidy game."""
    for name, columns in POINTS.items():
        game, points = matrix_game(name), numbers([column.point for column in columns])
        if name == "biased_rps":
            assert numbers([NASH_OF_RPS.point]) == numbers(nash(game))
            continue
        right = numbers(nash(game)) + numbers(pareto(game))
        assert [point for point in right if point not in points] == []
        wrong = [column.label for column in columns if numbers([column.point])[0] not in right]
        assert wrong == (["(1, 1)", "(0, 0)", "(10/11, 10/11)"] if name == "subsidy_printed" else [])


def test_best_reply_gains_nothing_at_an_equilibrium() -> None:
    """At the study's point of rock-paper-scissors, paper wins 0.25 * 10/16 - 0.05 / 16 and the policy wins nothing."""
    payoffs = matrix_game("biased_rps").payoffs[0]
    assert gain(payoffs, NASH_OF_RPS.point) == pytest.approx(0)
    assert gain(payoffs, PRINTED_RPS.point) == pytest.approx(0.25 * 10 / 16 - 0.05 / 16)


@pytest.mark.parametrize(("setting", "number"), [("runs", 0), ("steps", 0), ("grid", 1)])
def test_numbers_out_of_range_are_refused(setting: str, number: int, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=f"{setting} must be an integer from"):
        report(Arguments(output=tmp_path, **{setting: number}))  # pyright: ignore[reportArgumentType]  # all are integers


@pytest.mark.slow  # compiles each learner
def test_results_of_the_command_fit_each_other(tmp_path: Path) -> None:
    """All settings are there, and an epsilon-greedy pair at (1, 1) counts as (10/11, 10/11) for small epsilons."""
    made = report(Arguments(output=tmp_path, runs=60, steps=40, grid=24))
    cells = made.result["shares"]
    assert {(cell["game"], cell["learner"], cell["start"]) for cell in cells} == {*SETTINGS[:-1]}
    share = {(*(cell[key] for key in ("game", "learner", "start", "greedy")), cell["point"]): cell for cell in cells}
    for learner in ("ε-greedy 0.1", "ε-greedy 0.2"):
        greedy = share["subsidy", learner, "values", True, "(1, 1)"]
        assert share["subsidy", learner, "values", False, "(10/11, 10/11)"]["share"] == greedy["share"] > 0
        assert share["subsidy", learner, "values", False, "(1, 1)"]["share"] == 0
    for cell in cells:
        assert cell["interval"][0] <= cell["share"] <= cell["interval"][1]
    assert {cell["learner"] for cell in cells} == {*LEARNERS} - {"Boltzmann, τ = 0.05"}
    _, leniency = tables_in(made.tables)
    assert leniency["rows"][0][:3] == ["1", "0.9091", "0.2006"]  # 10/11, and the example of docs/matrix_games.md
