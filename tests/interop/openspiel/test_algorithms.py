"""OpenSpiel's own tests and algorithms on games of jaxgames, beside its own game of Dots and Boxes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy, rl_environment
from open_spiel.python.algorithms import exploitability, get_all_states, mcts, minimax

import jaxgames
from tests.interop.openspiel.openspiel_games import ALL_SMALL, TINY, load


def theirs(rows: int, cols: int) -> Any:
    """OpenSpiel's game of the same board."""
    return pyspiel.load_game("dots_and_boxes", {"num_rows": rows, "num_cols": cols, "utility_margin": False})


@pytest.mark.parametrize("text", [TINY, *(pytest.param(text, marks=pytest.mark.slow) for text in ALL_SMALL)])
def test_random_simulations_of_openspiel_pass(text: str) -> None:
    """With states that are written and read after every action, and without."""
    for serialize in (True, False):
        pyspiel.random_sim_test(load(text), 2, serialize, False)


def test_alpha_beta_search_finds_the_value_of_the_own_game_of_openspiel() -> None:
    """Two boxes with one edge drawn: the same value and the same best edge."""
    states = [game.new_initial_state().child(0) for game in (load(TINY), theirs(1, 2))]
    found = [minimax.alpha_beta_search(state.get_game(), state, maximizing_player_id=1) for state in states]
    assert found[0] == found[1]


def test_exploitability_of_uniform_play_is_that_of_the_own_game_of_openspiel() -> None:
    games = [load("dots_and_boxes(rows=1,cols=1)"), theirs(1, 1)]
    ours, expected = (exploitability.exploitability(game, policy.UniformRandomPolicy(game)) for game in games)
    assert ours == pytest.approx(expected)


@pytest.mark.slow
def test_all_histories_of_two_boxes_are_found() -> None:
    """Any order of any of the seven edges: the sum of 7! / (7 - k)! over k from 0 to 7."""
    states = get_all_states.get_all_states(load(TINY), to_string=lambda state: state.history_str())
    assert len(states) == 13_700


@pytest.mark.slow
def test_python_mcts_takes_the_box_that_it_needs() -> None:
    """h(0,0) completes the left box; any other edge gives both away."""
    game = load(TINY)
    evaluator = mcts.RandomRolloutEvaluator(n_rollouts=1, random_state=np.random.RandomState(0))
    bot = mcts.MCTSBot(game, 2.0, 60, evaluator, random_state=np.random.RandomState(0))
    state = game.new_initial_state("0010111 .. 0")
    assert state.action_to_string(bot.step(state)) == "h(0,0)"


def test_rl_environment_pays_the_rewards_of_the_scheme() -> None:
    """Seat 0 draws the last edge of the first box, is paid at once, and moves again."""
    load(TINY)
    env = rl_environment.Environment("jaxgames_dots_and_boxes", rows=1, cols=2, reward="boxes")
    step = env.reset()
    assert len(step.observations["info_state"][0]) == env.observation_spec()["info_state"][0] == 3 * 5 * 3
    for edge in (0, 1, 2, 3, 4):  # h(0,0), h(0,1), h(1,0), h(1,1), v(0,0)
        step = env.step([edge])
    assert (step.current_player(), step.rewards) == (1, [0, 0])
    step = env.step([5])  # the edge between the boxes completes the left one
    assert (step.current_player(), step.rewards) == (1, [-1, 1])
    step = env.step([6])
    assert (step.last(), step.rewards) == (True, [-1, 1])


ALPHA_ZERO = """
import sys

from open_spiel.python.algorithms.alpha_zero import alpha_zero

from jaxgames.interop import openspiel

openspiel.register()  # also in the processes of the actors, which import this file

if __name__ == "__main__":
    settings = dict(
        game="jaxgames_dots_and_boxes(rows=1,cols=2)", path=sys.argv[1], max_steps=2, checkpoint_freq=1,
        learning_rate=1e-3, weight_decay=1e-4, decouple_weight_decay=False, train_batch_size=64,
        replay_buffer_size=1024, replay_buffer_reuse=8, actors=1, evaluators=0, evaluation_window=50, eval_levels=2,
        uct_c=1.5, max_simulations=10, policy_alpha=1.0, policy_epsilon=0.25, temperature=1.0, temperature_drop=4,
        nn_model="mlp", nn_width=32, nn_depth=2, observation_shape=None, output_size=None, verbose=False, quiet=True,
    )
    alpha_zero.alpha_zero(alpha_zero.Config(**settings))
"""


@pytest.mark.slow  # two processes, each of which starts JAX
def test_alpha_zero_of_openspiel_trains_for_two_steps(tmp_path: Path) -> None:
    script, folder = tmp_path / "train.py", tmp_path / "run"
    script.write_text(ALPHA_ZERO)
    settings = os.environ | {"PYTHONPATH": str(Path(jaxgames.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, script, folder], env=settings, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (folder / "learner.jsonl").read_text().splitlines()]
    assert [row["step"] for row in rows] == [1, 2]
    assert all(np.isfinite(row["loss"]["value"]) and row["loss"]["policy"] > 0 for row in rows)
    assert (folder / "checkpoint-2").is_dir()
