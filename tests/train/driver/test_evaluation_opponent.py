"""Evaluations during training are played against any agent that JAX can compile."""

from pathlib import Path

import jax
import numpy as np

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
