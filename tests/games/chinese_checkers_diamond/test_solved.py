"""Small diamonds solved: every placement, every move, through the env's own mask and step.

The counts of states are those of Ahmad, Sturtevant & Bowling (Table 1); the other numbers, too, were known before our
rules were written. One wrong move, one missing hop or one wrong win anywhere on the board changes them.
"""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

from tests.games.chinese_checkers_diamond.pictures import game
from tests.helpers.positions import board, in_chunks, repeated, start

CHUNK = 1 << 16  # boards at once
ILLEGAL, LIVE, LOST, WON = -1, 0, 1, 2


@dataclass(frozen=True)
class Solved:
    """A whole game; arrays over all states, those with seat 0 to move in the first half and in the same order."""

    env: Any
    states: Any  # on the host
    masks: np.ndarray  # bool[states, actions]
    edges: np.ndarray  # int[2, moves that do not win], a state and the one that follows
    wins: np.ndarray  # int[states], how many moves win at once
    value: np.ndarray  # int[states], for the side to move
    plies: np.ndarray  # int[states], to the end with best play


def placements(size: int, pieces: int) -> np.ndarray:
    """bool[placements, 2, cells], every way to place the mover's and the opponent's pieces."""
    cells = size * size
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for own in itertools.combinations(range(cells), pieces):
        rest = [cell for cell in range(cells) if cell not in own]
        found += [(own, other) for other in itertools.combinations(rest, pieces)]
    content = np.zeros((len(found), 2, cells), bool)
    for side in (0, 1):
        content[np.arange(len(found))[:, None], side, [cells_of[side] for cells_of in found]] = True
    return content


def all_states(env: Any, content: np.ndarray) -> Any:
    """Both seats to move on every placement; `terminated` where the last mover has won."""
    size, half = env.size, len(content)
    corner = np.add.outer(np.arange(size), np.arange(size)).ravel() < {1: 1, 3: 2, 6: 3}[env.pieces]
    filled = (content.any(1) | ~corner).all(-1) & (content[:, 1] & corner).any(-1)
    words = np.zeros((half, 2, 4), start(env).pieces.dtype)
    for cell in range(size * size):
        (row, row_parity), (col, col_parity) = divmod(cell // size, 2), divmod(cell % size, 2)
        bit = row * ((size + 1) // 2) + col
        words[:, :, 2 * row_parity + col_parity] |= (content[:, :, cell] << bit).astype(words.dtype)
    state = repeated(start(env), 2 * half)
    state.current_player[half:] = 1
    state.terminated[:] = np.tile(filled, 2)
    state.pieces[:] = np.tile(words.reshape(-1, 2, 2, 2), (2, 1, 1, 1))
    return state


def keys(pieces: np.ndarray, seat: np.ndarray) -> np.ndarray:
    """uint64[states], different for different states: boards of up to 4 x 4 have four bits in each of eight bytes."""
    assert pieces.dtype == np.uint8
    words = np.ascontiguousarray(pieces).reshape(-1, 8).view(np.uint64).ravel()
    return words | seat.astype(np.uint64) << np.uint64(63)


@functools.cache
def solved(size: int, pieces: int) -> Solved:
    env = game(size, pieces)
    content = placements(size, pieces)
    states = all_states(env, content)
    masks = in_chunks(CHUNK, jax.jit(jax.vmap(env.legal_action_mask)), states)
    # A state is illegal if the side to move has won already: rotated by 180 degrees it is a terminated one.
    illegal = all_states(env, content[:, ::-1, ::-1]).terminated

    @jax.jit
    @jax.vmap
    def play(state: Any, action: jax.Array) -> Any:
        after = env.step(state, action)
        return after.pieces, after.current_player, after.terminated, after.rewards[state.current_player]

    origin, action = np.nonzero(masks & ~illegal[:, None])
    pieces_after, seat_after, won, paid = in_chunks(CHUNK, play, board(states, origin), action.astype(np.int32))
    assert (paid == won).all()  # nobody but the mover wins
    known = keys(states.pieces, states.current_player)
    order = np.argsort(known)
    after = keys(pieces_after[~won], seat_after[~won])
    target = order[np.searchsorted(known, after, sorter=order)]
    assert (known[target] == after).all()
    edges, wins = np.array([origin[~won], target]), np.bincount(origin[won], minlength=len(known))
    value, plies = retrograde(edges, wins, np.where(illegal, ILLEGAL, np.where(states.terminated, LOST, LIVE)))
    return Solved(env, states, masks, edges, wins, value, plies)


def retrograde(edges: np.ndarray, wins: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the values of the states under best play, and the plies to the end, from the ends backwards."""
    source, target = edges
    value = np.where((value == LIVE) & (wins > 0), WON, value)
    plies = np.where(value == WON, 1, 0)
    for ply in itertools.count(2):
        unsolved = value[source] == LIVE
        source, target = source[unsolved], target[unsolved]
        reply = value[target]
        wins_now = np.bincount(source[reply == LOST], minlength=len(value)) > 0
        holds_out = np.bincount(source[reply != WON], minlength=len(value)) > 0
        new = np.where(value != LIVE, value, np.where(wins_now, WON, np.where(holds_out, LIVE, LOST)))
        if (new == value).all():
            return value, plies
        value, plies = new, np.where(new != value, ply, plies)
    raise AssertionError


BOARDS = [(3, 3), (4, 3)]


@pytest.mark.parametrize(
    ("size", "pieces", "states", "won", "lost", "illegal"),
    [(3, 3, 3_360, 1_300, 1_300, 760), (4, 3, 320_320, 154_726, 154_726, 10_868)],
)
def test_numbers_of_won_lost_and_illegal_states_are_the_known_ones(
    size: int, pieces: int, states: int, won: int, lost: int, illegal: int
) -> None:
    """Counted for the first player with either seat to move; no state is a draw."""
    solution = solved(size, pieces)
    seat = solution.states.current_player
    assert len(solution.value) == states
    assert np.count_nonzero(solution.value == np.where(seat == 0, WON, LOST)) == won
    assert np.count_nonzero(solution.value == np.where(seat == 0, LOST, WON)) == lost
    assert np.count_nonzero(solution.value == ILLEGAL) == illegal
    assert not (solution.value == LIVE).any()


@pytest.mark.parametrize(("size", "plies", "longest"), [(3, 7, 7), (4, 21, 22)])
def test_first_player_wins_in_the_known_number_of_plies(size: int, plies: int, longest: int) -> None:
    solution = solved(size, 3)
    first = index_of_start(solution)
    assert (solution.value[first], solution.plies[first]) == (WON, plies)
    assert solution.plies.max() == longest


def test_values_of_4_x_4_are_the_same_for_both_seats() -> None:
    """96,875 of the 160,160 placements are won for the side to move, 57,851 lost."""
    solution = solved(4, 3)
    by_seat = solution.value.reshape(2, -1)
    assert [np.count_nonzero(by_seat[0] == value) for value in (WON, LOST, ILLEGAL)] == [96_875, 57_851, 5_434]
    np.testing.assert_array_equal(by_seat[0], by_seat[1])
    np.testing.assert_array_equal(solution.plies[:160_160], solution.plies[160_160:])
    np.testing.assert_array_equal(solution.masks[:160_160], solution.masks[160_160:])


def test_four_of_the_six_first_moves_win_on_4_x_4() -> None:
    solution = solved(4, 3)
    source, target = solution.edges
    following = target[source == index_of_start(solution)]
    assert len(following) == solution.masks[index_of_start(solution)].sum() == 6
    assert np.count_nonzero(solution.value[following] == LOST) == 4


def test_shortest_game_on_4_x_4_has_three_plies() -> None:
    """If both help: the loser leaves one cell of its home, and its other two pieces there count for the winner."""
    solution = solved(4, 3)
    reached = [np.array([index_of_start(solution)])]
    for _ in range(2):
        reached.append(np.unique(solution.edges[1][np.isin(solution.edges[0], reached[-1])]))
    assert [bool(solution.wins[states].any()) for states in reached] == [False, False, True]


@pytest.mark.parametrize(("size", "pieces"), BOARDS)
def test_legal_moves_lead_to_legal_states_and_every_live_state_has_one(size: int, pieces: int) -> None:
    solution = solved(size, pieces)
    assert (solution.value[solution.edges[1]] != ILLEGAL).all()
    assert not solution.states.terminated[solution.edges[1]].any()
    np.testing.assert_array_equal(solution.masks.any(-1), ~solution.states.terminated)


@pytest.mark.parametrize(("size", "pieces"), BOARDS)
def test_enumerated_states_are_those_that_their_texts_describe(size: int, pieces: int) -> None:
    solution = solved(size, pieces)
    for index in np.random.default_rng(0).choice(len(solution.value), 100, replace=False).tolist():
        state = board(solution.states, index)
        read = solution.env.from_string(solution.env.to_string(state))
        jax.tree.map(np.testing.assert_array_equal, read, state)


def index_of_start(solution: Solved) -> int:
    known = keys(solution.states.pieces, solution.states.current_player)
    first = keys(start(solution.env).pieces[None], np.zeros(1, np.int64))
    return int(np.flatnonzero(known == first)[0])
