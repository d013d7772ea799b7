"""Whole games beside OpenSpiel's `dots_and_boxes`, which numbers the edges alike."""

import re
from collections import Counter
from typing import Any

import numpy as np
import pyspiel
import pytest

from tests.games.dots_and_boxes.pictures import game
from tests.games.dots_and_boxes.whole_games import recorded
from tests.helpers.positions import board, start

BOARDS_COMPARED = 16  # of each game, evenly: OpenSpiel's tensors and texts cost more than the rest


def replay(rows: int, cols: int, margin: bool, seed: int, games: int) -> Counter[int]:
    """Plays recorded games again in OpenSpiel and compares every step; returns how often each seat won, -1 for none."""
    env = game(rows, cols, "margin" if margin else "win_loss")
    parameters = {"num_rows": rows, "num_cols": cols, "utility_margin": margin}
    openspiel = pyspiel.load_game("dots_and_boxes", parameters)
    results = Counter[int]()
    steps = recorded(env, seed, games)
    for index in range(games):
        theirs = openspiel.new_initial_state()
        for number, (states, look, actions) in enumerate(steps[:-1]):
            assert int(states.current_player[index]) == theirs.current_player()
            assert np.flatnonzero(look.mask[index]).tolist() == theirs.legal_actions()
            if number % max(1, env.num_actions // BOARDS_COMPARED) == 0:
                assert_same_board(env, board(states, index), theirs)
            theirs.apply_action(int(actions[index]))
        end = board(steps[-1].states, index)
        assert theirs.is_terminal()
        assert end.terminated
        assert_same_board(env, end, theirs)
        assert end.rewards.tolist() == theirs.returns()
        results[-1 if not end.rewards.any() else int(end.rewards.argmax())] += 1
    return results


def assert_same_board(env: Any, state: Any, theirs: Any) -> None:
    """OpenSpiel's tensor is [content, dot, part]: who drew the edge right of the dot, below it, who owns the box."""
    tensor = np.reshape(theirs.observation_tensor(0), (3, env.rows + 1, env.cols + 1, 3))
    nobody = tensor[0] == 1
    drawn = ~np.concatenate([nobody[:, : env.cols, 0].ravel(), nobody[: env.rows, :, 1].ravel()])
    owners = tensor[:, : env.rows, : env.cols, 2].argmax(0).ravel()
    edges = "".join("01"[int(edge)] for edge in drawn)
    assert env.to_string(state).split()[:2] == [edges, "".join(".01"[owner] for owner in owners)]


@pytest.mark.parametrize(
    ("rows", "cols", "margin"),
    [(1, 1, True), (2, 1, False), (3, 3, True), (5, 5, False), (7, 11, True)],
)
def test_open_spiel_agrees_on_whole_games(rows: int, cols: int, margin: bool) -> None:
    """Legal moves, the board, who moves and what is paid at the end."""
    assert replay(rows, cols, margin, seed=1, games=16).total() == 16


@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (2, 3), (16, 16)])
def test_open_spiel_names_the_edges_alike(rows: int, cols: int) -> None:
    theirs = pyspiel.load_game("dots_and_boxes", {"num_rows": rows, "num_cols": cols}).new_initial_state()
    env = game(rows, cols)
    state = start(env)
    for action in theirs.legal_actions():
        kind, row, col = re.findall(r"[hv]|\d+", theirs.action_to_string(0, action)[2:])
        assert env.action_to_string(state, action) == f"{kind}({row},{col})"


@pytest.mark.slow
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize(
    ("rows", "cols"),
    [(1, 1), (1, 2), (2, 1), (1, 9), (9, 1), (2, 2), (3, 2), (2, 6), (3, 3), (4, 4), (5, 5), (6, 3), (8, 8)],
)
def test_open_spiel_agrees_on_ten_thousand_games(rows: int, cols: int, margin: bool) -> None:
    """800 games on each of thirteen boards, half of them for the margin, and all results that there can be."""
    results = replay(rows, cols, margin, seed=rows + cols, games=400)
    assert bool(results[-1]) == (rows * cols % 2 == 0)
    assert results[1]
    assert results[0] or rows * cols == 1


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "cols"), [(1, 16), (16, 1), (16, 16)])
def test_open_spiel_agrees_on_the_longest_boards(rows: int, cols: int) -> None:
    assert replay(rows, cols, margin=True, seed=1, games=16).total() == 16
