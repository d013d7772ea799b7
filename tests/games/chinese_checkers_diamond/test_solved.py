"""Small diamonds solved: every state of 3 x 3 against plain Python, larger boards by the counts that others have found.

The counts of 4 x 4 are those of Ahmad, Sturtevant & Bowling (Table 1). One wrong move, one missing hop or one wrong win
changes the values and plies that are compared.
"""

from typing import Any

import jax
import numpy as np
import pytest

from jaxgames.solvers.exact.verify import count_errors
from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.positions import read_all
from tests.helpers.solved import solved_diamond
from tests.solvers.strength.reference import solved as solved_slowly


def start_of(size: int, pieces: int, tip_lock: bool = False) -> Any:
    """The start as a batch of one state."""
    return jax.tree.map(lambda leaf: leaf[None], game(size, pieces, tip_lock=tip_lock).init())


def test_every_state_has_the_value_plies_and_moves_of_plain_python() -> None:
    """With either seat to move. Plain Python has no states whose mover has won already: they are illegal."""
    slow, fast = solved_slowly(3, 3), solved_diamond(3, 3)
    states = read_all(game(3, 3), list(slow.value))
    assert len(slow.value) == 2 * (fast.num_states - fast.counts()["illegal"])
    assert fast.is_legal(states).all()
    assert fast.value(states).tolist() == list(slow.value.values())
    assert fast.plies(states).tolist() == [slow.plies[text] for text in slow.value]
    index = dict(zip(slow.value, fast.index(states).tolist(), strict=True))
    best, moves = fast.best_actions(states), fast.children(fast.index(states))
    for row, (text, value) in enumerate(slow.value.items()):
        following = slow.moves.get(text, {})
        live = moves.live[row]
        found = dict(zip(moves.actions[row, live].tolist(), moves.children[row, live].tolist(), strict=True))
        assert found == {action: index[after] for action, after in following.items()}
        kept = {action for action, after in following.items() if slow.value[after] == -value}
        assert set(np.flatnonzero(best[row]).tolist()) == kept


# -- known numbers -----------------------------------------------------------------------------------------------------


# Size, pieces, tip_lock; states, won, lost, drawn, illegal; plies from the start (-1: drawn), longest win.
KNOWN = ((3, 3, False), (1_680, 720, 580, 0, 380), 7, 7)
LARGER = [  # known from elsewhere: the draws of 5 x 5, the longest wins, the first player's win in 33 with the tip lock
    ((4, 3, False), (160_160, 96_875, 57_851, 0, 5_434), 21, 22),
    ((5, 3, False), (3_542_000, 2_105_590, 1_394_132, 13_018, 29_260), 29, 31),
    ((4, 6, True), (1_681_680, 877_249, 558_910, 42_811, 202_710), 33, 38),
]


@pytest.mark.parametrize(
    ("parameters", "counts", "plies", "longest"),
    [KNOWN, *(pytest.param(*row, marks=pytest.mark.slow) for row in LARGER)],
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
