"""Small diamonds solved in slow NumPy: every placement, every move, through the env's own mask and step.

It shares nothing with `jaxgames.solvers`: it keeps the whole graph of moves, and numbers the states in another order.
"""

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

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


def index_of_start(solution: Solved) -> int:
    known = keys(solution.states.pieces, solution.states.current_player)
    first = keys(start(solution.env).pieces[None], np.zeros(1, np.int64))
    return int(np.flatnonzero(known == first)[0])
