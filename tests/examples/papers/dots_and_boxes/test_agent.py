"""The table of the agent `alphabeta`: games lost to the clock, times, texts, and OpenSpiel's bot on its own game."""

import time
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.dots_and_boxes.agent import (
    THEIRS,
    Arguments,
    OpenSpielMCTS,
    milliseconds,
    opponent_of,
    play,
    table,
)
from jaxgames import ParameterError

SMALL = Arguments(board=(1, 2), agent="first", games=4, simulations=2)


def one(state: Any) -> Any:
    """A batch of one board."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)


def test_row_counts_games_moves_and_boxes_of_both_seats(capsys: pytest.CaptureFixture[str]) -> None:
    """With 7 edges and 2 boxes, `first` against itself takes both boxes from the same seat, which alternates."""
    found = play(Arguments(board=(1, 2), agent="first", games=4, opponents=("self", "mcts"), simulations=2))
    own, mcts = found["rows"]
    assert (own["opponent"], own["games"], own["wins"], own["losses"], own["ties"]) == ("self", 4, 2, 2, 0)
    assert own["moves"] == 4 * 7 / 2
    assert own["lost_to_the_clock"] == 0
    assert mcts["wins"] + mcts["losses"] + mcts["ties"] == 4
    assert "| `self` | 4 | 2 | 2 | 0 | 0 | 0.500 (" in capsys.readouterr().out


def test_game_with_a_late_move_is_lost_to_the_clock_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every move takes a second, and each of the four games counts once."""
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    (row,) = play(Arguments(board=(1, 2), agent="first", games=4, opponents=("random",)))["rows"]
    assert row["lost_to_the_clock"] == 4
    assert row["ms"] == {"mean": 1000, "p99": 1000, "max": 1000}


def test_times_are_the_mean_the_99th_percentile_and_the_largest() -> None:
    found = milliseconds([number / 1000 for number in range(101)])
    assert found == pytest.approx({"mean": 50, "p99": 99, "max": 100})


def test_table_has_the_figures_of_the_study_where_it_has_some() -> None:
    times = {"mean": 1.0, "p99": 2.0, "max": 3.0}
    counts = {"games": 4, "wins": 3, "losses": 1, "ties": 0, "lost_to_the_clock": 0, "win_rate": 0.75}
    row = counts | {"win_rate_interval": [0.3, 0.95], "ms": times, "cpu_ms": times, "opponent_cpu_ms": times}
    header, _, mcts, greedy = table([row | {"opponent": "mcts"}, row | {"opponent": "greedy"}]).splitlines()
    assert mcts.endswith(f"| {', '.join(map(str, THEIRS['mcts']))} |")
    assert greedy == (
        "| `greedy` | 4 | 3 | 1 | 0 | 0 | 0.750 (0.300-0.950) | 1.00, 2.00, 3.00 | 1.00, 2.00, 3.00 | 1.00 |  |"
    )
    assert header.count("|") == mcts.count("|")


def test_bot_follows_captures_and_new_games_and_refuses_another_game() -> None:
    env = jaxgames.make("dots_and_boxes(rows=1, cols=2)")
    bot = opponent_of("mcts", env, SMALL)
    assert isinstance(bot, OpenSpielMCTS)
    key = jax.random.key(0)
    state = env.init()
    for _ in range(2):  # two games
        board = state
        while not board.terminated:
            bots_turn = int(board.current_player) == 1
            legal = np.flatnonzero(env.legal_action_mask(board))
            action = int(bot.act(key, one(board))[0]) if bots_turn else int(legal[0])
            assert action in legal
            board = env.step(board, action)
    with pytest.raises(ParameterError, match="mcts follows one game from its start"):
        OpenSpielMCTS(env, 2, 0).act(key, one(env.from_string("1000000 .. 0")))
