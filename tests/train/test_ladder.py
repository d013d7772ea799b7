"""The command train.ladder: who plays whom, what is stored and drawn, and what it refuses."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import arena, make
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.scripted_agents import HostAgent, Taker
from tests.helpers.sticks import Sticks
from tests.helpers.stored_runs import store
from train import ladder, plot
from train.driver.run_folder import lock_folder
from train.ladder import BOARDS, PairResult, cpu_milliseconds, cpu_seconds
from train.ppo import PPO, Config

BOXES = "dots_and_boxes(rows=2, cols=2)"
GAMES = ("--games", 8)
SETTINGS = {"games": 8, "openings": 4, "opening_plies": 4, "seed": 0}


# -- games ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_players", [2, 3, 4, 6])
def test_agents_of_a_pair_have_every_seat_equally_often(num_players: int) -> None:
    seating = ladder.pair_seating(12, num_players)
    assert (seating[::2] + seating[1::2] == 1).all()  # the two games of an opening are each other's swap
    if num_players % 2 == 0:
        assert (seating != np.roll(seating, 1, axis=1)).all()  # both neighbours are the other agent
    else:
        assert len({tuple(row) for row in seating}) == 2 * num_players  # which seats are neighbours rotates


def test_results_of_a_pair_are_those_of_known_games() -> None:
    """Seven sticks: 1 against 2 is won by the first mover; 3 wins from both seats (7 4 3 0 and 7 6 3 2 0).

    As the second mover the stubborn agent has two sticks left and takes three, which is illegal and loses the game.
    """
    env = Sticks(num_players=2, sticks=7)
    one, two, three = (Taker(jnp.int32(sticks)) for sticks in (1, 2, 3))
    always_three = HostAgent(lambda key, states: np.full(states.left.shape, 2))
    key = jax.random.key(0)
    assert ladder.play_pair(env, (one, two), 8, key) == PairResult((4, 4), 0, 0)
    assert ladder.play_pair(env, (one, three), 8, key) == PairResult((0, 8), 0, 0)
    assert ladder.play_pair(env, (always_three, one), 8, key) == PairResult((4, 4), 0, 0)


# -- ratings -------------------------------------------------------------------------------------------------------


def stored(folder: Path, names: Sequence[str], results: Sequence[tuple[int, int, int]], **changes: Any) -> Path:
    """The file of a folder's pairs, with wins, losses and draws of the pairs in the order of `names`."""
    pairs = [(first, second) for place, second in enumerate(names) for first in names[:place]]
    lines = [
        {"agents": pair, "wins": [won, lost], "draws": drawn, "truncated": 0}
        for pair, (won, lost, drawn) in zip(pairs, results, strict=True)
    ]
    settings = {"env": str(make(BOXES)), "env_version": make(BOXES).version, **SETTINGS, **changes}
    (folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in ({"settings": settings}, *lines)))
    return folder / "pairs.jsonl"


def test_ratings_and_costs_are_those_of_the_stored_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cost of one agent is not stored, and is measured."""
    names, costs = ("first", "greedy", "random"), {"greedy": 1234.5, "first": 0.25}
    pairs = stored(tmp_path, names, [(1, 5, 2), (3, 1, 4), (8, 0, 0)])
    settings = pairs.read_text().splitlines()[0]
    lines = [json.dumps({"agent": name, "cpu_ms": cost}) for name, cost in costs.items()]
    (tmp_path / ladder.COSTS_FILE).write_text("".join(f"{line}\n" for line in (settings, *lines)))
    run_command(ladder.main, BOXES, "greedy", "first", *GAMES, "--cost", "--output", tmp_path)
    result = last_json(capsys)
    wins, draws = [[0, 1, 3], [5, 0, 8], [1, 0, 0]], [[0, 2, 4], [2, 0, 0], [4, 0, 0]]  # first, greedy, random
    rows = {row["agent"]: row for row in result["agents"]}
    assert [*rows] == ["greedy", "first", "random"]
    elo, interval = (function(wins, draws, anchor=2) for function in (arena.elo, arena.elo_interval))
    for place, name in enumerate(names):
        assert rows[name]["elo"] == pytest.approx(elo[place], abs=0.05)
        assert rows[name]["elo_interval"] == pytest.approx(interval[place].tolist(), abs=0.05)
    assert [rows["greedy"][name] for name in ("games", "wins", "draws", "losses")] == [16, 13, 2, 1]
    assert 0 < result["cpu_ms"].pop("random") < 100
    assert result["cpu_ms"] == costs
    assert json.loads((tmp_path / "ladder.json").read_text())["agents"] == result["agents"]
    assert b"<svg" in (tmp_path / "ladder.svg").read_bytes()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves out the picture, which takes a second."""
    monkeypatch.setattr(plot, "save", lambda *_: [])


# -- checkpoints ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    learner = PPO(Config(env=BOXES, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1))
    return store(tmp_path_factory.mktemp("ladder") / "run", learner, iterations=(1, 2, 3, 4))


@pytest.mark.usefixtures("undrawn")
def test_checkpoints_of_a_run_are_agents(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With every second one, 2 and 4 are left."""
    names = [f"{run}@{iteration}" for iteration in range(1, 5)]
    among = [(0, 8, 0), (1, 7, 0), (5, 3, 0), (0, 8, 0), (2, 6, 0), (1, 7, 0)]  # 1-2, 1-3, 2-3, 1-4, 2-4, 3-4
    stored(tmp_path, (*names, "random"), [*among, (4, 4, 0), (7, 1, 0), (7, 1, 0), (8, 0, 0)])
    for every, kept in ((1, [1, 2, 3, 4]), (2, [2, 4])):
        run_command(ladder.main, BOXES, "--checkpoints", run, "--every", every, *GAMES, "--output", tmp_path)
        (found,) = last_json(capsys)["checkpoints"]
        assert found == {
            "run": str(run),
            "agents": [f"{run}@{iteration}" for iteration in kept],
            "steps": [8 * iteration for iteration in kept],
        }


@pytest.mark.usefixtures("sticks", "undrawn")
def test_stopped_ladder_plays_every_pair_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ladder that is stopped in its second pair, and then extended, has the pairs of one that is never stopped."""
    play, played = ladder.play_pair, list[Any]()

    def stopped(*arguments: Any) -> PairResult:
        played.append(arguments)
        if len(played) == 2:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(ladder, "play_pair", stopped)
    options = ("sticks(num_players=2)", "first", "first(epsilon=0.5)", *GAMES)
    resumed, whole = tmp_path / "resumed", tmp_path / "whole"
    assert run_command(ladder.main, *options, "--output", resumed) == 130
    assert len((resumed / "pairs.jsonl").read_text().splitlines()) == 1 + 1
    run_command(ladder.main, *options, "--output", resumed)
    assert len(played) == 1 + 1 + 2
    result = last_json(capsys)
    assert sum(row["games"] for row in result["agents"]) == 2 * 3 * 8
    run_command(ladder.main, *options, "--output", whole)
    assert (resumed / "pairs.jsonl").read_text() == (whole / "pairs.jsonl").read_text()
    assert last_json(capsys) | {"files": []} == result | {"files": []}
    assert played[0][4].number.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]  # openings


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_folder_that_is_not_of_this_ladder_is_refused(run: Path, tmp_path: Path) -> None:
    """The settings have a checksum of the moves of a list of openings, because a file can change."""
    stored(tmp_path, ("greedy", "random"), [(8, 0, 0)])
    arguments = (BOXES, "greedy", "--output", tmp_path)
    run_command(ladder.main, *arguments, *GAMES)
    error = error_of(ladder.main, *arguments, "--games", 6)
    assert "pairs.jsonl has other settings: games was 8 and is 6; openings was 4 and is 3" in error
    with lock_folder(tmp_path):
        assert f"{tmp_path} is in use by process" in error_of(ladder.main, *arguments, *GAMES)
    assert f"{run} holds a training run" in error_of(ladder.main, BOXES, "greedy", "--output", run)

    path = tmp_path / "openings.txt"
    stored(tmp_path, ("greedy", "random"), [(8, 0, 0)], openings=0, opening_list=str(path), opening_checksum=0)
    errors: set[str] = set()
    for moves in ("h(0,0)\nh(0,1)\n", "h(0,1)\nh(0,0)\n"):
        path.write_text(moves)
        errors.add(error_of(ladder.main, *arguments, *GAMES, "--openings", 0, "--opening-list", path))
    assert len(errors) == 2
    assert all("other settings: opening_checksum was 0 and is " in error for error in errors)


# -- the time of a move --------------------------------------------------------------------------------------------


def test_cost_is_the_time_of_a_move_on_live_boards() -> None:
    def busy(key: jax.Array, states: Any) -> np.ndarray:
        assert not (states.terminated | states.truncated).any()
        start = time.process_time()
        while time.process_time() < start + 0.001 * BOARDS:
            pass
        return np.zeros(BOARDS, np.int32)

    assert 1 <= cpu_milliseconds(Sticks(num_players=2), HostAgent(busy)) < 2


def test_cpu_seconds_are_those_of_started_programs_too() -> None:
    before = cpu_seconds()
    busy = "import time\nwhile time.process_time() < 0.1: pass\nprint('done', flush=True)\ninput()"
    with subprocess.Popen([sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        assert cpu_seconds() - before >= 0.08
        program.kill()
