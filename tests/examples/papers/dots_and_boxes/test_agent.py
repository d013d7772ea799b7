"""The table of the agent `alphabeta`: games lost to the clock, times, texts, and OpenSpiel's bot on its own game."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jaxgames
from examples.papers.dots_and_boxes.agent import (
    Arguments,
    OpenSpielMCTS,
    milliseconds,
    opponent_of,
    report,
)
from jaxgames import ParameterError
from tests.helpers.positions import compiled

SMALL = Arguments(board=(1, 2), agent="first", games=4, simulations=2)


def one(state: Any) -> Any:
    """A batch of one board."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[None], state)


def test_row_counts_games_and_moves_of_both_seats(tmp_path: Path) -> None:
    """With 7 edges and 2 boxes, `first` against itself takes both boxes from the same seat, which alternates."""
    own, mcts = report(replace(SMALL, output=tmp_path, opponents=("self", "mcts"))).result["rows"]
    assert (own["opponent"], own["games"], own["wins"], own["losses"], own["ties"]) == ("self", 4, 2, 2, 0)
    assert own["moves"] == 4 * 7 / 2
    assert own["lost_to_the_clock"] == 0
    assert mcts["wins"] + mcts["losses"] + mcts["ties"] == 4


def test_game_with_a_late_move_is_lost_to_the_clock_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every move takes a second, and each of the four games counts once."""
    clock = iter(range(10_000))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    (row,) = report(replace(SMALL, output=tmp_path, opponents=("random",))).result["rows"]
    assert row["lost_to_the_clock"] == 4
    assert row["ms"] == {"mean": 1000, "p99": 1000, "max": 1000}


def test_times_are_the_mean_the_99th_percentile_and_the_largest() -> None:
    found = milliseconds([number / 1000 for number in range(101)])
    assert found == pytest.approx({"mean": 50, "p99": 99, "max": 100})


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
            legal = np.flatnonzero(compiled(env).mask(board))
            action = int(bot.act(key, one(board))[0]) if bots_turn else int(legal[0])
            assert action in legal
            board = compiled(env).step(board, action)
    with pytest.raises(ParameterError, match="mcts follows one game from its start"):
        OpenSpielMCTS(env, 2, 0).act(key, one(env.from_string("1000000 .. 0")))
