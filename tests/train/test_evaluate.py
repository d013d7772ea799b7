"""The command train.evaluate: what it prints and writes, and what it refuses."""

import json
import signal
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

from jaxgames import Env, agents, arena
from tests.helpers.commands import error_of, last_json, run_command
from tests.train.conftest import Runs
from train import evaluate

BOXES = "dots_and_boxes(rows=2, cols=2)"
LISTS = ("turns_to_win", "lengths")  # only in Python


class InterruptedAgent:
    """Plays the first legal action on the host, until Ctrl-C is pressed at its twentieth ply."""

    on_device: ClassVar[bool] = False

    def __init__(self, env: Env[Any]) -> None:
        self.mask = jax.jit(jax.vmap(env.legal_action_mask))
        self.plies = 0

    def act(self, key: jax.Array, states: Any) -> Any:
        self.plies += 1
        if self.plies == 20:
            signal.raise_signal(signal.SIGINT)
        return np.asarray(self.mask(states)).argmax(-1)


def test_evaluate_prints_its_results_as_json(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(evaluate.main, untrained.first, "--opponents", "random", "--games", 200)
    result = last_json(capsys)
    names = [name for name in arena.Results.__annotations__ if name not in LISTS]
    assert [*result] == ["env", "agent", *names, "opponents"]
    assert (result["agent"], result["games"]) == (str(untrained.first), 200)
    assert abs(result["win_rate"] - (1 - result["draw_rate"]) / 2) < 0.18  # untrained, it is as good as a random player
    assert result["draw_rate"] > 0
    assert result["truncated_rate"] == 0
    assert result["win_rate"] == result["wins"] / 200
    assert result["win_rate_interval"] == [round(end, 4) for end in arena.wilson(result["wins"], 200)]
    assert result["opponents"] == [
        {"opponent": "random", **{name: result[name] for name in result if name not in ("env", "agent", "opponents")}}
    ]


def test_same_seed_gives_the_same_games(untrained: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in (1, 1, 2):
        run_command(evaluate.main, untrained.first, "--games", 200, "--seed", seed)
    first, again, other = capsys.readouterr().out.splitlines()
    assert first == again != other


def test_every_opponent_has_its_own_results(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its games are those that it would have alone, and the first line is of all games."""
    output = tmp_path / "new" / "games.jsonl"
    options = ("--env", BOXES, "--games", 40, "--seating", "alternating", "--output", output)
    for opponents in ("first", "first(epsilon=0.5),first"):
        run_command(evaluate.main, "random", "--opponents", opponents, *options)
    alone, both = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row["opponent"] for row in both["opponents"]] == ["first(epsilon=0.5)", "first"]
    assert both["opponents"][1] == alone["opponents"][0]
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


def test_temperature_of_the_command_is_that_of_the_run_unless_it_has_one_in_brackets(
    untrained: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--opponents", "first", "--games", 20, "--seat", 0, "--temperature", 0)
    for text in (untrained.first, f"{untrained.first}(temperature=1)"):
        run_command(evaluate.main, text, *options)
    greedy, sampled = map(json.loads, capsys.readouterr().out.splitlines())
    assert greedy["wins"] in (0, 20)  # all games are the same
    assert 0 < sampled["wins"] < 20


@pytest.mark.slow  # test_ladder.py interrupts a command, and tests/arena/test_records.py shows when a game is written
def test_interrupted_command_leaves_whole_games(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Both agents play the first edge; each has at most eight of the twelve plies of a game."""
    agents.register("interrupted", InterruptedAgent)
    output = tmp_path / "games.jsonl"
    options = ("--opponents", "interrupted", "--env", BOXES, "--seat", 0, "--output", output)
    assert run_command(evaluate.main, "first", *options) == 130
    games = list(arena.read_games(output))
    assert len(games) >= 2
    assert [len(game["actions"]) for game in games] == [12] * len(games)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--games", 0, "games must be from 1 to 10000000, not 0"),
        ("--games", 10**11, "games must be from 1 to 10000000, not 100000000000"),
        ("--seed", 2**70, "seed must be from 0 to 4294967295"),
        ("--temperature", -1, "temperature must be 0 or more, not -1"),
        ("--seat", 2, "seat must be from 0 to 1, not 2"),
        ("--seat", -1, "seat must be from 0 to 1, not -1"),
        ("--opponents", "nobody", "nobody holds no run"),
        ("--opponents", "random,", "expected agents separated by commas, such as random,greedy, not 'random,'"),
        ("--openings", -1, "openings must be from 0 to 1000000, not -1"),
        ("--opening-plies", -4, "opening_plies must be from 0 to 10000, not -4"),
        ("--env", "minichess", "was trained on dots_and_boxes(rows=2, cols=2, reward='win_loss'), --env is minichess"),
        ("--env", "chess", "unknown game 'chess'"),
        ("--output", "pyproject.toml/games.jsonl", "pyproject.toml"),
    ],
)
def test_evaluate_refuses_a_wrong_value(option: str, value: object, message: str, untrained: Runs) -> None:
    error = error_of(evaluate.main, untrained.first, option, value)
    assert error.startswith("train.evaluate: ")
    assert message in error


def test_settings_that_exclude_each_other_are_refused(untrained: Runs) -> None:
    error = error_of(evaluate.main, "greedy", "--env", BOXES, "--temperature", 0)
    assert "--temperature is a setting of runs: leave it out for greedy" in error
    error = error_of(evaluate.main, untrained.first, "--seat", 1, "--seating", "alternating")
    assert "leave out --seating alternating" in error


def test_run_that_cannot_play_is_named(untrained: Runs, tmp_path: Path) -> None:
    assert f"{tmp_path / 'nothing'} holds no run" in error_of(evaluate.main, tmp_path / "nothing")
    assert f"{untrained.other_game} has no checkpoint yet" in error_of(evaluate.main, untrained.other_game)
    assert "add the game, such as --env minichess" in error_of(evaluate.main, "greedy", "--opponents", "random")
    assert not (tmp_path / "nothing").exists()


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(evaluate.main, "--help") == 0
    assert "--opponents" in capsys.readouterr().out
