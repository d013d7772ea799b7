"""Evaluations during training are played against any agent that JAX can compile."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from jaxgames import agents, arena
from tests.helpers import toy_learner
from tests.helpers.commands import error_of
from tests.helpers.scripted_agents import OnHost
from tests.helpers.stored_runs import last_train_state, metrics_of, train_in
from tests.helpers.toy_learner import ToyLearner
from train.driver import loop
from train.driver.loop import Settings

TOY = ToyLearner(toy_learner.Config(total_steps=12))


def settings_for(opponent: str) -> Settings:
    return Settings(evaluate_every=3, evaluation_games=50, evaluation_opponent=opponent)


def test_evaluation_is_played_against_the_chosen_agent(tmp_path: Path) -> None:
    result = train_in(tmp_path / "run", TOY, settings_for("first"))
    agent = TOY.agent(last_train_state(tmp_path / "run").params)
    key = jax.random.fold_in(jax.random.key(loop.EVALUATION_SEED), 3)
    expected = jax.jit(lambda: arena.evaluate(TOY.env, agent, agents.make("first", TOY.env), key, 50))()
    last = metrics_of(tmp_path / "run")[-1]
    for name, number in expected.items():
        np.testing.assert_allclose(last[name], number, rtol=1e-6)
    assert result["win_rate"] == round(float(expected["win_rate"]), 4)


@dataclass(frozen=True)
class OnBoxes(ToyLearner):
    """Plays the last legal line of one box: it wins if it draws the last one."""

    @property
    def env(self) -> jaxgames.Env[Any]:
        return jaxgames.make("dots_and_boxes(rows=1, cols=1)")

    def agent(self, params: Any, temperature: float | None = None, top: int | None = None) -> agents.Agent:
        return agents.make("first", self.env)


def test_random_agent_that_is_beaten_is_followed_by_the_greedy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has the second seat draws the last line and has the box."""
    learner, train_state = OnBoxes(toy_learner.Config()), TOY.init(jax.random.key(0))
    settings = Settings(evaluation_games=4)

    def columns() -> dict[str, float]:
        return dict(loop.evaluation(learner, settings, loop.evaluation_opponent(learner, settings), train_state, 3))

    found = columns()
    assert found["win_rate"] < loop.BEATEN
    assert "win_rate/greedy" not in found
    monkeypatch.setattr(loop, "BEATEN", found["win_rate"])
    beaten = columns()
    assert (beaten["win_rate/greedy"], beaten["draw_rate/greedy"]) == (found["win_rate"], 0)


def test_evaluation_opponent_that_cannot_play_is_refused_before_there_is_a_folder(tmp_path: Path) -> None:
    agents.register("on_host", OnHost)
    for opponent, message in (
        ("on_host", "evaluation_opponent = on_host plays on the host"),
        ("nobody", "unknown agent 'nobody'; the agents are"),
    ):
        arguments = ("--run-dir", tmp_path / "run", "--evaluation-opponent", opponent)
        assert message in error_of(toy_learner.main, *arguments)
    assert not (tmp_path / "run").exists()
    unused = Settings(evaluate_every=0, evaluation_opponent="nobody")
    assert loop.evaluation_opponent(TOY, unused) == agents.make("random", TOY.env)
