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

import jaxgames

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
    words = np.zeros((half, 2, 4), env.init().pieces.dtype)
    for cell in range(size * size):
        (row, row_parity), (col, col_parity) = divmod(cell // size, 2), divmod(cell % size, 2)
        bit = row * ((size + 1) // 2) + col
        words[:, :, 2 * row_parity + col_parity] |= (content[:, :, cell] << bit).astype(words.dtype)
    state = jax.tree.map(lambda leaf: np.repeat(np.asarray(leaf)[None], 2 * half, axis=0), env.init())
    state.current_player[half:] = 1
    state.terminated[:] = np.tile(filled, 2)
    state.pieces[:] = np.tile(words.reshape(-1, 2, 2, 2), (2, 1, 1, 1))
    return state


def in_chunks(function: Any, *trees: Any) -> Any:
    """The jitted function of batches of one size, the last of which is filled up."""
    length = len(jax.tree.leaves(trees)[0])
    parts: list[Any] = []
    for begin in range(0, length, CHUNK):
        index = np.minimum(np.arange(begin, begin + CHUNK), length - 1)
        part = jax.device_get(function(*jax.tree.map(lambda leaf, index=index: leaf[index], trees)))
        parts.append(jax.tree.map(lambda leaf, begin=begin: leaf[: length - begin], part))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def keys(pieces: np.ndarray, seat: np.ndarray) -> np.ndarray:
    """int64[states], different for different states: boards of up to 4 x 4 have four bits a word."""
    nibbles = pieces.reshape(-1, 8).astype(np.int64) << (4 * np.arange(8))
    return nibbles.sum(-1) | seat.astype(np.int64) << 32


@functools.cache
def solved(size: int, pieces: int) -> Solved:
    env = jaxgames.make("chinese_checkers_diamond", size=size, pieces=pieces)
    content = placements(size, pieces)
    states = all_states(env, content)
    masks = in_chunks(jax.jit(jax.vmap(env.legal_action_mask)), states)
    # A state is illegal if the side to move has won already: turned by 180 degrees it is a terminated one.
    illegal = all_states(env, content[:, ::-1, ::-1]).terminated

    @jax.jit
    @jax.vmap
    def play(state: Any, action: jax.Array) -> Any:
        after = env.step(state, action)
        return after.pieces, after.current_player, after.terminated, after.rewards[state.current_player]

    origin, action = np.nonzero(masks & ~illegal[:, None])
    board, seat, won, paid = in_chunks(play, jax.tree.map(lambda leaf: leaf[origin], states), action.astype(np.int32))
    assert (paid == won).all()  # nobody but the mover wins
    known = keys(states.pieces, states.current_player)
    order = np.argsort(known)
    after = keys(board[~won], seat[~won])
    target = order[np.searchsorted(known, after, sorter=order)]
    assert (known[target] == after).all()
    edges, wins = np.array([origin[~won], target]), np.bincount(origin[won], minlength=len(known))
    value, plies = retrograde(edges, wins, np.where(illegal, ILLEGAL, np.where(states.terminated, LOST, LIVE)))
    return Solved(env, states, masks, edges, wins, value, plies)


def retrograde(edges: np.ndarray, wins: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the states are worth with best play, and how many plies it takes, from the ends backwards."""
    source, target = edges
    value = np.where((value == LIVE) & (wins > 0), WON, value)
    plies = np.where(value == WON, 1, 0)
    for ply in itertools.count(2):
        wins_now = np.bincount(source[value[target] == LOST], minlength=len(value)) > 0
        holds_out = np.bincount(source[value[target] != WON], minlength=len(value)) > 0
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
def test_as_many_states_are_won_lost_and_illegal_as_is_known(
    size: int, pieces: int, states: int, won: int, lost: int, illegal: int
) -> None:
    """Counted for the first player, whoever is to move; no state is a draw."""
    game = solved(size, pieces)
    seat = game.states.current_player
    assert len(game.value) == states
    assert np.count_nonzero(game.value == np.where(seat == 0, WON, LOST)) == won
    assert np.count_nonzero(game.value == np.where(seat == 0, LOST, WON)) == lost
    assert np.count_nonzero(game.value == ILLEGAL) == illegal
    assert not (game.value == LIVE).any()


@pytest.mark.parametrize(("size", "plies", "longest"), [(3, 7, 7), (4, 21, 22)])
def test_the_first_player_wins_in_as_many_plies_as_is_known(size: int, plies: int, longest: int) -> None:
    game = solved(size, 3)
    start = the_start(game)
    assert (game.value[start], game.plies[start]) == (WON, plies)
    assert game.plies.max() == longest


def test_the_side_to_move_on_4_x_4() -> None:
    """96,875 of the 160,160 placements are won for the side to move, 57,851 lost; the same for both seats."""
    game = solved(4, 3)
    by_seat = game.value.reshape(2, -1)
    assert [np.count_nonzero(by_seat[0] == value) for value in (WON, LOST, ILLEGAL)] == [96_875, 57_851, 5_434]
    np.testing.assert_array_equal(by_seat[0], by_seat[1])
    np.testing.assert_array_equal(game.plies[:160_160], game.plies[160_160:])
    np.testing.assert_array_equal(game.masks[:160_160], game.masks[160_160:])


def test_four_of_the_six_first_moves_win_on_4_x_4() -> None:
    game = solved(4, 3)
    source, target = game.edges
    following = target[source == the_start(game)]
    assert len(following) == game.masks[the_start(game)].sum() == 6
    assert np.count_nonzero(game.value[following] == LOST) == 4


def test_the_shortest_game_on_4_x_4_has_three_plies() -> None:
    """If both help: the loser leaves one cell of its home, and its other two pieces there count for the winner."""
    game = solved(4, 3)
    reached = [np.array([the_start(game)])]
    for _ in range(2):
        reached.append(np.unique(game.edges[1][np.isin(game.edges[0], reached[-1])]))
    assert [bool(game.wins[states].any()) for states in reached] == [False, False, True]


@pytest.mark.parametrize(("size", "pieces"), BOARDS)
def test_no_legal_move_leads_to_an_illegal_state_and_every_live_state_has_one(size: int, pieces: int) -> None:
    game = solved(size, pieces)
    assert (game.value[game.edges[1]] != ILLEGAL).all()
    assert not game.states.terminated[game.edges[1]].any()
    np.testing.assert_array_equal(game.masks.any(-1), ~game.states.terminated)


@pytest.mark.parametrize(("size", "pieces"), BOARDS)
def test_the_states_enumerated_are_those_that_their_texts_describe(size: int, pieces: int) -> None:
    game = solved(size, pieces)
    for index in np.random.default_rng(0).choice(len(game.value), 100, replace=False).tolist():
        state = jax.tree.map(lambda leaf, index=index: leaf[index], game.states)
        read = game.env.from_string(game.env.to_string(state))
        jax.tree.map(np.testing.assert_array_equal, read, state)


def the_start(game: Solved) -> int:
    known = keys(game.states.pieces, game.states.current_player)
    start = game.env.init()
    (index,) = np.flatnonzero(known == keys(np.asarray(start.pieces)[None], np.zeros(1, np.int64)))
    return int(index)
