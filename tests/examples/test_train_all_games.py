"""The table of all games: every game has its line, and a short run fills it."""

from pathlib import Path

import jaxgames
from examples.all_games import TASKS, Arguments, table, train_and_play


def test_every_game_is_among_the_tasks() -> None:
    assert {jaxgames.make(task.env).id for task in TASKS.values()} == set(jaxgames.list_games())


def test_a_task_is_trained_played_and_told(tmp_path: Path) -> None:
    """As little as there can be of it: two iterations."""
    arguments = Arguments(output=tmp_path, games=50, total_steps=20_000)
    result = train_and_play("dots_and_boxes", arguments)
    assert result["games"] == 50
    assert result["steps"] == 2 * 256 * 64
    assert 0.2 < result["win_rate"] <= 1
    again = train_and_play("dots_and_boxes", arguments)  # finished already: nothing is trained anew
    assert again == result
    line = table({"dots_and_boxes": result}).splitlines()[2]
    assert line.startswith("| `dots_and_boxes(rows=3, cols=3)` | any | 32,768 | ")
    assert f"| {result['win_rate']:.4f} | 0.95 | " in line
