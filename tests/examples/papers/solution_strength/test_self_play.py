"""Rows of the tables of self-play, from metrics that are written by hand."""

from types import SimpleNamespace
from typing import Any

from examples.papers.solution_strength.self_play import Arguments, Kind, means_over, rows_of, settings_of
from train.alphazero import config_for

WON = {
    "episode_win_rate/seat_0": 0.5,
    "episode_win_rate/seat_1": 0.25,
    "episode_draw_rate": 0.0,
    "episode_length": 9.0,
    "episode_truncated_rate": 0.25,
    "self_play_value_accuracy": 0.75,
}


def rows(*metrics: dict[str, Any]) -> list[dict[str, float | None]]:
    run: Any = SimpleNamespace(rows=lambda: metrics)
    return rows_of(run)


def test_game_that_the_limit_cuts_off_is_a_draw() -> None:
    (row,) = rows(WON)
    assert [*row.values()] == [0.5, 0.25, 0.25, 0.75, 9.0]


def test_runs_in_which_no_game_ended_do_not_count() -> None:
    first, second = rows(WON, {"self_play_value_accuracy": 0.25})
    (third,) = rows({**WON, "episode_length": 11.0})
    assert means_over([first, second, third], ["plies", "values right"]) == {
        "plies": [10.0, 9.0, 11.0],
        "values right": [1.75 / 3, 0.25, 0.75],
    }
    assert means_over([second], ["plies"]) == {"plies": None}


def test_settings_of_the_study_are_those_of_the_preset() -> None:
    found = settings_of(Arguments(settings="study"))
    expected = {"search": "puct", "simulations": 256, "network": "resnet", "gamma": 1.0, "td_lambda": 1.0}
    expected |= {"num_envs": 384, "rollout_length": 50, "total_steps": 960_000, "sampled_plies": 30}
    assert {name: found[name] for name in expected} == expected
    assert found.keys() == vars(config_for(preset="paper")).keys() - {"seed"}


def test_given_settings_replace_those_of_either_kind() -> None:
    kinds: tuple[Kind, ...] = ("ours", "study")
    for kind in kinds:
        found = settings_of(Arguments(settings=kind, gamma=0.5, simulations=3, num_envs=8, iterations=2))
        assert (found["gamma"], found["simulations"], found["total_steps"]) == (0.5, 3, 2 * 8 * 50)
