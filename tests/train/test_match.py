"""The command train.match: what it prints and writes, and what it refuses."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import arena, make
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.stored_runs import store
from tests.train.conftest import Runs
from train import agents, evaluate, match
from train.ppo import PPO, Config

BOXES = "dots_and_boxes(rows=2, cols=2)"


def test_run_against_itself_wins_half_of_the_games_that_are_won(
    untrained: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(match.main, untrained.first, untrained.first, "--games", 400)
    *text, line = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert text == match.table(result).split("\n")
    assert sum("- on seat" in row for row in text) == 4
    of_games = [name for name in arena.Results.__required_keys__ if name not in match.OF_AGENTS]
    assert {*result} == {"env", *of_games, "random_seats", "agents"}
    assert (result["games"], result["random_seats"]) == (400, 0)
    assert [[*agent] for agent in result["agents"]] == [["agent", "plays", "seats", *match.OF_AGENTS]] * 2
    assert [(agent["agent"], agent["seats"]) for agent in result["agents"]] == [(str(untrained.first), 1)] * 2
    first, second = (agent["wins"] for agent in result["agents"])
    assert [agent["win_rate"] for agent in result["agents"]] == [first / 400, second / 400]
    assert first + second == pytest.approx(400 * (1 - result["draw_rate"]))  # no game is won twice
    assert first + second > 100
    assert abs(first - second) < 4 * np.sqrt(first + second)


def test_openings_are_played_with_every_rotation_of_the_seats(tmp_path: Path) -> None:
    """Both agents play the first edge, so that the two games of an opening have the same actions."""
    output = tmp_path / "games.jsonl"
    options = ("--env", BOXES, "--games", 24, "--seating", "alternating", "--openings", 4, "--output", output)
    run_command(match.main, "first", "first", *options)
    games = list(arena.read_games(output))
    assert {game["env"] for game in games} == {str(make(BOXES))}
    openings = [game["opening"] for game in games]
    assert [opening["number"] for opening in openings if opening] == [0, 0, 1, 1, 2, 2, 3, 3] * 3
    by_opening = Counter(
        (opening["number"], tuple(game["actions"])) for opening, game in zip(openings, games, strict=True) if opening
    )
    assert sorted(by_opening.values()) == [6] * 4


def test_openings_of_a_list_are_played_in_order_or_drawn(tmp_path: Path) -> None:
    env, output, path = make(BOXES), tmp_path / "games.jsonl", tmp_path / "openings.txt"
    moves = [env.action_to_string(env.init(), action) for action in range(6)]
    path.write_text("\n".join(moves))

    def numbers(*more: object) -> list[int]:
        options = ("--env", BOXES, "--games", 24, "--seating", "alternating", "--opening-list", path)
        run_command(match.main, "first", "first", *options, "--output", output, *more)
        games = list(arena.read_games(output))
        openings = [game["opening"] for game in games if game["opening"]]
        assert [game["moves"][0] for game in games] == [moves[opening["number"]] for opening in openings]
        return [opening["number"] for opening in openings]

    assert numbers() == [number for number in range(6) for _ in range(2)] * 2
    drawn = numbers("--openings", 6)
    assert drawn[:12] == drawn[12:]
    drawn = drawn[:12]
    assert drawn[::2] == drawn[1::2]
    assert sorted(drawn[::2]) == [*range(6)]
    assert drawn[::2] != [*range(6)]
    message = error_of(match.main, "first", "first", "--env", BOXES, "--opening-list", "ballots")
    assert "ballots is not a file of openings: expected one" in message


@pytest.mark.parametrize(
    ("num_agents", "num_players", "seats", "expected"),
    [
        (2, 2, None, (1, 1)),
        (3, 6, None, (2, 2, 2)),
        (2, 6, None, (2, 2)),
        (3, 4, None, (1, 1, 1)),
        (2, 6, (1, 5), (1, 5)),
    ],
)
def test_agents_have_two_seats_each_where_they_fit_or_those_that_are_given(
    num_agents: int, num_players: int, seats: tuple[int, ...] | None, expected: tuple[int, ...]
) -> None:
    assert match.seats_for(num_agents, num_players, seats) == expected


@pytest.mark.usefixtures("sticks")
def test_agents_have_the_seats_that_are_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "games.jsonl"
    options = ("--env", "sticks(num_players=6)", "--games", 6, "--seats", 1, 5, "--seating", "fixed")
    run_command(match.main, "random", "first", *options, "--output", output)
    assert [(agent["seats"], len(agent["by_seat"])) for agent in last_json(capsys)["agents"]] == [(1, 1), (5, 5)]
    assert [game["agents"] for game in arena.read_games(output)] == [["random", *["first"] * 5]] * 6


def test_match_is_refused_when_agents_or_seats_do_not_fit(untrained: Runs, tmp_path: Path) -> None:
    first, second, other = untrained.first, untrained.second, untrained.other_game
    assert "two or more agents, not 1" in error_of(match.main, first)
    assert "other_game was trained on" in error_of(match.main, first, other)
    assert "at most 2 agents fit on 2 seats, not 3" in error_of(match.main, first, second, first)
    for seats in ((2, 1), (1,), (0, 2)):
        error = error_of(match.main, first, second, "--seats", *seats)
        assert "that add up to the 2 seats of the game, not " + " ".join(map(str, seats)) in error
    assert "games must be from 1 to 10000000, not 0" in error_of(match.main, first, second, "--games", 0)
    assert "temperature must be a finite number from 0 on, not -1" in error_of(
        match.main, first, second, "--temperature", -1
    )
    assert "add the game, such as --env minichess" in error_of(match.main, "random", "random")
    missing = tmp_path / "nothing"
    error = error_of(match.main, first, missing)
    assert error.startswith(f"train.match: {missing} holds no run")
    assert not missing.exists()


def test_refused_match_leaves_the_output_as_it_is(untrained: Runs, tmp_path: Path) -> None:
    output = tmp_path / "games.jsonl"
    output.write_text("games of yesterday")
    error_of(match.main, untrained.first, untrained.second, "--seats", 3, 3, "--output", output)
    assert output.read_text() == "games of yesterday"


def test_run_plays_by_its_own_setting_in_a_match_and_in_an_evaluation(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_sizes": (8,), "num_envs": 2, "rollout_length": 4, "num_minibatches": 1}
    run = str(store(tmp_path / "run", PPO(Config(env=BOXES, temperature=0.25, **sizes))))
    of_match = match.match(match.Arguments(agents=(run, "easy"), games=2))
    assert [row["plays"] for row in of_match["agents"]] == ["temperature 0.25", ""]
    assert f"| {run} | temperature 0.25 | 1 " in match.table(of_match)
    of_evaluation = evaluate.evaluate(evaluate.Arguments(agent=run, opponents=("easy",), games=2))
    assert evaluate.table(of_evaluation).startswith(f"{run} (temperature 0.25) in ")


def test_way_of_playing_has_the_simulations_and_the_temperature(untrained: Runs) -> None:
    for text, expected in (
        ("(simulations=4)", "4 simulations"),
        ("(simulations=4, temperature=0.5)", "4 simulations, temperature 0.5"),
        ("(temperature=0, epsilon=0.5)", "greedy"),
        ("(top=3)", "temperature 1"),
    ):
        assert agents.play_of(agents.make(f"{untrained.first}{text}", make(BOXES))) == expected


def test_table_has_counts_that_rates_of_four_digits_do_not_have() -> None:
    rates = {"draw_rate": 0.0, "draw_rate_interval": (0, 0.0001), "truncated_rate": 0.0001}
    result = {"env": BOXES, "games": 100_000, "draws": 3, "truncated": 7, "random_seats": 0, "mean_length": 9.0}
    text = match.table(result | rates | {"truncated_rate_interval": (0, 0.0001), "agents": []})
    assert ", 3 (0.00-0.01 %) drawn, 7 (0.00-0.01 %) cut off" in text
