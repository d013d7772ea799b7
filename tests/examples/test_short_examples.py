"""The scripts and the notebook to start from run, learn or win what they should, and their figures are right."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import nbclient
import nbformat
import numpy as np
import pytest

import jaxgames
from examples import demo, pgx_search, random_games
from examples.openspiel_match import Arguments, checkers_action, match
from jaxgames.games.dots_and_boxes import DotsAndBoxes
from jaxgames.interop.pgx import PgxEnv
from tests.games.dots_and_boxes.cases import written
from tests.games.test_engines import OPEN_SPIEL_ACTION
from tests.helpers.positions import compiled, repeated
from train import evaluate, plot
from train.driver import compilation, loop
from train.models.policy import Policy


def test_demo_fails_if_the_agent_wins_fewer_than_nine_games_of_ten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is trained, drawn or played."""
    monkeypatch.chdir(tmp_path)
    for module, function, result in (
        *((compilation, "keep_programs", None), (loop, "run_training", {"finished": True})),
        *((plot, "plot", ["curve.png"]), (demo, "animate_shortest_win", "game.svg"), (evaluate, "table", "")),
    ):
        monkeypatch.setattr(module, function, lambda *_, result=result: result)

    def run(win_rate: float) -> None:
        monkeypatch.setattr(evaluate, "evaluate", lambda _: {"win_rate": win_rate})
        demo.main()

    run(0.9)
    for win_rate in (0.899, float("nan")):
        with pytest.raises(SystemExit, match=f"the agent won {win_rate:.3f} of its games; at least 0.9"):
            run(win_rate)


def test_numbers_of_checkers_are_those_of_the_rule_tests() -> None:
    for mover in (0, 1):
        for action in range(128):
            found = [checkers_action(action, mover, allowed) for allowed in ([4], [7])]
            assert found == OPEN_SPIEL_ACTION[mover, action].tolist()


def test_second_player_wins_the_only_box() -> None:
    result = match(Arguments(agent="first", env="dots_and_boxes(rows=1, cols=1)", simulations=2, games=4))
    assert (result["wins"], result["draws"], result["losses"]) == (2, 0, 2)


SINGLE_AND_PAIR = """
    *---*   *
    | 0 |   |
    *---*   *
        |   |
    *   *   *
"""


@pytest.mark.slow  # compiles a search; tests/interop/test_pgx.py has the signs of `seat_discount`
def test_search_gives_the_single_box_for_the_pair() -> None:
    """Seat 0 must give the single box or the pair.

    If it gives the single box, the opponent takes it, moves again and must give the pair: 3 to 1. If it gives the pair,
    it gets the single box at the end: 2 to 2. With a discount of -1 in all steps, the opponent's second move would
    count as one of seat 0, which would give the pair. The search is repeated with other noise at the root.
    """
    env = PgxEnv(DotsAndBoxes(2, 2, "boxes"))
    state = env.state_at(jax.device_get(env.unwrapped.from_string(written(SINGLE_AND_PAIR))))
    search = jax.jit(lambda states: pgx_search.search(env, jax.random.key(0), states, 128).action)
    found = {env.unwrapped.action_to_string(state.board, int(action)) for action in search(repeated(state, 8))}
    assert found <= {"h(2,0)", "v(1,0)"}


def test_results_count_the_return_of_each_finished_game() -> None:
    """Board 0 ends with 1 - 2 and with 0, board 1 with 3; what follows is not finished."""
    rewards = np.array([[1, 0], [-2, 3], [0, -1], [1, -1]], np.float32)
    ended = np.array([[False, False], [True, True], [True, False], [False, False]])
    assert pgx_search.results(rewards, ended) == {"won": 1, "drawn": 1, "lost": 1}


def test_random_game_ends_and_its_picture_moves_unless_a_step_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    states, actions = random_games.random_game(env, jax.random.key(0))
    assert [bool(state.terminated | state.truncated) for state in states] == [False] * len(actions) + [True]
    for before, action, after in zip(states, actions, states[1:], strict=False):
        assert env.to_string(compiled(env).step(before, action)) == env.to_string(after)
    for output, step in (("game.svg", []), ("board.svg", ["--step", "2"])):
        monkeypatch.setattr(sys, "argv", ["random_games", str(env), "--output", str(tmp_path / output), *step])
        random_games.main()
    assert "<animate" in (tmp_path / "game.svg").read_text()
    assert "<animate" not in (tmp_path / "board.svg").read_text()


def test_own_network_is_made_by_name_and_has_the_same_parameters_on_every_board() -> None:
    own_network = importlib.import_module("examples.own_network")  # registers its network
    shapes: list[Any] = []
    for game in own_network.BOARDS:
        policy = Policy.of(jaxgames.make(game), "shared", "examples.own_network:fully_convolutional(channels=4)")
        shapes.append(jax.eval_shape(policy.init, jax.random.key(0)))
        observation = jnp.zeros((3, *policy.observation_shape), jnp.bool_)
        logits, values = jax.eval_shape(policy.apply, shapes[-1], observation, jnp.zeros(3, jnp.int32))
        assert logits.shape == (3, jaxgames.make(game).num_actions)
        assert values.shape == (3,)
    assert shapes[0] == shapes[1]


# -- the notebook ----------------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "quickstart.ipynb"
CELLS: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text())["cells"]


def test_notebook_is_stored_without_outputs_and_its_links_lead_to_pages() -> None:
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in CELLS if "outputs" in cell)
    links = [link for cell in CELLS for link in re.findall(r"\]\(([^)]+)\)", "".join(cell["source"]))]
    assert len(links) > 3
    assert [link for link in links if not (NOTEBOOK.parent / link).is_file()] == []


def test_first_cell_of_the_notebook_installs_from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    first_cell = "".join(next(cell["source"] for cell in CELLS if cell["cell_type"] == "code"))
    commands: list[list[str]] = []  # none of which is run
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    monkeypatch.setattr(sys, "path", sys.path.copy())
    exec(first_cell, {})
    assert commands == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="write the address of its repository into REPOSITORY"):
        exec(first_cell, {})
    exec(first_cell.replace('REPOSITORY = ""', 'REPOSITORY = "https://example.org/jaxgames"'), {})
    clone, install = commands
    assert clone == ["git", "clone", "--depth", "1", "https://example.org/jaxgames", "checkout"]
    assert install[-1] == "./checkout[train,search,render]"
    assert sys.path[0] == "checkout"


@pytest.mark.slow  # a whole training run
def test_every_cell_of_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a copy of its folder, with the packages of the checkout on the path."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook: Any = nbformat.read(shutil.copy(NOTEBOOK, tmp_path), as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert sum("image/svg+xml" in output.get("data", ()) for output in outputs) == 5
    text = "".join(output.get("text", "") for output in outputs)
    win_rates = [float(rate) for rate in re.findall(r"win rate (\d\.\d+)", text)]
    assert win_rates[0] < 0.8
    assert win_rates[-1] > 0.9
    assert "the agent plays" in text
