"""Runs on boards of other sizes: what is played and what is left out, and games from both sides."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.papers.dots_and_boxes import board_sizes
from examples.papers.dots_and_boxes.board_sizes import board_of, plays, was_trained_on
from tests.helpers.registrations import temporary_registrations
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


def test_run_plays_its_own_board_and_with_a_network_for_any_board_all_others(runs: dict[str, Path]) -> None:
    boards = [board_of(board) for board in ("1x2", "2x2", "3x2")]
    assert [plays(str(runs["flat"]), env) for env in boards] == [True, False, False]
    assert [plays(str(runs["any"]), env) for env in boards] == [True, True, True]
    assert [was_trained_on(str(runs["any"]), env) for env in boards] == [True, True, False]
    assert [plays("greedy", env) for env in boards] == [True] * 3
    assert was_trained_on("greedy", boards[0]) is None


@pytest.mark.parametrize("board", ["5", "5x", "axb", "5x5x5"])
def test_wrong_board_is_refused(board: str) -> None:
    with pytest.raises(ValueError, match=f"rows and columns of boxes, such as 5x5, not {board!r}"):
        board_of(board)


@pytest.mark.slow
def test_both_agents_play_every_opening_from_both_sides() -> None:
    """So an agent that plays the same as its opponent has the margin 0."""
    key = {"board": "2x2", "agent": "first", "opponent": "first", "games": 20, "seed": 0}
    result = board_sizes.measure(board_of("2x2"), key)
    assert result["mean_reward"] == 0
    assert result["mean_length"] == 10  # of 12 edges, two are the opening
