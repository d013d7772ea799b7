"""Small diamonds solved, by the library and by a slow solver that uses the env's own mask and step.

The counts of 4 x 4 are those of Ahmad, Sturtevant & Bowling (Table 1). One wrong move, one missing hop or one wrong win
changes the values and plies that are compared.
"""

from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.solvers.exact.verify import count_errors
from tests.games.chinese_checkers_diamond.pictures import game
from tests.games.chinese_checkers_diamond.slow_solver import ILLEGAL, LIVE, LOST, WON, index_of_start, solved
from tests.helpers.positions import board
from tests.helpers.solved import solved_diamond

SLOWLY = [(3, 3), pytest.param(4, 3, marks=pytest.mark.slow)]


def start_of(size: int, pieces: int, tip_lock: bool = False) -> Any:
    """The start as a batch of one state."""
    return jax.tree.map(lambda leaf: leaf[None], game(size, pieces, tip_lock=tip_lock).init())


# -- the two solvers and the env ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "pieces"), SLOWLY)
def test_every_state_has_the_value_and_plies_of_the_slow_solver(size: int, pieces: int) -> None:
    """With either seat to move."""
    slow, fast = solved(size, pieces), solved_diamond(size, pieces)
    assert not (slow.value == LIVE).any()  # no draws
    legal = slow.value != ILLEGAL
    np.testing.assert_array_equal(fast.is_legal(slow.states), legal)
    expected = np.where(slow.value == WON, 1, np.where(slow.value == LOST, -1, 0))
    np.testing.assert_array_equal(fast.value(slow.states), expected)
    np.testing.assert_array_equal(fast.plies(slow.states), np.where(legal, slow.plies, -1))


@pytest.mark.parametrize(("size", "pieces"), SLOWLY)
def test_every_state_has_the_moves_of_the_env(size: int, pieces: int) -> None:
    slow, fast = solved(size, pieces), solved_diamond(size, pieces)
    legal = slow.value != ILLEGAL
    actions, children, live = fast.children(fast.index(slow.states))
    rows, slots = np.nonzero(live)
    masks = np.zeros_like(slow.masks)
    masks[rows, actions[rows, slots]] = True
    np.testing.assert_array_equal(masks, slow.masks & legal[:, None])
    assert live.sum(-1).max() == fast.max_moves
    # The slow solver lists the moves that do not win, in the order of states and actions.
    child = children[rows, slots]
    over = np.asarray(fast.states_at(np.arange(fast.num_states)).terminated)
    np.testing.assert_array_equal(np.bincount(rows[over[child]], minlength=len(legal)), slow.wins)
    np.testing.assert_array_equal(child[~over[child]], fast.index(board(slow.states, slow.edges[1])))
    np.testing.assert_array_equal(rows[~over[child]], slow.edges[0])


@pytest.mark.parametrize(("size", "pieces"), SLOWLY)
def test_best_actions_are_the_moves_that_keep_the_value(size: int, pieces: int) -> None:
    slow, fast = solved(size, pieces), solved_diamond(size, pieces)
    best = fast.best_actions(slow.states)
    lost = slow.value == LOST
    np.testing.assert_array_equal(best[lost], slow.masks[lost])  # every move of a lost state keeps its value
    won = slow.value == WON
    source, target = slow.edges
    to_lost = np.bincount(source[slow.value[target] == LOST], minlength=len(won))
    np.testing.assert_array_equal(best[won].sum(-1), (to_lost + slow.wins)[won])
    assert not (best & ~slow.masks).any()
    assert not best[slow.value == ILLEGAL].any()


@pytest.mark.parametrize(("size", "pieces"), SLOWLY)
def test_legal_moves_lead_to_legal_states_and_every_live_state_has_one(size: int, pieces: int) -> None:
    slow = solved(size, pieces)
    assert (slow.value[slow.edges[1]] != ILLEGAL).all()
    assert not slow.states.terminated[slow.edges[1]].any()
    np.testing.assert_array_equal(slow.masks.any(-1), ~slow.states.terminated)


@pytest.mark.parametrize(("size", "pieces"), SLOWLY)
def test_enumerated_states_are_those_that_their_texts_describe(size: int, pieces: int) -> None:
    slow, fast = solved(size, pieces), solved_diamond(size, pieces)
    for states in (slow.states, fast.states_at(np.arange(fast.num_states))):
        for index in np.random.default_rng(0).choice(len(states.ply), 100, replace=False).tolist():
            state = board(states, index)
            read = slow.env.from_string(slow.env.to_string(state))
            jax.tree.map(np.testing.assert_array_equal, read, state)


# -- known numbers -----------------------------------------------------------------------------------------------------


KNOWN = [  # size, pieces, tip_lock; states, won, lost, drawn, illegal; plies from the start (-1: drawn), longest win
    ((3, 3, False), (1_680, 720, 580, 0, 380), 7, 7),
    ((4, 3, False), (160_160, 96_875, 57_851, 0, 5_434), 21, 22),
]
LARGER = [  # known from elsewhere: the draws of 5 x 5, the longest wins, the first player's win in 33 with the tip lock
    ((5, 3, False), (3_542_000, 2_105_590, 1_394_132, 13_018, 29_260), 29, 31),
    ((4, 6, True), (1_681_680, 877_249, 558_910, 42_811, 202_710), 33, 38),
]


@pytest.mark.parametrize(
    ("parameters", "counts", "plies", "longest"),
    [KNOWN[0], *(pytest.param(*row, marks=pytest.mark.slow) for row in [*KNOWN[1:], *LARGER])],
)
def test_numbers_of_states_and_plies_are_the_known_ones(
    parameters: tuple[int, int, bool], counts: tuple[int, ...], plies: int, longest: int
) -> None:
    """Counted for the mover. In every one of these games the first player wins."""
    found = solved_diamond(*parameters).counts()
    assert tuple(found[name] for name in ("states", "won", "lost", "drawn", "illegal")) == counts
    assert len(found["plies"]) - 1 == longest
    assert sum(found["plies"]) == found["won"] + found["lost"]
    start = start_of(*parameters)
    assert solved_diamond(*parameters).value(start) == 1
    assert solved_diamond(*parameters).plies(start) == plies


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [(4, 3, False), (4, 6, False), (4, 6, True), (5, 3, False)])
def test_values_of_random_positions_follow_from_the_moves_of_the_env(parameters: tuple[int, int, bool]) -> None:
    assert count_errors(solved_diamond(*parameters), 20_000, progress=False) == 0


@pytest.mark.slow
def test_start_of_4_x_4_with_6_pieces_is_a_draw_without_the_tip_lock() -> None:
    assert solved_diamond(4, 6).value(start_of(4, 6)) == 0
    assert solved_diamond(4, 6).plies(start_of(4, 6)) == -1


@pytest.mark.slow
def test_four_of_the_six_first_moves_win_on_4_x_4() -> None:
    fast = solved_diamond(4, 3)
    start = start_of(4, 3)
    _, children, live = fast.children(fast.index(start))
    assert live.sum() == 6
    assert fast.best_actions(start).sum() == 4
    assert np.count_nonzero(fast.value(fast.states_at(children[live])) == -1) == 4


@pytest.mark.slow
def test_shortest_game_on_4_x_4_has_three_plies() -> None:
    """If both help: the loser leaves one cell of its home, and its other two pieces there count for the winner."""
    fast = solved_diamond(4, 3)
    reached = fast.index(start_of(4, 3))
    for is_last in (False, False, True):
        _, children, live = fast.children(reached)
        reached = np.unique(children[live])
        assert np.asarray(fast.states_at(reached).terminated).any() == is_last


@pytest.mark.slow
def test_values_of_4_x_4_are_the_same_for_both_seats() -> None:
    slow = solved(4, 3)
    by_seat = slow.value.reshape(2, -1)
    np.testing.assert_array_equal(by_seat[0], by_seat[1])
    np.testing.assert_array_equal(slow.plies[:160_160], slow.plies[160_160:])
    np.testing.assert_array_equal(slow.masks[:160_160], slow.masks[160_160:])
    start = index_of_start(slow)
    assert (slow.value[start], slow.plies[start]) == (WON, 21)
