"""The table of agents: a row per agent, cells that are played once, games that differ, runs of the game."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from examples.papers.solution_strength import compare_agents
from examples.papers.solution_strength.compare_agents import Arguments, compare, table
from jaxgames import arena
from train.driver.run_folder import RunFolder
from train.ppo import PPO, Config

GAME = "dots_and_boxes(rows=1, cols=2)"
SMALL = Arguments(envs=(GAME,), agents=("random", "first", "greedy"), games=40, host_games=3)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Arguments, list[dict[str, Any]]]:
    """The finished cells of a small comparison."""
    arguments = replace(
        SMALL, output=tmp_path_factory.mktemp("compared"), agents=(*SMALL.agents, "openspiel(bot=random)")
    )
    return arguments, compare(arguments)


@pytest.mark.slow  # a table of games; the arena and the agents have tests of their own
def test_each_agent_meets_each_opponent(played: tuple[Arguments, list[dict[str, Any]]]) -> None:
    arguments, rows = played
    assert [(row["agent"], row["opponent"]) for row in rows] == [
        (agent, opponent) for agent in arguments.agents for opponent in ("random", "greedy")
    ]
    assert [row["games"] for row in rows] == [40] * 6 + [3] * 2  # OpenSpiel's bot is on the host
    for row in rows:
        assert tuple(row["win_rate_interval"]) == pytest.approx(
            arena.wilson(round(row["win_rate"] * row["games"]), row["games"]), abs=1e-4
        )


@pytest.mark.slow
def test_games_without_a_random_agent_begin_with_random_plies(played: tuple[Arguments, list[dict[str, Any]]]) -> None:
    plies = {(row["agent"], row["opponent"]): row["opening_plies"] for row in played[1]}
    assert [agent for (agent, _), number in plies.items() if number == 0] == [
        "random", "random", "first", "greedy", "openspiel(bot=random)",
    ]  # fmt: skip
    assert 0 < next(row for row in played[1] if (row["agent"], row["opponent"]) == ("first", "greedy"))["win_rate"] < 1


@pytest.mark.slow  # a table of games; the arena and the agents have tests of their own
def test_finished_cells_are_not_played_again(
    played: tuple[Arguments, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, rows = played
    stored = arguments.output / "cells.jsonl"
    stored.write_text(stored.read_text()[:-20])  # as after a stop in the last cell
    again: list[tuple[int, ...]] = []
    play = arena.play

    def counted(env: Any, players: Any, seats: Any, *args: Any, **kwargs: Any) -> Any:
        again.append(seats.shape)
        return play(env, players, seats, *args, **kwargs)

    monkeypatch.setattr(arena, "play", counted)
    resumed = compare(arguments)
    assert again == [(3, 2)]
    assert [row | {"seconds": 0} for row in resumed] == [row | {"seconds": 0} for row in rows]
    with_other_games = compare(replace(arguments, agents=("first",), opponents=("random",), games=10))
    assert again == [(3, 2), (10, 2)]
    assert [row["games"] for row in with_other_games] == [10]


@pytest.mark.slow  # a table of games; the arena and the agents have tests of their own
def test_table_has_a_row_per_agent(played: tuple[Arguments, list[dict[str, Any]]]) -> None:
    arguments, rows = played
    header, rule, *lines = table(rows, arguments.opponents).splitlines()
    assert header.startswith(
        "| game | agent | games against random | wins against random | draws | turns | games against g"
    )
    assert {line.count("|") for line in (header, rule, *lines)} == {11}
    assert [line.split(" | ")[1] for line in lines] == [f"`{agent}`" for agent in arguments.agents]
    low, high = rows[0]["win_rate_interval"]
    assert f"| 40 | {rows[0]['win_rate']:.3f} ({low:.3f}-{high:.3f}) | {rows[0]['draw_rate']:.3f} |" in lines[0]


@pytest.mark.slow
def test_runs_play_the_game_that_they_were_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    for name, env in (("mine", GAME), ("other", "dots_and_boxes(rows=1, cols=1)")):
        config = Config(env=env, hidden_sizes=(8,), num_envs=2, rollout_length=4, num_minibatches=1)
        run = RunFolder.create(runs / name, PPO(config))
        run.save(jax.jit(run.learner.init)(jax.random.key(0)))
        run.close()
    command = ["compare_agents", "--envs", GAME, "--agents", "random", "--opponents", "random", "--games", "10"]
    monkeypatch.setattr(sys, "argv", [*command, "--runs", str(runs), "--output", str(tmp_path / "out")])
    compare_agents.main()
    *lines, result = capsys.readouterr().out.splitlines()
    assert [row["agent"] for row in json.loads(result)["cells"]] == ["random", f"{runs / 'mine'}@0"]
    assert len(lines) == 2 + 2
    assert f"`{runs / 'mine'}@0`" in lines[-1]


def test_folder_without_runs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no runs"):
        compare(replace(SMALL, output=tmp_path, runs=tmp_path))


def test_host_games_must_be_at_least_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="games must be from 1"):
        compare(replace(SMALL, output=tmp_path, host_games=0))
