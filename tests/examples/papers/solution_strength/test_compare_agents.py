"""The table of agents: who meets whom, how often, from which openings, and with which runs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from examples.papers.solution_strength import compare_agents
from examples.papers.solution_strength.compare_agents import Arguments, report
from tests.helpers.commands import last_json, run_command
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config

GAME = "dots_and_boxes(rows=1, cols=2)"
SMALL = Arguments(envs=(GAME,), agents=("random", "first", "greedy"), games=40, host_games=3)


@pytest.mark.slow  # plays all games; the quick form plays fewer in test_quick.py
def test_games_without_a_random_agent_begin_with_random_plies(tmp_path: Path) -> None:
    agents = (*SMALL.agents, "openspiel(bot=random)")
    rows = report(replace(SMALL, output=tmp_path, agents=agents)).result["cells"]
    pairs = {(row["agent"], row["opponent"]): row for row in rows}
    assert [*pairs] == [(agent, opponent) for agent in agents for opponent in ("random", "greedy")]
    assert [row["games"] for row in rows] == [40] * 6 + [3] * 2  # OpenSpiel's bot is on the host
    assert {pair for pair, row in pairs.items() if row["opening_plies"]} == {
        (agent, "greedy") for agent in agents if agent != "random"
    }
    assert 0 < pairs["first", "greedy"]["win_rate"] < 1


@pytest.mark.slow
def test_runs_play_the_game_that_they_were_trained_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = tmp_path / "runs"
    for name, env in (("mine", GAME), ("other", "dots_and_boxes(rows=1, cols=1)")):
        config = Config(env=env, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1)
        run = RunFolder.create(runs / name, PPO(config))
        run.save(jax.jit(run.learner.init)(jax.random.key(0)))
        run.close()
    command: tuple[Any, ...] = ("--envs", GAME, "--agents", "random", "--opponents", "random", "--games", 10)
    assert run_command(compare_agents.main, *command, "--runs", runs, "--output", tmp_path / "out") is None
    assert [row["agent"] for row in last_json(capsys)["cells"]] == ["random", f"{runs / 'mine'}@0"]


def test_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no runs"):
        report(replace(SMALL, output=tmp_path, runs=tmp_path))


def test_host_games_must_be_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="games must be from 1"):
        report(replace(SMALL, output=tmp_path, host_games=0))
