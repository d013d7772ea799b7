"""The command train.strength: rows of agents, searches and checkpoints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxgames import make, solvers
from jaxgames.agents import GreedyAgent
from jaxgames.solvers.strength import measure
from jaxgames.solvers.strength.policy_table import play_by_values
from tests.helpers.commands import last_json, run_command
from tests.helpers.registrations import temporary_registrations
from tests.helpers.solved import solved_boxes, solved_diamond
from tests.helpers.stored_runs import store
from train import agents, strength
from train.ppo import PPO, Config

GAME = "chinese_checkers_diamond(size=3, pieces=3)"
SIZES: dict[str, Any] = {"num_envs": 2, "rollout_length": 4, "num_minibatches": 1}
NOT_MEASURED = ("agent", "search", "simulations", "seconds")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never trained, with three checkpoints of different parameters."""
    learner = PPO(Config(env=GAME, hidden_sizes=(8,), **SIZES))
    return store(tmp_path_factory.mktemp("runs") / "first", learner, iterations=(0, 2, 4))


def solved() -> solvers.Solution[Any]:
    return solved_diamond(3, 3)


def rounded(measures: Any) -> Any:
    """The measures as the command prints them."""
    return json.loads(json.dumps(strength.rounded(measures, strength.DIGITS)))


def measures_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in NOT_MEASURED}


# -- rows ----------------------------------------------------------------------------------------------------------


def test_agents_are_measured_on_the_board_that_is_named_which_is_solved_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The network of the run fits every board. A run has a row for its network, whose values count, and its search."""
    env = make("dots_and_boxes(rows=1, cols=2)")
    with temporary_registrations():
        network = "tests.helpers.networks:patch(width=4)"
        learner = PPO(Config(env="dots_and_boxes(rows=1, cols=1)", network=network, **SIZES))
        folder = store(tmp_path / "run", learner)
        options = ("--env", env, "--seat", 1, "--simulations", 2, "--plies", 9)
        assert run_command(strength.main, folder, "first", *options) is None
        texts = (f"{folder}(temperature=0)", f"{folder}(simulations=2)", "first")
        players = [agents.make(text, env) for text in texts]
    *table, line = capsys.readouterr().out.splitlines()
    result = json.loads(line)
    assert table == strength.table(result).splitlines()
    assert (result["env"], result["seat"], result["plies"]) == (str(env), 1, 9)
    rows = [(row["agent"], row["search"], row["simulations"]) for row in result["rows"]]
    assert rows == [(f"{folder}@0", "", 0), (f"{folder}@0", "2 simulations", 2), ("first", "", None)]
    assert result["rows"][0]["strong_action"] != result["rows"][1]["strong_action"]
    for row, agent in zip(result["rows"], players, strict=True):
        act, values = strength.deterministic("", agent, env)
        values = None if row["search"] else values
        assert measures_of(row) == rounded(measure(env, act, solved_boxes(1, 2), 9, seat=1, values=values))
    assert ["value_mse" in row for row in result["rows"]] == [True, False, False]


@pytest.mark.slow  # compiles the scores
def test_greedy_plays_the_first_of_equally_good_moves() -> None:
    env = solved().env
    states = solved().states_at(np.arange(4096) % solved().num_states)
    actions = strength.deterministic("greedy", GreedyAgent(env), env).act(states)
    is_best = np.asarray(GreedyAgent(env).analyse(states).probabilities) > 0
    np.testing.assert_array_equal(actions, is_best.argmax(-1))
    assert (is_best.sum(-1) > 1).any()


def test_value_head_is_a_row_of_its_own_whatever_the_search(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    searching, options = f"{run}@4(simulations=2)", ("--value-head", "--no-weak", "--strong-states", 300, "--seat", 1)
    assert run_command(strength.main, searching, *options) is None
    searched, row = last_json(capsys)["rows"]
    assert (row["agent"], row["search"], row["simulations"]) == (searching, "value head", None)
    values = strength.deterministic("", agents.make(f"{run}@4(temperature=0)", solved().env), solved().env).values
    assert values is not None
    act = play_by_values(solved(), values, 1)
    assert measures_of(row) == rounded(measure(solved().env, act, solved(), seat=1, strong_states=300, weak=False))
    assert row["strong_action"] != searched["strong_action"]


def test_checkpoints_are_measured_once_and_drawn(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command that was ended while it wrote the third row measures that one only; other settings are other rows."""
    folder = run / "strength"
    solved().save(tmp_path / "33.npz")
    command = (run, "--checkpoints", "--solution", tmp_path / "33.npz", "--no-weak", "--strong-states", 300)
    assert run_command(strength.main, *command) is None
    first = last_json(capsys)
    assert [row["agent"] for row in first["rows"]] == [f"{run}@{iteration}" for iteration in (0, 2, 4)]
    assert first["pictures"] == [str(folder / f"figures{ending}") for ending in (".png", ".svg")]
    assert "<!-- strong action" in (folder / "figures.svg").read_text()  # Matplotlib comments on each text

    file = folder / strength.ROWS_FILE
    one, two, three = map(json.loads, file.read_text().splitlines())
    file.write_text(f"{json.dumps(one | {'strong_action': 2.0})}\n{json.dumps(two)}\n{json.dumps(three)[:50]}")
    assert run_command(strength.main, *command) is None
    found = [measures_of(row) for row in last_json(capsys)["rows"]]
    expected = [measures_of(row) for row in first["rows"]]
    assert found == [expected[0] | {"strong_action": 2.0}, *expected[1:]]
    assert run_command(strength.main, *command, "--plies", 9) is None
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["settings"]["plies"] for row in rows] == [50, 50, 50, 9, 9, 9]
    assert rows[3]["strong_action"] == one["strong_action"]
