"""The agent `alphabeta` in Dots and Boxes: moves and labels. In plain Python unless slow; see `test_host_player.py`."""

import math
import time

import jax
import numpy as np
import pytest

from jaxgames.games.dots_and_boxes import player as playing
from jaxgames.games.dots_and_boxes.player import (
    DotsAndBoxesPlayer,
    best_to_a_depth,
    first_safe_edge,
    make_player,
    only_move,
    order_by_long_chain_rule,
)
from jaxgames.games.dots_and_boxes.rules import REWARDS, DotsAndBoxes
from jaxgames.games.dots_and_boxes.solution import table_shape, worth_of_edges
from jaxgames.solvers.alphabeta import clock as clocks
from jaxgames.solvers.alphabeta.compiled import HAS_NUMBA
from tests.games.dots_and_boxes.pictures import written
from tests.helpers.positions import stacked
from tests.helpers.solved import solved_boxes
from tests.solvers.slow_boxes import SlowBoxes, random_states
from tests.solvers.test_host_player import SteppingClock

INEXACT = (only_move, order_by_long_chain_rule, first_safe_edge, best_to_a_depth)
LONG = 60_000  # milliseconds: no test waits for them, the work of a move is limited otherwise


# -- moves -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "cols"), [(1, 1), (1, 4), *(pytest.param(*board, marks=pytest.mark.slow) for board in [(6, 7), (8, 8)])]
)
def test_moves_are_open_edges(rows: int, cols: int) -> None:
    for player in (
        make_player(DotsAndBoxes(rows, cols), 9, 2),
        DotsAndBoxesPlayer(DotsAndBoxes(rows, cols), 9, 2, INEXACT),
    ):
        for seed, state in enumerate(random_states(rows, cols, 20)):
            assert not state.edges[player.choose(state, seed)]


@pytest.mark.parametrize(
    ("rows", "cols", "number"), [(2, 2, 60), (2, 3, 30), pytest.param(3, 3, 300, marks=pytest.mark.slow)]
)
def test_moves_keep_the_value_of_the_solved_game(rows: int, cols: int, number: int) -> None:
    player, states = make_player(DotsAndBoxes(rows, cols), milliseconds=LONG), random_states(rows, cols, number)
    best = solved_boxes(rows, cols).best_actions(stacked(states))
    assert 1 < best.sum(1).mean() < 0.8 * (~stacked(states).edges).sum(1).mean()  # not every move is a best one
    for state, of_state in zip(states, best, strict=True):
        assert of_state[player.choose(state, 0)], player


# An opened loop of four boxes, and a chain of five. The mover leaves the four boxes to take the chain.
LOOP = """
    *---*---*   *
    |       |   |
    *   *---*   *
    |       |   |
    *---*---*   *
                |
    *---*---*---*
"""


def test_loop_of_four_boxes_is_left_for_a_longer_chain() -> None:
    env = DotsAndBoxes(3, 3)
    state = jax.device_get(env.from_string(written(LOOP)))
    assert env.action_to_string(state, make_player(env, milliseconds=LONG).choose(state, 0)) == "h(1,0)"


def test_long_chain_rule_prefers_safe_edges_that_keep_the_parity() -> None:
    """Without a search to the end, the edges that it chooses are worth half a box more than safe edges at random."""
    slow, table = SlowBoxes(2, 3), solved_boxes(2, 3).table
    player = DotsAndBoxesPlayer(DotsAndBoxes(2, 3), 9, LONG // 1000, INEXACT)
    gained: list[tuple[float, float]] = []
    for state in random_states(2, 3, 400):
        drawn = sum(1 << edge for edge in np.flatnonzero(state.edges).tolist())
        sides = [sum(drawn >> edge & 1 for edge in box) for box in slow.boxes]
        open_to = {edge for box, number in zip(slow.boxes, sides, strict=True) if number == 2 for edge in box}
        worth = {edge: -int(table[drawn | 1 << edge]) for edge in {*slow.edges(drawn)} - open_to}
        if 3 not in sides and len({*worth.values()}) > 1:
            chosen = player.choose(state, 0)
            assert chosen in worth
            gained.append((worth[chosen], float(np.mean([*worth.values()]))))
    assert len(gained) > 5
    assert np.mean([value for value, _ in gained]) > np.mean([mean for _, mean in gained]) + 0.5


@pytest.mark.slow
def test_no_move_takes_longer_than_its_time_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time of this thread, which does not count what other programs take."""
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    monkeypatch.setattr(clocks.time, "perf_counter", time.thread_time)
    player = make_player(DotsAndBoxes(8, 8), milliseconds=200)
    for seed, state in enumerate(random_states(8, 8, 40)):
        began = time.thread_time()
        player.choose(state, seed)
        assert time.thread_time() - began < 0.2


@pytest.mark.slow
@pytest.mark.skipif(not HAS_NUMBA, reason="without numba both sides are the same plain functions")
def test_compiled_and_plain_functions_choose_the_same_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = make_player(DotsAndBoxes(3, 3), milliseconds=LONG // 60)
    monkeypatch.setattr(playing, "HAS_NUMBA", False)
    plain = make_player(DotsAndBoxes(3, 3), milliseconds=LONG // 60)
    monkeypatch.setattr(clocks, "time", SteppingClock(0.0))
    for seed, state in enumerate(random_states(3, 3, 60, seed=2)):
        assert compiled.choose(state, seed) == plain.choose(state, seed)


# -- labels ------------------------------------------------------------------------------------------------------------


def test_analysis_has_the_labels_of_perfect_play() -> None:
    env = DotsAndBoxes(2, 2)
    table = jax.numpy.asarray(solved_boxes(2, 2).table.reshape(table_shape(env)))
    players = {reward: make_player(DotsAndBoxes(2, 2, reward), milliseconds=LONG) for reward in REWARDS}
    for state in random_states(2, 2, 6):
        worth = np.where(state.edges, -128, worth_of_edges(env, table, state.edges))
        lead = sum({state.current_player: 1, -1: 0}.get(owner, -1) for owner in state.owner.tolist())
        at_end = worth.max() + lead
        expected = {"boxes": worth.max(), "margin": at_end, "win_loss": np.sign(at_end)}
        for reward, player in players.items():
            assert player.analyse(state) == (np.flatnonzero(worth == worth.max()).tolist(), expected[reward])
        assert players["boxes"].best_actions(state) == players["boxes"].analyse(state)[0]


def test_analysis_without_a_search_to_the_end_has_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are many choices, or the nodes do not suffice: one open edge, and no more boxes than are left."""
    player = make_player(DotsAndBoxes(2, 2, "boxes"), milliseconds=LONG)
    states = random_states(2, 2, 10)
    exact = [player.analyse(state) for state in states]
    assert any(len(best) > 1 for best, _ in exact)  # these are not estimates
    for name, number in (("NODES_OF_ANALYSIS", 0), ("NODES_WITHOUT_CHOICE", math.inf)):
        with monkeypatch.context() as context:
            context.setattr(playing, name, number)
            context.setattr(player, "milliseconds", 50)  # few playouts of an estimate
            for state in states:
                (edge,), value = player.analyse(state)
                assert not state.edges[edge]
                assert abs(value) <= (state.owner == -1).sum()
    assert [player.analyse(state) for state in states] == exact
