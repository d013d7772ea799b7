"""The command train.match: what it prints and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.commands import error_of, last_json, run_command
from tests.train.conftest import Runs
from train import match


def test_run_against_itself_wins_half_of_the_games_that_are_won(
    untrained: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(match.main, untrained.first, untrained.first, "--games", 400)
    result = last_json(capsys)
    assert [*result] == ["games", "seats_each", "draw_rate", "truncated_rate", "runs"]
    assert (result["games"], result["seats_each"]) == (400, 1)
    assert [[*run] for run in result["runs"]] == [["run", "wins", "win_rate", "mean_turns", "mean_reward"]] * 2
    assert [run["run"] for run in result["runs"]] == [str(untrained.first)] * 2
    first, second = (run["wins"] for run in result["runs"])
    assert [run["win_rate"] for run in result["runs"]] == [first / 400, second / 400]
    assert first + second == pytest.approx(400 * (1 - result["draw_rate"]))  # no game is won twice
    assert first + second > 100
    assert abs(first - second) < 4 * np.sqrt(first + second)


@pytest.mark.parametrize(
    ("num_runs", "num_players", "seats_each", "expected"),
    [(2, 2, None, 1), (3, 6, None, 2), (2, 6, None, 2), (3, 4, None, 1), (2, 6, 3, 3), (2, 6, 1, 1)],
)
def test_runs_have_two_seats_each_where_they_fit(
    num_runs: int, num_players: int, seats_each: int | None, expected: int
) -> None:
    assert match.seats_for(num_runs, num_players, seats_each) == expected


def test_match_is_refused_when_runs_or_seats_do_not_fit(untrained: Runs) -> None:
    first, second, other = untrained.first, untrained.second, untrained.other_game
    assert "two or more runs, not 1" in error_of(match.main, first)
    assert "the runs must share a game" in error_of(match.main, first, other)
    assert "at most 2 runs fit on 2 seats, not 3" in error_of(match.main, first, second, first)
    assert "seats_each must be from 1 to 1" in error_of(match.main, first, second, "--seats-each", 2)
    assert "games must be from 1 to 10000000, not 0" in error_of(match.main, first, second, "--games", 0)
    assert "temperature must be 0 or more, not -1" in error_of(match.main, first, second, "--temperature", -1)


def test_folder_without_a_run_is_named(untrained: Runs, tmp_path: Path) -> None:
    missing = tmp_path / "nothing"
    error = error_of(match.main, untrained.first, missing)
    assert error.startswith("train.match: ")
    assert f"{missing} holds no run" in error
    assert not missing.exists()


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(match.main, "--help") == 0
    assert "--seats-each" in capsys.readouterr().out
