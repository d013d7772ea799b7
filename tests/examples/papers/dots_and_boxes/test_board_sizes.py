"""Runs on boards of other sizes: what is played and what is left out, cells that are played once, table and picture."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from examples.papers.dots_and_boxes import board_sizes
from examples.papers.dots_and_boxes.board_sizes import Cell, agents_of, env_of, plays, table, was_trained_on
from jaxgames import arena
from tests.helpers.commands import error_of, last_json, run_command
from tests.helpers.registrations import temporary_registrations
from train import agents
from train.alphazero import AlphaZero, Config
from train.driver.run_folder import RunFolder

SMALL: dict[str, Any] = {"num_envs": 2, "rollout_length": 4, "replay_size": 8, "simulations": 2, "minibatch_size": 8}
FIRST, SECOND = (f"dots_and_boxes(rows={rows}, cols=2, reward=boxes)" for rows in (1, 2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Folders of runs without a checkpoint: one for any board, and one for a single board."""
    parent = tmp_path_factory.mktemp("runs")
    configs = {
        "any": Config(env=FIRST, other_envs=(SECOND,), network="tests.helpers.patch_network:patch(width=4)", **SMALL),
        "flat": Config(env=FIRST, network="mlp", hidden_sizes=(4,), **SMALL),
    }
    with temporary_registrations():
        for name, config in configs.items():
            RunFolder.create(parent / name, AlphaZero(config)).close()
        yield {name: parent / name for name in configs}


def save_checkpoints(runs: dict[str, Path]) -> None:
    for folder in runs.values():
        run = RunFolder.open(folder, AlphaZero)
        run.save(jax.jit(run.learner.init)(jax.random.key(0)))
        run.close()


def row_of(board: str, agent: str, opponent: str, win_rate: float, trained: bool) -> dict[str, Any]:
    interval = arena.wilson(round(400 * win_rate), 400)
    result = {"win_rate": win_rate, "win_rate_interval": interval, "mean_reward": -1.25, "agent_trained": trained}
    return Cell(board, agent, opponent, 400, 0)._asdict() | result


# -- the cells -----------------------------------------------------------------------------------------------------


def test_run_plays_its_own_board_and_with_a_network_for_any_board_all_others(runs: dict[str, Path]) -> None:
    boards = [env_of(board) for board in ("1x2", "2x2", "3x2")]
    assert [plays(str(runs["flat"]), env) for env in boards] == [True, False, False]
    assert [plays(str(runs["any"]), env) for env in boards] == [True, True, True]
    assert [was_trained_on(str(runs["any"]), env) for env in boards] == [True, True, False]
    assert [plays("greedy", env) for env in boards] == [True] * 3
    assert was_trained_on("greedy", boards[0]) is None


def test_agent_of_a_run_has_each_number_of_simulations_unless_it_names_one(
    runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents, "name_of", lambda text: text)  # without a checkpoint
    run = str(runs["any"])
    assert agents_of(run, (0, 64)) == [f"{run}(temperature=0, simulations={number})" for number in (0, 64)]
    assert agents_of(f"{run}(simulations=8)", (0, 64)) == [f"{run}(temperature=0, simulations=8)"]
    assert agents_of("greedy", (0, 64)) == ["greedy"]


@pytest.mark.parametrize("board", ["5", "5x", "axb", "5x5x5"])
def test_wrong_board_is_refused(board: str, tmp_path: Path) -> None:
    message = error_of(board_sizes.main, "greedy", "--opponents", "random", "--boards", board, "--output", tmp_path)
    assert f"a board must be rows and columns of boxes, such as 5x5, not {board!r}" in message


# -- the table and the picture -------------------------------------------------------------------------------------


ROWS = [
    row_of("3x3", "greedy", "random", 0.9, True),
    row_of("5x5", "greedy", "random", 0.5, False),
    row_of("5x5", "first", "random", 0.25, False),
]


def test_table_has_intervals_margins_stars_and_dashes() -> None:
    assert table(ROWS, ("3x3", "5x5")).splitlines() == [
        "| agent | opponent | 3x3 | 5x5 |",
        "|---|---|---|---|",
        "| `greedy` | `random` | 0.900 (0.867-0.926), -1.25 * | 0.500 (0.451-0.549), -1.25 |",
        "| `first` | `random` | - | 0.250 (0.210-0.295), -1.25 |",
    ]


def test_picture_has_a_panel_per_opponent_and_fills_the_marks_of_learned_boards() -> None:
    figure = board_sizes.draw([*ROWS, row_of("3x3", "greedy", "first", 1.0, True)], ("3x3", "5x5"))
    of_random, of_first = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["against random", "against first"]
    marked = [line for line in of_random.lines if line.get_marker() not in ("", "None", "|", "_")]
    assert [line.get_markerfacecolor() == line.get_color() for line in marked] == [True, False, False]
    assert of_first.get_ylim() == (-0.02, 1.02)


# -- games ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow  # a table of games
def test_finished_cells_are_not_played_again(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoints(runs)
    output = tmp_path / "cells.jsonl"
    arguments = (runs["any"], runs["flat"], "--simulations", 0, 2, "--boards", "1x2", "2x2", "2x3", "--games", 20)
    command = (*arguments, "--opponents", "random", runs["flat"], "--output", output)
    assert run_command(board_sizes.main, *command) is None
    rows = last_json(capsys)["cells"]
    found = [(row["board"], row["agent"].partition(", ")[2], row["opponent"] == "random") for row in rows]
    every = [(board, f"simulations={number})") for number in (0, 2) for board in ("1x2", "2x2", "2x3")]
    one = [("1x2", f"simulations={number})") for number in (0, 2)]
    assert [each[:2] for each in found if each[2]] == every + one
    assert [each[:2] for each in found if not each[2]] == one + one  # the flat run plays only its board
    assert [row["agent_trained"] for row in rows[:6]] == [True, True, False] * 2
    for row in rows:
        wins = round(20 * row["win_rate"])
        assert tuple(row["win_rate_interval"]) == pytest.approx(arena.wilson(wins, 20), abs=1e-4)
        assert -6 <= row["mean_reward"] <= 6
        assert 1 < row["openings"] <= 10
    assert output.with_suffix(".png").exists()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a stored cell is played again")

    monkeypatch.setattr(arena, "play", refuse)
    assert run_command(board_sizes.main, *command) is None
    assert last_json(capsys)["cells"] == rows


@pytest.mark.slow
def test_both_agents_play_every_opening_from_both_sides() -> None:
    """So an agent that plays the same as its opponent has the margin 0."""
    cell = Cell("2x2", "first", "first", 20, 0)
    settings = replace(board_sizes.GameArguments(), games=20, openings=10, opening_plies=2)
    with board_sizes.tqdm(disable=True) as bar:
        result = board_sizes.play(cell, env_of("2x2"), settings, bar)
    assert result["mean_reward"] == 0
    assert result["mean_length"] == 10  # of 12 edges, two are the opening
