"""The commands that play runs: train.match, train.evaluate and train.play; what all commands of train refuse."""

import functools
import io
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import arena, make
from tests.helpers import toy_learner
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.scripted_engine import command
from tests.helpers.stored_runs import store
from tests.train.conftest import Runs
from train import agents, evaluate, export, ladder, match, play, strength
from train.data import __main__ as data
from train.driver import cli
from train.ppo import PPO, Config
from train.recipes import PRESETS
from train.sweep import __main__ as sweep

BOXES = "dots_and_boxes(rows=2, cols=2)"


# -- match ---------------------------------------------------------------------------------------------------------


def test_run_against_itself_wins_half_of_the_games_that_are_won(
    untrained: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(match.main, untrained.first, untrained.first, "--games", 400)
    *text, line = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert text == match.table(result).split("\n")
    assert (result["games"], result["random_seats"]) == (400, 0)
    assert [(agent["agent"], agent["seats"]) for agent in result["agents"]] == [(str(untrained.first), 1)] * 2
    first, second = (agent["wins"] for agent in result["agents"])
    assert first + second == pytest.approx(400 * (1 - result["draw_rate"]))  # no game is won twice
    assert first + second > 100
    assert abs(first - second) < 4 * np.sqrt(first + second)


def test_openings_are_random_or_of_a_list_and_played_with_every_rotation_of_the_seats(tmp_path: Path) -> None:
    """Both agents play the first edge, so that the two games of an opening have the same actions."""
    env, path = make(BOXES), tmp_path / "openings.txt"
    moves = [env.action_to_string(env.init(), action) for action in range(6)]
    path.write_text("\n".join(moves))

    def played(*more: object) -> tuple[list[int], list[Any]]:
        """The numbers of the openings, and the games."""
        options = ("--env", BOXES, "--games", 24, "--seating", "alternating", "--output", tmp_path / "games.jsonl")
        run_command(match.main, "first", "first", *options, *more)
        games = list(arena.read_games(tmp_path / "games.jsonl"))
        return [game["opening"]["number"] for game in games if game["opening"]], games

    numbers, games = played("--openings", 4)
    assert numbers == [0, 0, 1, 1, 2, 2, 3, 3] * 3
    assert {game["env"] for game in games} == {str(env)}
    by_opening = Counter((number, *game["actions"]) for number, game in zip(numbers, games, strict=True))
    assert sorted(by_opening.values()) == [6] * 4
    numbers, games = played("--opening-list", path)
    assert numbers == [number for number in range(6) for _ in range(2)] * 2
    assert [game["moves"][0] for game in games] == [moves[number] for number in numbers]
    numbers, games = played("--opening-list", path, "--openings", 6)
    assert [game["moves"][0] for game in games] == [moves[number] for number in numbers]
    assert numbers == [number for number in numbers[:12:2] for _ in range(2)] * 2
    assert sorted(numbers[:12:2]) == [*range(6)] != numbers[:12:2]


def test_agents_have_two_seats_each_where_they_fit() -> None:
    assert match.seats_for(2, 2, None) == (1, 1)
    assert match.seats_for(2, 6, None) == (2, 2)
    assert match.seats_for(3, 4, None) == (1, 1, 1)


@pytest.mark.usefixtures("sticks")
def test_agents_have_the_seats_that_are_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "games.jsonl"
    options = ("--env", "sticks(num_players=6)", "--games", 6, "--seats", 1, 5, "--seating", "fixed")
    run_command(match.main, "random", "first", *options, "--output", output)
    assert [(agent["seats"], len(agent["by_seat"])) for agent in last_json(capsys)["agents"]] == [(1, 1), (5, 5)]
    assert [game["agents"] for game in arena.read_games(output)] == [["random", *["first"] * 5]] * 6
    options = ("--env", "sticks(num_players=3)", "--games", 6, "--seating", "fixed", "--output", output)
    run_command(match.main, "first", "first", *options)  # two agents on three seats
    assert last_json(capsys)["random_seats"] == 1
    assert [game["agents"] for game in arena.read_games(output)] == [["first", "first", "random"]] * 6


def test_refused_match_leaves_the_output_as_it_is(untrained: Runs, tmp_path: Path) -> None:
    output = tmp_path / "games.jsonl"
    output.write_text("games of yesterday")
    error_of(match.main, untrained.first, untrained.second, "--seats", 3, 3, "--output", output)
    assert output.read_text() == "games of yesterday"


def test_run_plays_by_its_own_setting_or_by_the_temperature_of_the_command(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"hidden_sizes": (8,), "num_envs": 2, "rollout_length": 4, "num_minibatches": 1}
    run = str(store(tmp_path / "run", PPO(Config(env=BOXES, temperature=0.25, **sizes))))
    of_match = match.match(match.Arguments(agents=(run, "easy"), games=2))
    assert [row["plays"] for row in of_match["agents"]] == ["temperature 0.25", ""]
    assert f"| {run} | temperature 0.25 | 1 " in match.table(of_match)
    of_evaluation = evaluate.evaluate(evaluate.Arguments(agent=run, opponents=("easy",), games=2, temperature=0.5))
    assert evaluate.table(of_evaluation).startswith(f"{run} (temperature 0.5) in ")
    for text, expected in (
        ("(simulations=4)", "4 simulations"),
        ("(simulations=4, temperature=0.5)", "4 simulations, temperature 0.5"),
        ("(temperature=0, epsilon=0.5)", "greedy"),
    ):
        assert agents.play_of(agents.make(f"{run}{text}", make(BOXES))) == expected


# -- evaluate ------------------------------------------------------------------------------------------------------


def test_every_opponent_has_its_own_results_and_the_first_row_those_of_all_games(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its games are those that it would have alone, with the same seed."""
    output = tmp_path / "new" / "games.jsonl"
    options = ("--env", BOXES, "--games", 40, "--seating", "alternating", "--output", output)
    with_seeds: list[Any] = []
    for seed in (1, 0):
        run_command(evaluate.main, "random", "--opponents", "first", *options, "--seed", seed)
        with_seeds.append(last_json(capsys))
    other, alone = with_seeds
    assert other["by_seat"] != alone["by_seat"]
    assert alone["win_rate_interval"] == [round(end, 4) for end in arena.wilson(alone["wins"], 40)]
    run_command(evaluate.main, "random", "--opponents", "first(epsilon=0.5)", "first", *options)
    *text, line = capsys.readouterr().out.splitlines()
    both = json.loads(line)
    assert text == evaluate.table(both).split("\n")
    assert [row["opponent"] for row in both["opponents"]] == ["first(epsilon=0.5)", "first"]
    assert both["opponents"][1] == {name: alone[name] for name in alone if name not in ("env", "agent", "plays")}
    assert (both["games"], both["wins"]) == (80, sum(row["wins"] for row in both["opponents"]))
    assert [row["games"] for row in both["by_seat"]] == [40, 40]
    assert [game["game"] for game in arena.read_games(output)] == list(range(80))
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in text if row.startswith("|")]
    assert [row[0] for row in rows[2:5]] == ["all opponents", "first(epsilon=0.5)", "- on seat 0"]
    of_all = dict(zip(rows[0], rows[2], strict=True))
    assert of_all["won"] == f"{both['wins']} of 80"
    assert both["wins"] + sum(int(of_all[name]) for name in ("drawn", "cut off", "lost")) == 80


# -- play ----------------------------------------------------------------------------------------------------------


def test_run_plays_and_its_thoughts_are_shown(
    untrained: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nh(0,0)\nq\n"))
    play.main([str(untrained.first), "--terminal", "--seed", "1"])
    out = capsys.readouterr().out
    assert f"{untrained.first} would play\n" in out
    assert "your chance to win: " in out
    assert f"Blue ({untrained.first}) plays " in out
    assert "plies: 2" in out


# -- what is refused -----------------------------------------------------------------------------------------------


def train_play() -> None:
    play.main([*sys.argv[1:], "--terminal"])


def train_ppo() -> None:
    cli.main(PPO)


def engine(moves: str, fault: str = "none") -> str:
    return f'uci(command="{command(moves, fault)}")'


CRASHING, ILLEGAL, SOUND = engine("b2b3", "crash"), engine("a1a5"), engine("d4d3")
CHESS = ("--env", "minichess", "--games", 1)
CRASHED = f"the engine {command('b2b3', 'crash')!r} ended with status 3; its last line: 'out of memory'"
PLAYED_ILLEGAL = f"the engine {command('a1a5', 'none')!r} played 'a1a5' in "
NEW, OUT = ("--run-dir", "NEW"), ("--output", "NEW")
DIAMOND = "chinese_checkers_diamond(size=3, pieces=3)"
RESUMED = ("--run-dir", "FIRST", "--resume")
REFUSED: list[tuple[Callable[[], None], tuple[Any, ...], str]] = [  # and words of the message
    (evaluate.main, ("FIRST", "--games", 0), "games must be from 1 to 10000000, not 0"),
    (evaluate.main, ("FIRST", "--seed", 2**70), "seed must be from 0 to 4294967295"),
    (evaluate.main, ("FIRST", "--temperature", -1), "temperature must be a finite number from 0 on, not -1"),
    (evaluate.main, ("FIRST", "--seat", 2), "seat must be from 0 to 1, not 2"),
    (evaluate.main, ("FIRST", "--opponents", "random,"), "--opponents must be agents, such as random greedy, not"),
    (evaluate.main, ("FIRST", "--env", "minichess"), "was trained on dots_and_boxes(rows=2, cols=2, reward='win_loss'"),
    (evaluate.main, ("FIRST", "--output", "pyproject.toml/games.jsonl"), "pyproject.toml"),
    (evaluate.main, ("FIRST", "--seat", 1, "--seating", "alternating"), "leave out --seating alternating"),
    (evaluate.main, ("greedy", "--env", BOXES, "--temperature", 0), "--temperature is a setting of runs"),
    (evaluate.main, ("greedy", "--opponents", "random"), "add the game, such as --env minichess"),
    (evaluate.main, ("OTHER",), "has no checkpoint yet"),
    (match.main, ("first", "first", "--env", BOXES, "--opening-list", "ballots"), "ballots is not a file of openings"),
    (match.main, ("FIRST",), "two or more agents, not 1"),
    (match.main, ("FIRST", "SECOND", "FIRST"), "at most 2 agents fit on 2 seats, not 3"),
    (match.main, ("FIRST", "SECOND", "--seats", 0, 2), "that add up to the 2 seats of the game, not 0 2"),
    (match.main, (CRASHING, SOUND, *CHESS, "--seating", "fixed"), CRASHED),
    (data.main, ("--label", ILLEGAL, "--play", "first", *CHESS[:2], "--positions", 2, *OUT), PLAYED_ILLEGAL),
    (ladder.main, (BOXES, "random", *OUT), "expected an agent besides random"),
    (ladder.main, (BOXES, "greedy", "--anchor", "rndom", *OUT), "rndom holds no run"),
    (ladder.main, (BOXES, "--checkpoints", "greedy", *OUT), "--checkpoints takes runs, such as runs/first"),
    (ladder.main, (BOXES, "greedy", "--games", 0, *OUT), "games must be from 1 to 10000000, not 0"),
    (ladder.main, ("minichess", "FIRST", *OUT), "was trained on dots_and_boxes(rows=2, cols=2"),
    (export.main, ("random", *OUT), "expected the folder of a run, such as runs/first or runs/first@40, not 'random'"),
    (export.main, ("FIRST(top=5)", *OUT), "the agent of the file takes the parameters"),
    (export.main, ("FIRST", "--platforms", *OUT), "expected a platform, such as --platforms cpu cuda tpu"),
    (export.main, ("FIRST", "--env", "dots_and_boxes", *OUT), "only a run with a network for any board"),
    (strength.main, ("FIRST(temperature=0.5)",), "plays at random, and the measures need one move per board"),
    (strength.main, (), "name at least one agent"),
    (strength.main, ("first", "--env", DIAMOND, "--simulations", 2), "none of the agents is a run"),
    (strength.main, ("first", "--env", DIAMOND, "--value-head"), "none of the agents is a run"),
    (strength.main, ("FIRST", "--value-head", "--no-weak", "--strong-states", 1), "won or lost by its last move"),
    (strength.main, ("FIRST", "--simulations", 0), "takes numbers of 1 or more"),
    (strength.main, ("FIRST@0", "--checkpoints"), "--checkpoints takes the folder of one run"),
    (strength.main, ("FIRST", "--env", DIAMOND), "was trained on"),
    (strength.main, ("first", "--env", "chinese_checkers_diamond(size=9)"), "positions"),
    (train_play, ("random",), "random is not a run"),
    (train_play, ("FIRST", "--seats", "human"), "expected --seats human,alphabeta, not human"),
    (train_play, ("FIRST", "--seats", "human,OTHER"), "was trained on"),
    (train_ppo, (*NEW, "--env", "chinese_checkers(size=9)"), "size must be an integer from 1 to 8, not 9"),
    (train_ppo, (*NEW, "--devices", 3), "devices must be at most 1"),
    (train_ppo, (*NEW, "--nonsense", 1), "nonsense"),
    (train_ppo, (*NEW, "--preset", "other"), f"unknown preset 'other'; the presets are {', '.join(PRESETS)}"),
    (train_ppo, (*NEW, "--network", "other"), "unknown network 'other'; the networks are"),
    (train_ppo, (*NEW, "--opponents", "nobody"), "nobody holds no run"),
    (train_ppo, (*NEW, "--init-from", "no/folder"), "no/folder holds no run"),
    (train_ppo, (*NEW, "--env", BOXES, "--channels", "--hidden-sizes", 9, "--init-from", "FIRST"), "(8,) there and ("),
    (train_ppo, (*NEW, "--env", BOXES, "--evaluation-opponent", "alphabeta"), "= alphabeta plays on the host"),
    (train_ppo, (*NEW, "--num-envs", 4 * 10**8), "32 bits cannot index: reduce num_envs = 400,000,000"),
    (train_ppo, ("--resume",), "--resume needs the --run-dir of the run to continue"),
    (train_ppo, RESUMED[:2], "FIRST holds a run already: add --resume"),
    (train_ppo, (*RESUMED, "--total-steps", 4), "can only grow"),
    (train_ppo, (*RESUMED, "--gamma", 0.25, "--seed", 9), "seed was 0 and is 9; gamma was 0.99 and is 0.25"),
    (toy_learner.main, (*NEW, "--total-steps", 10**14), "at most 2,147,483,647 iterations, not 25,000,000,000,000"),
    (toy_learner.main, (*NEW, "--sizes", 10**7, 10**6), "needs 40,000.0 GB of memory; there are"),
    (sweep.main, (*NEW, "--gamma", 0.5, 0.5), "gamma has the value 0.5 twice"),
    (sweep.main, (*NEW, "--hidden-sizes", "8,x"), "hidden_sizes must be a list of int such as 64,64, not '8,x'"),
    (sweep.main, (*NEW, "--learner", "dqn"), "must be one of ppo, alphazero, imitation, klent, or module:Class"),
    (sweep.main, ("--resume",), "--resume needs the --run-dir of the sweep to continue"),
]


@pytest.mark.parametrize(("main", "arguments", "message"), REFUSED)
def test_wrong_arguments_are_refused(
    main: Callable[[], None],
    arguments: tuple[Any, ...],
    message: str,
    untrained: Runs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By a message and a status that is not 0. No folder is made, and none changes."""
    folders = {"FIRST": untrained.first, "SECOND": untrained.second, "OTHER": untrained.other_game}
    folders |= {"NEW": tmp_path / "run"}

    def named(text: str) -> str:
        return functools.reduce(lambda text, name: text.replace(name, str(folders[name])), folders, text)

    settings = (untrained.first / "config.json").read_bytes()
    status = run_command(main, *(named(str(word)) for word in arguments))
    printed = " ".join(f"{status} {capsys.readouterr().err}".split())  # the errors of the parser are in narrow lines
    assert status not in (0, None)
    assert named(message) in printed
    assert "Traceback" not in printed
    assert "\n" not in str(status)
    assert not isinstance(status, str) or status.startswith(("train.", "tests.helpers.toy_learner: "))
    assert not folders["NEW"].exists()
    assert not Path("no").exists()
    assert (untrained.first / "config.json").read_bytes() == settings
