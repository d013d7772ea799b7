"""The table of all games: every game has a task, and a short run fills its row."""

from pathlib import Path

import pytest

import jaxgames
from examples.train_all_games import TASKS, Arguments, table, train_and_play


def test_every_game_has_a_task() -> None:
    assert {jaxgames.make(task.env).id for task in TASKS.values()} == set(jaxgames.list_games())


@pytest.mark.slow
def test_task_is_trained_once_and_fills_its_row(tmp_path: Path) -> None:
    arguments = Arguments(output=tmp_path, games=50, total_steps=20_000)  # two iterations, the fewest that learn
    result = train_and_play("dots_and_boxes", arguments)
    assert result["games"] == 50
    assert result["steps"] == 2 * 256 * 64
    assert 0.2 < result["win_rate"] <= 1
    assert train_and_play("dots_and_boxes", arguments) == result  # a finished run is not trained again
    row = table({"dots_and_boxes": result}).splitlines()[2]
    assert row.startswith("| `dots_and_boxes(rows=3, cols=3)` | any | 32,768 | ")
    assert row.endswith(f"| {result['win_rate']:.4f} | {result['mean_reward']:.3f} |")
