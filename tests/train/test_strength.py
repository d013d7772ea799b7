"""The command train.strength, and its search of full width against one in plain Python, state by state."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgames import _progress, solvers
from jaxgames.agents import GreedyAgent
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.graph import Graph, graph_of
from jaxgames.solvers.strength.policy_table import boards
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.solved import solved_diamond
from tests.helpers.stored_runs import random_train_state
from tests.solvers.strength.measured import solution
from train import agents
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config
from train.strength import __main__ as strength
from train.strength import players
from train.strength.players import lookahead

GAME = "chinese_checkers_diamond(size=3, pieces=3)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """A run that was never trained, with three checkpoints of different parameters."""
    learner = PPO(Config(env=GAME, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1))
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "first", learner)
    for iteration in (0, 2, 4):
        train_state = random_train_state(learner, seed=iteration)
        folder.save(train_state._replace(iteration=jnp.int32(iteration)), keep_every=2)
    yield folder
    folder.close()


@pytest.fixture(scope="module")
def solution_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("solutions") / "33.npz"
    solved().save(path)
    return path


def solved() -> solvers.Solution[Any]:
    return solved_diamond(3, 3)


def rounded(measures: Any) -> Any:
    """The measures as the command prints them."""
    return json.loads(json.dumps(strength.rounded(measures, strength.DIGITS)))


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


# -- rows ----------------------------------------------------------------------------------------------------------


def test_rows_of_a_run_are_its_network_and_each_search(
    run: RunFolder, solution_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"{run.folder}@4"
    monkeypatch.setattr(_progress, "SECONDS_BETWEEN_LINES", 0.001)
    assert run_command(strength.main, run.folder, "--solution", solution_file, "--depth", 1, 2) is None
    printed = capsys.readouterr()
    assert f"1/3 {text}: " in printed.err  # also into a pipe
    assert f"of {solved().num_states:,} states (" in printed.err
    *table, line = printed.out.splitlines()
    result = json.loads(line)
    assert table == strength.table(result).splitlines()
    assert (result["plies"], result["seat"]) == (50, 0)
    assert {row["agent"] for row in result["rows"]} == {text}
    searches = [(row["search"], row["simulations"]) for row in result["rows"]]
    assert searches == [("", 0), ("1 ply", None), ("2 plies", None)]

    agent = agents.make(f"{text}(temperature=0)", run.learner.env)
    player = players.deterministic(text, agent, run.learner.env)
    assert player.values is not None
    network, _, deep = (without(row, "agent", "search", "simulations", "seconds") for row in result["rows"])
    assert network == rounded(measure(run.learner.env, player.act, solved(), values=player.values))
    assert {"value_accuracy", "value_mse", "weak_value_sign"} <= network.keys()
    act = lookahead(solved(), player.values, 2)
    assert deep == rounded(measure(run.learner.env, act, solved()))
    assert deep["strong_action"] != network["strong_action"]


def test_game_is_solved_where_no_file_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(strength.main, "first", "--env", GAME, "--seat", 1, "--plies", 9) is None
    (row,) = last_json(capsys)["rows"]
    act = players.deterministic("first", agents.make("first", solved().env), solved().env).act
    found = without(row, "agent", "search", "simulations", "seconds")
    assert found == rounded(measure(solved().env, act, solved(), 9, seat=1))


@pytest.mark.slow  # compiles the scores
def test_greedy_plays_the_first_of_equally_good_moves() -> None:
    env = solved().env
    states = solved().states_at(np.arange(4096) % solved().num_states)
    actions = players.deterministic("greedy", GreedyAgent(env), env).act(states)
    is_best = np.asarray(GreedyAgent(env).analyse(states).probabilities) > 0
    np.testing.assert_array_equal(actions, is_best.argmax(-1))
    assert (is_best.sum(-1) > 1).any()


# -- all checkpoints -----------------------------------------------------------------------------------------------


def test_checkpoints_are_measured_once(
    run: RunFolder, solution_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that was ended while it wrote the third row measures that one only."""
    measured: list[str] = []
    drawn: list[list[dict[str, Any]]] = []

    def watched(*arguments: Any, **settings: Any) -> Any:
        measured.append("once")
        return measure(*arguments, **settings)

    def no_pictures(of_run: RunFolder, rows: list[dict[str, Any]], output: Path) -> list[Path]:
        drawn.append(rows)
        return [output / "a.png"]

    monkeypatch.setattr(strength, "measure", watched)
    monkeypatch.setattr(strength, "draw_checkpoints", no_pictures)
    command = (run.folder, "--checkpoints", "--solution", solution_file)
    assert run_command(strength.main, *command) is None
    first = last_json(capsys)
    assert [row["agent"] for row in first["rows"]] == [f"{run.folder}@{iteration}" for iteration in (0, 2, 4)]
    assert first["pictures"] == [str(run.folder / "strength" / "a.png")]

    rows = run.folder / "strength" / "strength.jsonl"
    lines = rows.read_text().splitlines(keepends=True)
    rows.write_text("".join(lines[:2]) + lines[2][:50])
    assert run_command(strength.main, *command) is None
    again = last_json(capsys)
    assert len(measured) == 3 + 1
    assert [without(row, "seconds") for row in again["rows"]] == [without(row, "seconds") for row in first["rows"]]
    assert drawn == [first["rows"], again["rows"]]
    assert len(rows.read_text().splitlines()) == 3


def test_rows_of_other_settings_are_measured_again(solution_file: Path, tmp_path: Path) -> None:
    command = ("first", "--env", GAME, "--solution", solution_file, "--output", tmp_path)
    assert run_command(strength.main, *command) is None
    assert run_command(strength.main, *command, "--plies", 9) is None
    assert run_command(strength.main, *command, "--plies", 9) is None
    rows = [json.loads(line) for line in (tmp_path / "strength.jsonl").read_text().splitlines()]
    assert [(row["settings"]["plies"], row["self_play_plies"]) for row in rows] == [(50, 50), (9, 9)]


# -- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["random", "first(epsilon=0.1)", "RUN(temperature=0.5)"])
def test_agents_that_play_at_random_are_refused(text: str, run: RunFolder, solution_file: Path) -> None:
    text = text.replace("RUN", str(run.folder))
    message = error_of(strength.main, text, "--env", GAME, "--solution", solution_file)
    assert "plays at random, and the measures need one move per board" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name at least one agent"),
        (("first", "--env", GAME, "--depth", 2), "none of the agents is a run"),
        (("RUN", "--simulations", 0), "take numbers of 1 or more"),
        (("RUN@4", "--checkpoints"), "--checkpoints takes the folder of one run"),
        (("first", "--env", "chinese_checkers_diamond(size=9)"), "positions"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: tuple[Any, ...], message: str, run: RunFolder) -> None:
    given = [str(argument).replace("RUN", str(run.folder)) for argument in arguments]
    assert message in error_of(strength.main, *given)


DISCOUNT = 0.9


def leaf_values(states: Any) -> np.ndarray:
    """Random values from -2 to 2 by state: some are outside of the range of results."""
    noise = np.random.default_rng(0).uniform(-2, 2, solution(3).num_states)
    return noise[solution(3).index(states)].astype(np.float32)


def searched(graph: Graph, leaves: np.ndarray, state: int, depth: int) -> float:
    """The value of a state for its mover."""
    if graph.is_over[state]:
        return -1.0
    if depth == 0:
        return float(np.clip(leaves[state], -1, 1))
    following = graph.children[state, : graph.num_moves[state]].tolist()
    return max(-DISCOUNT * searched(graph, leaves, after, depth - 1) for after in following)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_moves_are_those_of_a_search_of_single_states(depth: int) -> None:
    graph = graph_of(solution(3))
    act = lookahead(solution(3), leaf_values, depth, discount=DISCOUNT)
    actions = np.asarray(act(boards(solution(3), graph.live, 0)))
    every = np.full(graph.size, np.nan)
    every[graph.live] = leaf_values(solution(3).states_at(graph.live))
    for row in range(0, len(graph.live), 9):
        state = int(graph.live[row])
        following = graph.children[state, : graph.num_moves[state]].tolist()
        worth = [-DISCOUNT * searched(graph, every, after, depth - 1) for after in following]
        best = max(worth)
        equal = [graph.actions[state, slot] for slot in range(len(worth)) if worth[slot] > best - 1e-6]
        assert actions[row] == equal[0]
