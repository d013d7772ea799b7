"""The short scripts to start from run, and their figures are plausible."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxgames
from examples import random_games
from tests.helpers.positions import compiled
from train.models.policy import Policy

DIAMOND = "chinese_checkers_diamond(size=3, pieces=1)"


@pytest.mark.parametrize("game", ["dots_and_boxes(rows=1, cols=2)", pytest.param(DIAMOND, marks=pytest.mark.slow)])
def test_random_game_ends_and_each_action_leads_to_the_next_state(game: str) -> None:
    env = jaxgames.make(game)
    states, actions = random_games.random_game(env, jax.random.key(0))
    assert len(states) == len(actions) + 1
    for before, action, after in zip(states, actions, states[1:], strict=False):
        assert env.to_string(compiled(env).step(before, action)) == env.to_string(after)
    assert [bool(state.terminated | state.truncated) for state in states] == [False] * len(actions) + [True]


def test_random_games_writes_a_picture_of_the_game_or_of_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = "dots_and_boxes(rows=1, cols=1)"
    for output, step in (("game.svg", []), ("board.svg", ["--step", "2"])):
        monkeypatch.setattr(sys, "argv", ["random_games", game, "--output", str(tmp_path / output), *step])
        random_games.main()
    assert "<animate" in (tmp_path / "game.svg").read_text()
    assert "<animate" not in (tmp_path / "board.svg").read_text()
    assert capsys.readouterr().out.count("plays") == 2 * 4


@pytest.mark.slow  # a whole training run
def test_own_learner_learns_to_beat_a_random_player(capsys: pytest.CaptureFixture[str]) -> None:
    from examples import own_learner  # imports distrax, which takes seconds

    own_learner.main()
    win_rates = json.loads(capsys.readouterr().out)["win_rates"]
    assert win_rates[0] < 0.8
    assert win_rates[-1] > 0.85


@pytest.fixture
def own_network() -> Any:
    """The module, which registers its network when it is imported."""
    return importlib.import_module("examples.own_network")


@pytest.mark.slow  # a whole training run
def test_own_network_beats_a_random_player_also_on_a_board_that_it_never_saw(
    own_network: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    own_network.main()
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["dots_and_boxes(rows=2, cols=2)"] > 0.75
    assert scores["dots_and_boxes(rows=3, cols=3)"] > 0.85


def test_own_network_is_made_by_name_and_has_the_same_parameters_on_every_board(own_network: Any) -> None:
    shapes: list[Any] = []
    for game in own_network.BOARDS:
        policy = Policy.of(jaxgames.make(game), "shared", "examples.own_network:fully_convolutional(channels=4)")
        shapes.append(jax.eval_shape(policy.init, jax.random.key(0)))
        observation = jnp.zeros((3, *policy.observation_shape), jnp.bool_)
        logits, values = jax.eval_shape(policy.apply, shapes[-1], observation, jnp.zeros(3, jnp.int32))
        assert logits.shape == (3, jaxgames.make(game).num_actions)
        assert values.shape == (3,)
    assert shapes[0] == shapes[1]
