"""The command train.evaluate: what it prints and writes, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxgames import arena
from tests.helpers.commands import error_of, run_command
from tests.train.conftest import Runs
from train import evaluate

BOXES = "dots_and_boxes(rows=2, cols=2)"
LISTS = ("turns_to_win", "lengths")  # only in Python


def lines_of_json(capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """The lines of JSON that were printed, without the tables above them."""
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]


def test_table_has_a_row_per_opponent_and_seat() -> None:
    """Each number once: one opponent has no row of all opponents, and one seat no row of its own."""
    seats = [
        {"seat": seat, "games": 100, "wins": wins, "win_rate_interval": (0.79, 0.89)}
        for seat, wins in ((0, 90), (1, 79))
    ]
    alone: dict[str, Any] = {"games": 200, "wins": 169, "win_rate_interval": (0.788, 0.888), "draws": 12}
    alone |= {"plays": "greedy", "truncated": 1, "mean_turns": 4.88, "by_seat": seats}
    result = {"env": "sticks", "agent": "runs/first", "opponent": "random", **alone}
    lines = evaluate.table(result).splitlines()
    assert lines[0] == "runs/first (greedy) in sticks:"
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:] if "---" not in line]
    assert cells == [
        ["against", "won", "95 % interval", "drawn", "cut off", "lost", "turns to win"],
        ["random", "169 of 200", "79-89 %", "12", "1", "18", "4.9"],
        ["- on seat 0", "90 of 100", "79-89 %", "", "", "", ""],
        ["- on seat 1", "79 of 100", "79-89 %", "", "", "", ""],
    ]
    both = {"env": "sticks", "agent": "runs/first", **alone, "by_seat": seats[:1], "opponents": [result, result]}
    assert [line.split()[1] for line in evaluate.table(both).splitlines()[4:]] == ["all", *["random", "-", "-"] * 2]


def test_evaluate_prints_its_results_as_json(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(evaluate.main, untrained.first, "--opponents", "random", "--games", 200)
    *text, line = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert text == evaluate.table(result).split("\n")
    names = [name for name in arena.Results.__annotations__ if name not in LISTS]
    assert [*result] == ["env", "agent", "plays", "opponent", *names]
    assert (result["agent"], result["games"]) == (str(untrained.first), 200)
    assert abs(result["win_rate"] - (1 - result["draw_rate"]) / 2) < 0.18  # untrained, it is as good as a random player
    assert result["draw_rate"] > 0
    assert result["truncated_rate"] == 0
    assert result["win_rate"] == result["wins"] / 200
    assert result["win_rate_interval"] == [round(end, 4) for end in arena.wilson(result["wins"], 200)]
    assert result["opponent"] == "random"


def test_same_seed_gives_the_same_games(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (1, 1, 2):
        run_command(evaluate.main, untrained.first, "--games", 200, "--seed", seed)
    first, again, other = lines_of_json(capsys)
    assert first == again != other


@pytest.mark.slow  # plays for seconds
def test_every_opponent_has_its_own_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its games are those that it would have alone, and the first line is of all games."""
    output = tmp_path / "new" / "games.jsonl"
    options = ("--env", BOXES, "--games", 40, "--seating", "alternating", "--output", output)
    for opponents in (["first"], ["first(epsilon=0.5)", "first"]):
        run_command(evaluate.main, "random", "--opponents", *opponents, *options)
    alone, both = lines_of_json(capsys)
    assert [row["opponent"] for row in both["opponents"]] == ["first(epsilon=0.5)", "first"]
    assert both["opponents"][1] == {name: alone[name] for name in alone if name not in ("env", "agent", "plays")}
    assert both["games"] == 80
    assert both["wins"] == sum(row["wins"] for row in both["opponents"])
    assert [row["games"] for row in both["by_seat"]] == [40, 40]

    games = list(arena.read_games(output))
    assert [game["game"] for game in games] == list(range(80))
    for opponent, row in zip(("first(epsilon=0.5)", "first"), both["opponents"], strict=True):
        of_opponent = [game for game in games if opponent in game["agents"]]
        wins = [game for game in of_opponent if game["agents"].index("random") in game["outcome"]["winners"]]
        assert (len(of_opponent), len(wins)) == (40, row["wins"])
    assert arena.replay(games[-1])


@pytest.mark.slow
def test_temperature_of_the_command_is_that_of_the_run_unless_it_has_one_in_brackets(
    untrained: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--opponents", "first", "--games", 20, "--seat", 0, "--temperature", 0)
    for text in (untrained.first, f"{untrained.first}(temperature=1)"):
        run_command(evaluate.main, text, *options)
    greedy, sampled = lines_of_json(capsys)
    assert greedy["wins"] in (0, 20)  # all games are the same
    assert 0 < sampled["wins"] < 20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("FIRST", "--games", 0), "games must be from 1 to 10000000, not 0"),
        (("FIRST", "--games", 10**11), "games must be from 1 to 10000000, not 100000000000"),
        (("FIRST", "--seed", 2**70), "seed must be from 0 to 4294967295"),
        (("FIRST", "--temperature", -1), "temperature must be a finite number from 0 on, not -1"),
        (("FIRST", "--seat", 2), "seat must be from 0 to 1, not 2"),
        (("FIRST", "--seat", -1), "seat must be from 0 to 1, not -1"),
        (("FIRST", "--opponents", "nobody"), "nobody holds no run"),
        (("FIRST", "--opponents", "random,"), "--opponents must be agents, such as random greedy, not 'random,'"),
        (("FIRST", "--openings", -1), "openings must be from 0 to 1000000, not -1"),
        (("FIRST", "--opening-plies", -4), "opening_plies must be from 0 to 10000, not -4"),
        (("FIRST", "--env", "minichess"), "was trained on dots_and_boxes(rows=2, cols=2, reward='win_loss'), not on"),
        (("FIRST", "--env", "chess"), "unknown game 'chess'"),
        (("FIRST", "--output", "pyproject.toml/games.jsonl"), "pyproject.toml"),
        (("FIRST", "--seat", 1, "--seating", "alternating"), "leave out --seating alternating"),
        (("greedy", "--env", BOXES, "--temperature", 0), "--temperature is a setting of runs: leave it out for greedy"),
        (("greedy", "--opponents", "random"), "add the game, such as --env minichess"),
        (("no/folder",), "no/folder holds no run"),
        (("OTHER_GAME",), "has no checkpoint yet"),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...], message: str, untrained: Runs) -> None:
    folders = {"FIRST": untrained.first, "OTHER_GAME": untrained.other_game}
    error = error_of(evaluate.main, *(folders.get(word, word) for word in arguments))
    assert error.startswith("train.evaluate: ")
    assert message in error
    assert not Path("no/folder").exists()
