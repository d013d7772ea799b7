"""Strength in solved games beside the solutions; matrix games beside their equilibria and optima."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples.papers.matrix_games import settings
from examples.papers.matrix_games.__main__ import Arguments, report
from examples.papers.matrix_games.tables import NASH_OF_RPS, POINTS, PRINTED_RPS, gain
from examples.papers.solution_strength import lost_positions
from examples.papers.solution_strength.judged import Arguments as JudgeArguments
from examples.papers.solution_strength.judged import report as judge_all
from examples.papers.solution_strength.self_play import means_over, rows_of
from jaxgames import agents
from jaxgames.solvers.strength.graph import graph_of
from tests.helpers.solved import solved_diamond
from train.matrix.games import Point, matrix_game, nash, pareto
from train.matrix.tabular import Learner


@pytest.mark.slow
def test_judge_that_knows_the_solution_makes_no_errors(tmp_path: Path) -> None:
    file, solution = tmp_path / "33.npz", solved_diamond(3, 3)
    solution.save(file)
    asked: dict[str, Any] = {"agents": ("first",), "judges": (f"solver({file})",), "positions": 200}
    (row,) = judge_all(JudgeArguments(tmp_path, env=str(solution.env), solution=file, **asked)).result["rows"]
    assert (row["wrongly_bad"], row["wrongly_good"], row["judge_good"]) == (0, 0, 1)
    assert 0 < row["judged_good"] == row["good"] < 1


def test_uniform_policy_delays_as_often_as_a_drawn_move() -> None:
    """Its entropy is 1, and its drawn moves delay the end as often as uniform ones."""
    solution = solved_diamond(3, 3)
    graph = graph_of(solution)
    lost, won = (graph.live[graph.value[graph.live] == value] for value in (-1, 1))
    row = lost_positions.measured(solution, graph, agents.make("random", solution.env), lost, won)
    assert (row["entropy_lost"], row["entropy_won"]) == (1, 1)
    assert 0 < row["delays_drawn"] == row["delays_uniform"] < 1


def test_game_that_the_limit_cuts_off_is_a_draw_and_runs_in_which_no_game_ended_do_not_count() -> None:
    won = {
        "episode_win_rate/seat_0": 0.5,
        "episode_win_rate/seat_1": 0.25,
        "episode_draw_rate": 0.0,
        "episode_length": 9.0,
        "episode_truncated_rate": 0.25,
        "self_play_value_accuracy": 0.75,
    }
    metrics = [won, {"self_play_value_accuracy": 0.25}, {**won, "episode_length": 11.0}]
    run: Any = SimpleNamespace(rows=lambda: metrics)
    first, second, third = rows_of(run)
    assert [*first.values()] == [0.5, 0.25, 0.25, 0.75, 9.0]
    found = means_over([first, second, third], ["plies", "values right"])
    assert found == {"plies": [10.0, 9.0, 11.0], "values right": [1.75 / 3, 0.25, 0.75]}
    assert means_over([second], ["plies"]) == {"plies": None}


def numbers(points: list[Point]) -> list[list[float]]:
    """The points as sorted lists of rounded probabilities."""
    return sorted(np.concatenate(point).round(9).tolist() for point in points)


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


@pytest.mark.slow  # compiles each learner
def test_small_epsilons_hide_the_difference_between_two_points_unless_policies_are_greedy(tmp_path: Path) -> None:
    """An epsilon-greedy pair at (1, 1) counts as (10/11, 10/11)."""
    cells = report(Arguments(output=tmp_path, runs=60, steps=40, grid=24)).result["shares"]
    names = ("game", "learner", "start", "greedy", "point")
    share = {tuple(cell[name] for name in names): cell["share"] for cell in cells}
    for learner in ("ε-greedy 0.1", "ε-greedy 0.2"):
        key = "subsidy", learner, "values"
        assert share[*key, False, "(10/11, 10/11)"] == share[*key, True, "(1, 1)"] > 0
        assert share[*key, False, "(1, 1)"] == 0


def test_learners_that_play_at_random_are_near_the_middle_of_three_actions(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"learners": (), "constant": ("epsilon_greedy(epsilon=1)",), "steps": (10,), "runs": 5}
    found = settings.report(settings.Arguments(output=tmp_path, matrix_games=("biased_rps",), **asked))
    (row,) = found.result["more actions"]
    assert (row["middle"], row["equilibrium"], row["pure"]) == (1, 0, 1)  # the greedy policy has one action
    assert settings.learner_of("lenient(tau_schedule=(1, 0.1))") == Learner("lenient", tau_schedule=(1, 0.1))
    assert row["mean"] == pytest.approx([1 / 3] * 3, abs=1e-3)
